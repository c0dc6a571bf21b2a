"""Put ripgrep's answers in the order of paths and cut a page out of them, counting all.

ripgrep searches in parallel and answers in any order, file by file. As long as the answers fit into memory they are ordered
here; beyond that `TooMuch` asks the caller to have ripgrep order them, and only the page is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

MOST_CHARACTERS = 30_000
MOST_BYTES_TO_ORDER = 8 * 1024 * 1024
MATCH_SEPARATOR, CONTEXT_SEPARATOR = r"\x00:", r"\x00-"
"""What ripgrep puts between path, line number and text: no path and no text can hold it."""
_BREAK = b"--"


class TooMuch(Exception):
    """More came than is ordered in memory."""


@dataclass(frozen=True, slots=True)
class ResultPage:
    """The lines to show, the paths in them, and how much there is in all."""

    lines: list[str]
    files: list[str]
    total: int
    total_files: int
    matches: int
    """The sum of the numbers, when counting."""


@dataclass(frozen=True, slots=True)
class _Entry:
    name: bytes
    """The path as ripgrep calls it; empty for a break between two places."""
    rest: bytes


class Results:
    """Feed it ripgrep's output, then ask for the `page`. With `ordered`, the output already comes in order."""

    def __init__(self, offset: int, limit: int, *, separator: bytes, ordered: bool = False) -> None:
        self._window = _Window(offset, limit)
        self._separator = separator
        self._ordered = ordered
        self._pending = b""
        self._bytes = 0
        self._at_break = False
        self._breaks = False
        self._blocks: dict[bytes, list[_Entry]] = {}

    async def feed(self, piece: bytes) -> None:
        self._bytes += len(piece)
        if not self._ordered and self._bytes > MOST_BYTES_TO_ORDER:
            raise TooMuch
        records = (self._pending + piece).split(self._separator)
        self._pending = records.pop()
        for record in records:
            self._take(record)

    def page(self, shown: Callable[[bytes], str], path: Callable[[bytes], str]) -> ResultPage:
        if self._pending:
            self._take(self._pending)
        for entry in self._in_order():
            self._window.add(entry)
        return self._window.page(shown, path)

    def _take(self, record: bytes) -> None:
        entry = self._parse(record)
        if self._ordered:
            self._window.add(entry)
        elif not entry.name:
            self._at_break = self._breaks = True
        else:
            block = self._blocks.setdefault(entry.name, [])
            if self._at_break and block:
                block.append(_Entry(b"", _BREAK))
            block.append(entry)
            self._at_break = False

    def _parse(self, record: bytes) -> _Entry:
        if self._separator == b"\0":
            return _Entry(record, b"")
        name, found, rest = record.partition(b"\0")
        if found:
            return _Entry(name, b":" + rest if rest.isdigit() else rest.replace(b"\0", b"", 1))
        if record == _BREAK:
            return _Entry(b"", _BREAK)
        name, _, rest = record.partition(b": ")  # a remark about a binary file
        return _Entry(name, b": " + rest)

    def _in_order(self) -> Iterator[_Entry]:
        for number, name in enumerate(sorted(self._blocks, key=_path_order)):
            if number and self._breaks:
                yield _Entry(b"", _BREAK)
            yield from self._blocks[name]


def _path_order(name: bytes) -> list[bytes]:
    return name.split(b"/")


class _Window:
    """Keeps the entries of the page that fit, and counts them all."""

    def __init__(self, offset: int, limit: int) -> None:
        self._offset = offset
        self._end = offset + limit if limit else None
        self._room = MOST_CHARACTERS
        self._kept: list[_Entry] = []
        self._total = 0
        self._files = 0
        self._matches = 0
        self._last = b""

    def add(self, entry: _Entry) -> None:
        position = self._total
        self._total += 1
        if entry.name and entry.name != self._last:
            self._last = entry.name
            self._files += 1
        if entry.rest[1:].isdigit():
            self._matches += int(entry.rest[1:])
        if position < self._offset or self._room <= 0 or (self._end is not None and position >= self._end):
            return
        self._room -= len(entry.name) + len(entry.rest) + 1
        self._kept.append(entry)

    def page(self, shown: Callable[[bytes], str], path: Callable[[bytes], str]) -> ResultPage:
        names = list(dict.fromkeys(entry.name for entry in self._kept if entry.name))
        labels = {name: shown(name) for name in names} | {b"": ""}
        lines = [labels[entry.name] + entry.rest.decode("utf-8", "backslashreplace") for entry in self._kept]
        return ResultPage(lines, [path(name) for name in names], self._total, self._files, self._matches)
