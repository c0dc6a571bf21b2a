"""Cut a window of lines out of a file: all at once if it is small, streaming past what is not shown if it is huge."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from toolwright.workspace import FileTooLarge, OpenFile
from toolwright.workspace.text import TextFormat, decode_text, detect_format

LONGEST_LINE = 2000
WHOLE_FILE_BYTES = 8 * 1024 * 1024
COUNTED_BYTES = 64 * 1024 * 1024
"""How much of a huge file is looked through after the window, only to tell its number of lines."""
_SAMPLE = 8192


@dataclass(frozen=True, slots=True)
class Page:
    """Lines `first`… of a file. `total` is None if counting all of them would have cost more than showing these."""

    path: str
    size: int
    first: int
    lines: list[str]
    total: int | None
    format: TextFormat
    data: bytes | None
    """The whole content, if it was read."""


@dataclass(frozen=True, slots=True)
class Binary:
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
    if lines and max(map(len, lines)) > LONGEST_LINE:
        lines = [_cut(line, number) for number, line in enumerate(lines, first)]
    return Page(file.path, len(data), first, lines, total, format_, data)


def _cut(line: str, number: int) -> str:
    return (
        line
        if len(line) <= LONGEST_LINE
        else line[:LONGEST_LINE] + _cut_notice(f"{len(line) - LONGEST_LINE:,} characters", number)
    )


def _cut_notice(amount: str, number: int) -> str:
    return f" [... {amount} more in this line; to see them: sed -n '{number}p' FILE | cut -c{LONGEST_LINE + 1}- ]"


def _stream_page(file: OpenFile, first: int, limit: int) -> Page | Binary:
    sample = os.pread(file.descriptor, _SAMPLE, 0)
    format_ = _sample_format(sample)
    if format_ is None:
        return Binary(file.path, file.status.st_size, sample, None)
    os.lseek(file.descriptor, 0, os.SEEK_SET)
    window = LineWindow(first, limit)
    total = window.consume(_as_single_bytes(file.chunks(), format_))
    encoding = "latin-1" if format_.encoding == "latin-1" else "utf-8"
    lines = [_bounded(line, over, number, encoding) for number, (line, over) in enumerate(window.lines, first)]
    return Page(file.path, file.status.st_size, first, lines, total, format_, None)


def _sample_format(sample: bytes) -> TextFormat | None:
    """The sample may end in the middle of a character."""
    formats = (detect_format(sample[: len(sample) - cut]) for cut in range(4))
    found = [format_ for format_ in formats if format_ is not None]
    return next((format_ for format_ in found if format_.encoding == "utf-8"), found[0] if found else None)


def _as_single_bytes(pieces: Iterable[bytes], format_: TextFormat) -> Iterator[bytes]:
    """The pieces in an encoding where a line feed is one byte."""
    if not format_.encoding.startswith("utf-16"):
        yield from _without_mark(pieces, format_.mark)
        return
    decoder = codecs.getincrementaldecoder(format_.encoding)("replace")
    for piece in _without_mark(pieces, format_.mark):
        yield decoder.decode(piece).encode("utf-8", "backslashreplace")


def _without_mark(pieces: Iterable[bytes], mark: bytes) -> Iterator[bytes]:
    for number, piece in enumerate(pieces):
        yield piece[len(mark) :] if number == 0 else piece


def _bounded(line: bytes, over: int, number: int, encoding: str) -> str:
    text = line.removesuffix(b"\r").decode(encoding, "backslashreplace")
    return (
        text[:LONGEST_LINE] + _cut_notice(f"about {over + len(text) - LONGEST_LINE:,} bytes", number)
        if over
        else _cut(text, number)
    )


class LineWindow:
    """Takes a stream in pieces and keeps `limit` lines from number `first` on; of each no more than can be shown."""

    _LINE_BYTES = 4 * LONGEST_LINE

    def __init__(self, first: int, limit: int) -> None:
        self._first = first
        self._limit = limit
        self._number = 1
        self._line = bytearray()
        self._over = 0
        self.lines: list[tuple[bytes, int]] = []
        """The lines, and how many bytes of each were left out."""

    def consume(self, pieces: Iterable[bytes]) -> int | None:
        """Read on until the window is full and the lines are counted; returns their number, or None if that takes too long."""
        ending, after_window = b"", 0
        for piece in pieces:
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

    def _end_line(self) -> None:
        if self._number >= self._first and not self._full:
            self.lines.append((bytes(self._line), self._over))
        self._line.clear()
        self._over = 0
        self._number += 1
