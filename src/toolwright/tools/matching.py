"""Find a text in a file's bytes and replace it, leaving every other byte alone.

A model sees text with plain line ends and without a byte order mark. So a line feed in what it looks for also means CRLF, and
what it puts in gets the line ends of the place it goes to. Knows no files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from toolwright.workspace.text import TextFormat

Span = tuple[int, int]

_MOST_STEPS = 1 << 22
"""So many comparisons, the most that looking from the end can take, are a few milliseconds."""


_QUOTES = {"'": "'\u2018\u2019", '"': '"\u201c\u201d'}
"""What a straight quote may stand for in a file."""


def find_spans(data: bytes, text: str, format_: TextFormat, *, any_quotes: bool = False) -> list[Span]:
    """Where `text` occurs, from left to right and without overlap, as byte ranges.

    With `any_quotes`, a straight quote also means a curly one.
    """
    try:
        find = _pattern_finder(data, _pattern(text, format_, any_quotes=True)) if any_quotes else _finder(data, text, format_)
    except UnicodeEncodeError:  # what the encoding cannot hold cannot be in the file
        return []
    spans: list[Span] = []
    position = len(format_.mark)
    while found := find(position):
        start, end = found
        if not format_.is_boundary(data, start):  # between two halves of a character
            position = start + 1
            continue
        spans.append(found)
        position = end
    return spans


def has_straight_quotes(text: str) -> bool:
    return "'" in text or '"' in text


def with_quotes_of(found: str, old: str, new: str) -> str:
    """`new`, with the quotes of `found` in all that it takes over from `old`; `found` is `old` but for the shape of quotes."""
    start = _shared(old, new)
    tail = _shared(old[start:][::-1], new[start:][::-1])
    end = len(old) - tail
    middle_old, middle_new = old[start:end], new[start : len(new) - tail]
    if not has_straight_quotes(middle_new) or len(middle_old) * len(middle_new) > _MOST_STEPS:
        return found[:start] + middle_new + found[end:]
    from difflib import SequenceMatcher  # only for changes between quotes

    middle = "".join(
        found[start + i : start + j] if tag == "equal" else middle_new[k:n]
        for tag, i, j, k, n in SequenceMatcher(None, middle_old, middle_new, autojunk=False).get_opcodes()
    )
    return found[:start] + middle + found[end:]


def _shared(one: str, other: str) -> int:
    """How many characters the two have in common from the beginning on."""
    pairs = zip(one, other, strict=False)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def replace_spans(data: bytes, spans: Sequence[Span], new: str | Sequence[str], format_: TextFormat) -> bytes:
    """`data` with each span replaced by `new`, or by its own of several.

    Raises UnicodeEncodeError for what the encoding cannot hold.
    """
    texts = [new] * len(spans) if isinstance(new, str) else new
    has_crlf = _has_crlf(data, format_)
    pieces: list[bytes | memoryview] = []
    whole, position = memoryview(data), 0  # views are joined without being copied first
    for (start, end), text in zip(spans, texts, strict=True):
        pieces += (
            whole[position:start],
            format_.encode(_with_line_ends(text, data, (start, end), format_) if has_crlf else text),
        )
        position = end
    return b"".join((*pieces, whole[position:]))


def line_of(data: bytes, offset: int, format_: TextFormat) -> int:
    """The number of the line that byte belongs to."""
    if format_.bytes_per_line_feed == 1:
        return data.count(b"\n", 0, offset) + 1
    return format_.decode(data[:offset]).count("\n") + 1


def line_above(data: bytes, offset: int, count: int) -> int:
    """Where the line begins that stands `count` above the one that byte belongs to, or the first."""
    for _ in range(count + 1):
        offset = data.rfind(b"\n", 0, offset)
        if offset < 0:
            return 0
    return offset + 1


def line_below(data: bytes, offset: int, count: int) -> int:
    """Where the line ends, its line feed included, that stands `count` below the one that byte belongs to, or the last."""
    for _ in range(count + 1):
        offset = data.find(b"\n", offset) + 1
        if not offset:
            return len(data)
    return offset


def _finder(data: bytes, text: str, format_: TextFormat) -> Callable[[int], Span | None]:
    """A function: a position → the next occurrence from there on."""
    if "\n" in text and _has_crlf(data, format_):
        return _pattern_finder(data, _pattern(text, format_))
    wanted = format_.encode(text)
    lone = _lone_place(data, wanted)
    if lone is not None:
        return lambda position: (lone, lone + len(wanted)) if position <= lone else None

    def find(position: int) -> Span | None:
        start = data.find(wanted, position)
        return None if start < 0 else (start, start + len(wanted))

    return find


def _pattern_finder(data: bytes, pattern: re.Pattern[bytes]) -> Callable[[int], Span | None]:
    return lambda position: found.span() if (found := pattern.search(data, position)) else None


def _lone_place(data: bytes, wanted: bytes) -> int | None:
    """Where `wanted` stands if it stands in one place, as it should; None if it does not, or that takes more than a moment.

    To look from the end takes Python a third of the time of looking from the beginning, but on a bad day far longer.
    """
    if len(data) * len(wanted) > _MOST_STEPS:
        return None
    last = data.rfind(wanted)
    return last if last >= 0 and data.rfind(wanted, 0, last + len(wanted) - 1) < 0 else None


def _has_crlf(data: bytes, format_: TextFormat) -> bool:
    return b"\r" in data and format_.encode("\r\n") in data


def _pattern(text: str, format_: TextFormat, *, any_quotes: bool = False) -> re.Pattern[bytes]:
    """`text` with either kind of line end, and perhaps of quotes."""

    def literal(line: str) -> bytes:
        if not any_quotes:
            return re.escape(format_.encode(line))
        pieces = re.split("(['\"])", line)
        return b"".join(
            _one_of(_QUOTES[piece], format_) if piece in _QUOTES else re.escape(format_.encode(piece)) for piece in pieces
        )

    lines = text.replace("\r\n", "\n").split("\n")
    line_end = b"(?:" + re.escape(format_.encode("\r")) + b")?" + re.escape(format_.encode("\n"))
    return re.compile(line_end.join(literal(line) for line in lines))


def _one_of(characters: str, format_: TextFormat) -> bytes:
    return b"(?:" + b"|".join(re.escape(format_.encode(character)) for character in characters) + b")"


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
