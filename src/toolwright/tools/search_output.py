"""Take ripgrep's output apart, piece by piece, into what it says about each file. It does not know paging or order.

ripgrep is asked to end each name with NUL, which no name and no line it prints can hold. It prints all it has to say about a
file in one go, so the work here is per file, not per line, and the middle of a flood is only counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol

STDIN = b"<stdin>"
"""What ripgrep calls the one file it is given open."""
MAX_BODY_BYTES = 4 * 1024 * 1024
"""Of one file's lines, about so many bytes are kept; the rest is counted."""


class FileMatches(NamedTuple):
    """One file: its name as ripgrep calls it, and how many lines or entries it adds."""

    name: bytes
    entries: int
    body: bytes = b""
    """The entries as they are kept, each ended by a line feed; what stands behind the last one is incomplete."""
    first: int = 0
    """The number of the entry that the body begins with (or in)."""
    matches: int = 0
    """The number, when counting."""


class Parser(Protocol):
    """Give it all pieces in order, then `finish`. `skip`: so many entries of the next file need not be kept."""

    skip: int

    def feed(self, piece: bytes) -> Iterator[FileMatches]: ...
    def finish(self) -> Iterator[FileMatches]: ...


class NameParser:
    """`--files-with-matches --null`: names."""

    def __init__(self) -> None:
        self.skip = 0
        self._pending = b""

    def feed(self, piece: bytes) -> Iterator[FileMatches]:
        names = (self._pending + piece).split(b"\0")
        self._pending = names.pop()
        return (FileMatches(name, 1, b"\n") for name in names)

    def finish(self) -> Iterator[FileMatches]:
        return iter(())


class CountParser:
    """`--count --null`: a name and a number."""

    _RECORD = re.compile(rb"([^\0]+)\0([0-9]+\n)")

    def __init__(self) -> None:
        self.skip = 0
        self._pending = b""

    def feed(self, piece: bytes) -> Iterator[FileMatches]:
        text = self._pending + piece
        end = self._end_of_last(text)
        self._pending = text[end:]
        return (FileMatches(name, 1, number, 0, int(number)) for name, number in self._RECORD.findall(text, 0, end))

    @staticmethod
    def _end_of_last(text: bytes) -> int:
        """Where the last whole record ends: names may hold line feeds, numbers do not."""
        middle = text.rfind(b"\0")
        end = text.find(b"\n", middle) if middle >= 0 else -1
        if end < 0 <= middle:
            middle = text.rfind(b"\0", 0, middle)
            end = text.find(b"\n", middle) if middle >= 0 else -1
        return end + 1

    def finish(self) -> Iterator[FileMatches]:
        return iter(())


class LineParser:
    """`--heading --null --line-number`: a name, its lines, an empty line. Every line has a number, so no other one is empty."""

    def __init__(self) -> None:
        self.skip = 0
        self._pending = b""
        self._begin(None)

    def feed(self, piece: bytes) -> Iterator[FileMatches]:
        text = self._pending + piece
        start = self._end_begun(text)
        if start:
            yield self._end()
        while self._name is None and (middle := text.find(b"\0", start)) >= 0:
            end = text.find(b"\n\n", middle)
            if end < 0:
                self._begin(text[start:middle])
                start = middle + 1
            else:
                yield FileMatches(text[start:middle], text.count(b"\n", middle, end + 1), text[middle + 1 : end + 1])
                start = end + 2
        if self._name is not None:
            last = max(start, len(text) - 1)  # this byte may be half of an empty line
            self._take(text[start:last])
            start = last
        self._pending = text[start:]

    def _end_begun(self, text: bytes) -> int:
        """Take the rest of a file that began in an earlier piece; where the next one starts, or 0 if the end is not there."""
        end = -1 if self._name is None else text.find(b"\n\n")
        if end >= 0:
            self._take(text[: end + 1])
        return end + 2 if end >= 0 else 0

    def finish(self) -> Iterator[FileMatches]:
        if self._name is None and self._pending:  # a remark on a file of which nothing else is shown
            self._begin(STDIN)
        if self._name is not None:
            self._take(self._pending)
            yield self._end()
        self._pending = b""

    def _begin(self, name: bytes | None) -> None:
        self._name = name
        self._entries = 0
        self._first = 0
        self._kept: list[bytes] = []
        self._kept_bytes = 0

    def _take(self, text: bytes) -> None:
        before, self._entries = self._entries, self._entries + text.count(b"\n")
        if self._entries < self.skip or self._kept_bytes >= MAX_BODY_BYTES:
            return
        if not self._kept:
            self._first = before
        self._kept.append(text)
        self._kept_bytes += len(text)

    def _end(self) -> FileMatches:
        found = FileMatches(self._name or b"", self._entries, b"".join(self._kept), self._first)
        self._begin(None)
        return found
