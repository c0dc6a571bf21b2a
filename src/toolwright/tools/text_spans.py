"""Find a text in a file's bytes and replace it, leaving every other byte alone.

A model sees text with plain line ends and without a byte order mark. So a line feed in what it looks for also means CRLF, and
what it puts in gets the line ends of the place it goes to. Knows no files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from msgspec import Struct

from toolwright.files.text import TextFormat

Span = tuple[int, int]

_MAX_STEPS = 1 << 22
"""So many comparisons, the most that looking from the end can take, are a few milliseconds."""
_WINDOW = 1 << 18
"""Bytes that are looked through at a time."""
_PATTERN_WINDOW = 1 << 16
"""The same for a pattern, which takes longer."""
_MAX_CHARACTER_LENGTH = 8
"""Bytes that no character takes more of: a line end is two of at most four."""
_QUOTES = {"'": "'\u2018\u2019", '"': '"\u201c\u201d'}
"""What a straight quote may stand for in a file."""


class Occurrences(Struct, frozen=True):
    """How often a text stands in a file, and the byte ranges of the first ones and of the last."""

    count: int
    first: tuple[Span, ...]
    end: int = 0
    """No occurrence goes on behind this byte."""


def occurrences(data: bytes, text: str, format_: TextFormat, *, most: int, any_quotes: bool = False) -> Occurrences:
    """Where `text` occurs; the first `most` places are kept, so that very many of them take no memory."""
    spans = iter_spans(data, text, format_, any_quotes=any_quotes)
    first = tuple(islice(spans, most))
    if any_quotes or len(first) < most or not _is_plain(data, text, "", format_):
        count, last = len(first), first[-1] if first else (0, 0)
        for span in spans:
            count, last = count + 1, span
        return Occurrences(count, first, last[1])
    wanted, start = format_.encode(text), first[-1][1]
    rest = sum(data.count(wanted, *window) for window in _windows(data, wanted, start))
    return Occurrences(len(first) + rest, first, data.rfind(wanted) + len(wanted))


def replace_all(data: bytes, text: str, new: str, format_: TextFormat) -> bytes:
    """`data` with each occurrence replaced by `new`. Raises UnicodeEncodeError for what the encoding cannot hold."""
    if not _is_plain(data, text, new, format_):
        return replace_spans(data, iter_spans(data, text, format_), new, format_)
    wanted, wished = format_.encode(text), format_.encode(new)
    mark = len(format_.mark)
    pieces = [data[slice(*window)].replace(wanted, wished) for window in _windows(data, wanted, mark)]
    return b"".join((format_.mark, *pieces))


def find_spans(data: bytes, text: str, format_: TextFormat, *, any_quotes: bool = False) -> list[Span]:
    """Where `text` occurs, from left to right and without overlap, as byte ranges.

    With `any_quotes`, a straight quote also means a curly one.
    """
    return list(iter_spans(data, text, format_, any_quotes=any_quotes))


def iter_spans(data: bytes, text: str, format_: TextFormat, *, any_quotes: bool = False) -> Iterator[Span]:
    """The same, one by one."""
    try:
        find = _pattern_finder(data, text, format_, any_quotes=True) if any_quotes else _finder(data, text, format_)
    except UnicodeEncodeError:  # what the encoding cannot hold cannot be in the file
        return
    position = len(format_.mark)
    while found := find(position):
        start, end = found
        if not format_.is_boundary(data, start):  # between two halves of a character
            position = start + 1
            continue
        yield found
        position = end


def has_straight_quotes(text: str) -> bool:
    return "'" in text or '"' in text


def with_quotes_of(found: str, old: str, new: str) -> str:
    """`new`, with the quotes of `found` in all that it takes over from `old`; `found` is `old` but for the shape of quotes."""
    start = _shared(old, new)
    tail = _shared(old[start:][::-1], new[start:][::-1])
    end = len(old) - tail
    middle_old, middle_new = old[start:end], new[start : len(new) - tail]
    if not has_straight_quotes(middle_new) or len(middle_old) * len(middle_new) > _MAX_STEPS:
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


def replace_spans(data: bytes, spans: Iterable[Span], new: str | Callable[[Span], str], format_: TextFormat) -> bytes:
    """`data` with each span replaced by `new`, or by what that gives for it.

    Raises UnicodeEncodeError for what the encoding cannot hold.
    """
    ends = _LineEnds(data, format_) if _has_crlf(data, format_) else None
    pieces: list[bytes | memoryview] = []
    changed, whole, position = bytearray(), memoryview(data), 0
    for span in spans:
        start, end = span
        text = new if isinstance(new, str) else new(span)
        wished = format_.encode(text if ends is None else ends.of(text, span))
        if start - position > _WINDOW:  # views are joined without being copied first
            pieces += (bytes(changed), whole[position:start])
            changed = bytearray(wished)
        else:
            changed += whole[position:start]
            changed += wished
        if len(changed) > _WINDOW:
            pieces.append(bytes(changed))
            changed.clear()
        position = end
    return b"".join((*pieces, changed, whole[position:]))


def line_of(data: bytes, offset: int, format_: TextFormat) -> int:
    """The number of the line that byte belongs to."""
    if format_.bytes_per_line_feed == 1:
        return data.count(b"\n", 0, offset) + 1
    return sum(text.count("\n") for text in format_.pieces(data[:offset])) + 1


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
        return _pattern_finder(data, text, format_)
    wanted = format_.encode(text)
    lone = _lone_place(data, wanted)
    if lone is not None:
        return lambda position: (lone, lone + len(wanted)) if position <= lone else None

    def find(position: int) -> Span | None:
        while position <= len(data):
            start = data.find(wanted, position, position + _WINDOW + len(wanted))
            if start >= 0:
                return start, start + len(wanted)
            position += _WINDOW
        return None

    return find


def _pattern_finder(data: bytes, text: str, format_: TextFormat, *, any_quotes: bool = False) -> Callable[[int], Span | None]:
    """The same for a text that may be stored in several ways; looks through one window after the other."""
    pattern = _pattern(text, format_, any_quotes=any_quotes)
    longest = _MAX_CHARACTER_LENGTH * len(text)

    def find(position: int) -> Span | None:
        while position <= len(data):
            border = position + _PATTERN_WINDOW
            found = pattern.search(data, position, border + longest)
            if found and found.start() < border:
                return found.span()
            position = border
        return None

    return find


def _lone_place(data: bytes, wanted: bytes) -> int | None:
    """Where `wanted` stands if it stands in one place, as it should; None if it does not, or that takes more than a moment.

    To look from the end takes Python a third of the time of looking from the beginning, but on a bad day far longer.
    """
    if len(data) * len(wanted) > _MAX_STEPS:
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


class _LineEnds:
    """Which line ends a text gets: those of what it replaces, or else those most common in the file."""

    __slots__ = ("_data", "_format", "_usual")

    def __init__(self, data: bytes, format_: TextFormat) -> None:
        self._data = data
        self._format = format_
        self._usual: bool | None = None

    def of(self, new: str, span: Span) -> str:
        if "\n" not in new:
            return new
        plain = new.replace("\r\n", "\n")
        replaced = self._format.decode(self._format.mark + self._data[slice(*span)])
        crlf = replaced[: replaced.index("\n")].endswith("\r") if "\n" in replaced else self._is_usual()
        return plain.replace("\n", "\r\n") if crlf else plain

    def _is_usual(self) -> bool:
        if self._usual is None:
            crlf, line_feed = map(self._format.encode, ("\r\n", "\n"))
            self._usual = 2 * self._data.count(crlf) > self._data.count(line_feed)
        return self._usual


def _is_plain(data: bytes, text: str, new: str, format_: TextFormat) -> bool:
    """Whether bytes that look like `text` are always `text`, and what replaces them needs no line ends of its own."""
    if not format_.is_bytewise or ("\n" in f"{text}{new}" and _has_crlf(data, format_)):
        return False
    try:
        return bool(format_.encode(text))
    except UnicodeEncodeError:
        return False


def _windows(data: bytes, wanted: bytes, start: int) -> Iterator[Span]:
    """Pieces of `data` that no occurrence lies across: nothing here keeps the interpreter to itself for long."""
    foreign = re.compile(b"[^" + b"".join(b"\\x%02x" % byte for byte in set(wanted)) + b"]" if len(wanted) > 1 else b"")
    while start < len(data):
        border = foreign.search(data, start + _WINDOW)
        end = border.end() if border else len(data)
        yield start, end
        start = end
