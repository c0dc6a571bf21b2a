"""Find a text in a file's bytes and replace it, leaving every other byte alone.

A model sees text with plain line ends and without a byte order mark. So a line feed in what it looks for also means CRLF, and
what it puts in gets the line ends of the place it goes to. Knows no files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolwright.workspace.text import TextFormat

Span = tuple[int, int]


def find_spans(data: bytes, text: str, format_: TextFormat) -> list[Span]:
    """Where `text` occurs, from left to right and without overlap, as byte ranges."""
    try:
        pattern = _pattern(data, text, format_)
    except UnicodeEncodeError:  # what the encoding cannot hold cannot be in the file
        return []
    spans: list[Span] = []
    position = len(format_.mark)
    while found := pattern.search(data, position):
        if not format_.is_boundary(data, found.start()):  # between two halves of a character
            position = found.start() + 1
            continue
        spans.append(found.span())
        position = found.end()
    return spans


def replace_spans(data: bytes, spans: Sequence[Span], new: str, format_: TextFormat) -> bytes:
    """`data` with each span replaced by `new`. Raises UnicodeEncodeError for what the encoding cannot hold."""
    has_crlf = format_.encode("\r\n") in data
    pieces: list[bytes] = []
    position = 0
    for start, end in spans:
        pieces += data[position:start], format_.encode(_with_line_ends(new, data, (start, end), format_) if has_crlf else new)
        position = end
    return b"".join((*pieces, data[position:]))


def line_of(data: bytes, offset: int, format_: TextFormat) -> int:
    """The number of the line that byte belongs to."""
    return format_.decode(data[:offset]).count("\n") + 1


def _pattern(data: bytes, text: str, format_: TextFormat) -> re.Pattern[bytes]:
    if "\n" not in text or format_.encode("\r\n") not in data:
        return re.compile(re.escape(format_.encode(text)))
    lines = text.replace("\r\n", "\n").split("\n")
    line_end = b"(?:" + re.escape(format_.encode("\r")) + b")?" + re.escape(format_.encode("\n"))
    return re.compile(line_end.join(re.escape(format_.encode(line)) for line in lines))


def _with_line_ends(new: str, data: bytes, span: Span, format_: TextFormat) -> str:
    """`new` with the line ends of what it replaces, or else those most common in the file."""
    plain = new.replace("\r\n", "\n")
    replaced = format_.decode(format_.mark + data[slice(*span)])
    if "\n" in replaced:
        crlf = replaced[: replaced.index("\n")].endswith("\r")
    else:
        whole = format_.decode(data)
        crlf = 2 * whole.count("\r\n") > whole.count("\n")
    return plain.replace("\n", "\r\n") if crlf else plain
