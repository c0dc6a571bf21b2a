"""Cut a window of lines out of a file: all at once if it is small, streaming past what is not shown if it is huge."""

from __future__ import annotations

import codecs
import errno
import os
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from msgspec import Struct

from toolwright.files.text import TextFormat, decode_text, detect_format
from toolwright.tools.portions import MAX_LINE_LENGTH
from toolwright.workspace import FileTooLarge, OpenFile

WHOLE_FILE_BYTES = 8 * 1024 * 1024
COUNTED_BYTES = 64 * 1024 * 1024
"""How much of a huge file is looked through after the window, only to tell its number of lines."""
_SAMPLE = 8192
_CHUNK = 1 << 20


class Page(Struct, frozen=True):
    """Lines `first`… of a file. `total` is None if counting all of them would have cost more than showing these."""

    path: str
    size: int
    first: int
    lines: list[str]
    total: int | None
    format: TextFormat
    data: bytes | None
    """The whole content, if it was read."""


class Binary(Struct, frozen=True):
    """A file that is no text."""

    path: str
    size: int
    sample: bytes
    data: bytes | None


def read_page(file: OpenFile, first: int, limit: int) -> Page | Binary:
    try:
        data = file.read_all(WHOLE_FILE_BYTES)
    except FileTooLarge:
        return _stream_page(file, first, limit)
    decoded = decode_text(data)
    if decoded is None:
        return Binary(file.path, len(data), data[:_SAMPLE], data)
    text, format_ = decoded
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    total = len(lines)
    if first > 1 or total > limit:
        lines = lines[first - 1 : first - 1 + limit]
    if "\r" in text:
        lines = [line.removesuffix("\r") for line in lines]
    if lines and max(map(len, lines)) > MAX_LINE_LENGTH:
        lines = [_cut(line, number) for number, line in enumerate(lines, first)]
    return Page(file.path, len(data), first, lines, total, format_, data)


def _cut(line: str, number: int) -> str:
    return (
        line
        if len(line) <= MAX_LINE_LENGTH
        else line[:MAX_LINE_LENGTH] + _cut_notice(f"{len(line) - MAX_LINE_LENGTH:,} characters", number)
    )


def _cut_notice(amount: str, number: int) -> str:
    return f" [... {amount} more in this line; to see them: sed -n '{number}p' FILE | cut -c{MAX_LINE_LENGTH + 1}- ]"


class Gap(Struct, frozen=True):
    """A hole in a sparse file: that many zero bytes, which nobody has to read."""

    length: int


Piece: TypeAlias = bytes | Gap


def _stream_page(file: OpenFile, first: int, limit: int) -> Page | Binary:
    sample = os.pread(file.descriptor, _SAMPLE, 0)
    format_ = _sample_format(sample)
    if format_ is None:
        return Binary(file.path, file.status.st_size, sample, None)
    window = LineWindow(first, limit)
    total = window.consume(_as_single_bytes(file, format_))
    encoding = "utf-8" if format_.encoding.startswith("utf-16") else format_.encoding
    lines = [_bounded(line, over, number, encoding) for number, (line, over) in enumerate(window.lines, first)]
    return Page(file.path, file.status.st_size, first, lines, total, format_, None)


def _sample_format(sample: bytes) -> TextFormat | None:
    """The sample may end in the middle of a character."""
    formats = (detect_format(sample[: len(sample) - cut]) for cut in range(4))
    found = sorted((format_ for format_ in formats if format_ is not None), key=_vagueness)
    return found[0] if found else None


def _vagueness(format_: TextFormat) -> int:
    """Any bytes at all could be latin-1, and nearly any windows-1252."""
    return {"utf-8": 0, "windows-1252": 2, "latin-1": 3}.get(format_.encoding, 1)


def _as_single_bytes(file: OpenFile, format_: TextFormat) -> Iterator[Piece]:
    """The content without its mark, in an encoding where a line feed is one byte."""
    start = len(format_.mark)
    if not format_.encoding.startswith("utf-16"):
        yield from _pieces(file, start)
        return
    decoder = codecs.getincrementaldecoder(format_.encoding)("replace")
    for piece in _pieces(file, start):
        if isinstance(piece, Gap):  # begins and ends between two characters, as whole blocks do
            yield Gap(piece.length // 2)
        else:
            yield decoder.decode(piece).encode("utf-8", "backslashreplace")


def _pieces(file: OpenFile, position: int) -> Iterator[Piece]:
    """The content up to the size it had when it was opened: a file that grows as fast as it is read has an end too."""
    size = file.status.st_size
    end = size if size > WHOLE_FILE_BYTES else COUNTED_BYTES  # what claims to be small but is not has no size to trust
    while position < end:
        data = min(end, _next_data(file.descriptor, position))
        if data > position:
            yield Gap(data - position)
            position = data
        piece = os.pread(file.descriptor, min(_CHUNK, end - position), position)
        if not piece:
            return
        yield piece
        position += len(piece)


def _next_data(descriptor: int, position: int) -> int:
    """Where the file goes on with something other than a hole; here, where the system cannot tell."""
    try:
        return os.lseek(descriptor, position, os.SEEK_DATA)
    except OSError as error:
        return max(position, os.fstat(descriptor).st_size) if error.errno == errno.ENXIO else position


def _bounded(line: bytes, over: int, number: int, encoding: str) -> str:
    text = line.removesuffix(b"\r").decode(encoding, "backslashreplace")
    return (
        text[:MAX_LINE_LENGTH] + _cut_notice(f"about {over + len(text) - MAX_LINE_LENGTH:,} bytes", number)
        if over
        else _cut(text, number)
    )


class LineWindow:
    """Takes a stream in pieces and keeps `limit` lines from number `first` on; of each no more than can be shown."""

    _LINE_BYTES = 4 * MAX_LINE_LENGTH

    def __init__(self, first: int, limit: int) -> None:
        self._first = first
        self._limit = limit
        self._number = 1
        self._line = bytearray()
        self._over = 0
        self.lines: list[tuple[bytes, int]] = []
        """The lines, and how many bytes of each were left out."""

    def consume(self, pieces: Iterable[Piece]) -> int | None:
        """Read on until the window is full and the lines are counted; returns their number, or None if that takes too long."""
        ending, after_window = b"", 0
        for piece in pieces:
            if isinstance(piece, Gap):
                ending = b"\0"
                self._take_gap(piece.length)
                continue
            position = self._skip(piece)
            while position < len(piece) and not self._full:
                position = self._take(piece, position)
            if self._full:
                self._number += piece.count(b"\n", position)
                after_window += len(piece)
                if after_window > COUNTED_BYTES:
                    return None
            ending = piece[-1:] or ending
        if ending not in (b"", b"\n"):
            self._end_line()
        return self._number - 1

    @property
    def _full(self) -> bool:
        return len(self.lines) >= self._limit

    def _skip(self, piece: bytes) -> int:
        """Pass over what comes before the window; where in the piece it starts."""
        missing = self._first - self._number
        if missing <= 0:
            return 0
        newlines = piece.count(b"\n")
        if newlines < missing:
            self._number += newlines
            return len(piece)
        position = 0
        for _ in range(missing):
            position = piece.index(b"\n", position) + 1
        self._number = self._first
        return position

    def _take(self, piece: bytes, position: int) -> int:
        end = piece.find(b"\n", position)
        part = piece[position : end if end >= 0 else len(piece)]
        room = self._LINE_BYTES - len(self._line)
        self._line += part[:room]
        self._over += max(0, len(part) - room)
        if end < 0:
            return len(piece)
        self._end_line()
        return end + 1

    def _take_gap(self, length: int) -> None:
        """Zeros without a line feed: the line goes on."""
        if self._number >= self._first and not self._full:
            room = self._LINE_BYTES - len(self._line)
            self._line += bytes(min(length, room))
            self._over += max(0, length - room)

    def _end_line(self) -> None:
        if self._number >= self._first and not self._full:
            self.lines.append((bytes(self._line), self._over))
        self._line.clear()
        self._over = 0
        self._number += 1
