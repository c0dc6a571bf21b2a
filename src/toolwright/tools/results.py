"""Put what was found in the order of paths and cut a page out of it, counting all.

ripgrep searches in parallel and answers in any order, file by file. What lies behind the page in the order of paths is dropped
as soon as that is clear, so memory does not grow with the answer. Only a page far behind the beginning may need more than is
kept; then `TooMuch` asks the caller to have ripgrep put its answers in order itself, which is slower.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from toolwright.tools.search_output import FileMatches, Parser

MAX_CHARACTERS = 30_000
MAX_BYTES_TO_ORDER = 8 * 1024 * 1024
_FIRST_SORTING = 1024 * 1024
_MIN_ENTRY_LENGTH = 5
_OVERHEAD = 150
"""About what a kept file weighs besides its text."""
_BREAK = b"--"
_NUMBERED = re.compile(rb"([0-9]+)([:-])")


class TooMuch(Exception):
    """More is needed than can be put in order in memory."""


class PageRequest(Struct, frozen=True):
    """The page: `limit` entries (0: as many as fit) after the first `offset` ones, and how its lines look."""

    offset: int
    limit: int
    numbers: bool = True
    breaks: bool = False
    """Between two files stands a line `--`, as between two places of one."""

    @property
    def end(self) -> int:
        """No entry from this number on can be on the page."""
        most = MAX_CHARACTERS // _MIN_ENTRY_LENGTH
        return self.offset + (min(self.limit, most) if self.limit else most)


class Naming(Struct, frozen=True):
    """What becomes of a file's name: its full path, how that is shown, whether it must not be seen at all."""

    path: Callable[[bytes], str]
    shown: Callable[[str], str]
    hidden: Callable[[bytes], bool] | None = None


class ResultPage(Struct, frozen=True):
    """The lines to show, the paths in them, and how much there is in all."""

    lines: list[str]
    files: list[str]
    total: int
    total_files: int
    matches: int
    """The sum of the numbers, when counting."""
    places: list[dict[str, Any]] = []
    """The matching lines (not those around them) with file and number, where lines were asked for."""


class Results:
    """Feed it ripgrep's output, then ask for the `page`. With `ordered`, the output already comes in order."""

    def __init__(self, parser: Parser, wanted: PageRequest, naming: Naming, *, ordered: bool = False) -> None:
        self._parser = parser
        self._wanted = wanted
        self._naming = naming
        self._ordered = ordered
        self._kept: list[tuple[bytes, FileMatches]] = []
        self._weight = 0
        self._weight_to_sort = min(_FIRST_SORTING, MAX_BYTES_TO_ORDER)
        self._skipped = 0
        self._total = self._files = self._matches = 0
        parser.skip = wanted.offset if ordered else 0

    async def feed(self, piece: bytes) -> None:
        self._take(self._parser.feed(piece))

    def page(self) -> ResultPage:
        """Raises `TooMuch` if the page begins behind what was kept of a file."""
        self._take(self._parser.finish())
        self._kept.sort()
        entries = [*self._fitting()]
        paths = {name: self._naming.path(name) for name in dict.fromkeys(name for name, _ in entries if name)}
        shown = self._naming.shown
        labels = {name: shown(path) for name, path in paths.items()}
        lines = [self._line(labels.get(name, ""), name, text) for name, text in entries]
        places = [place for name, text in entries if name and (place := _place(paths[name], text)) is not None]
        return ResultPage(lines, [*paths.values()], self._total, self._files, self._matches, places)

    def _take(self, found: Iterator[FileMatches]) -> None:
        hidden, ordered, breaks = self._naming.hidden, self._ordered, self._wanted.breaks
        for file in found:
            name, entries, body, _, matches = file
            if hidden is not None and hidden(name):
                continue
            self._total += entries + (breaks and self._files > 0)
            self._files += 1
            self._matches += matches
            if not ordered or self._is_near(file):
                # NUL sorts before every byte of a name: this is the order of paths, folder by folder.
                self._kept.append((name.replace(b"/", b"\0"), file))
                self._weight += len(name) + len(body) + _OVERHEAD
        if self._weight > self._weight_to_sort and not ordered:
            self._drop_what_lies_behind()

    def _is_near(self, file: FileMatches) -> bool:
        """Whether a file that comes in order reaches into the page."""
        self._parser.skip = max(0, self._wanted.offset - self._total - self._wanted.breaks)
        if self._total <= self._wanted.offset:
            self._skipped = self._total
            return False
        return self._total - file.entries < self._wanted.end

    def _drop_what_lies_behind(self) -> None:
        self._kept.sort()
        position = self._skipped
        for number, (_, file) in enumerate(self._kept):
            if position >= self._wanted.end:
                del self._kept[number:]
                break
            position += file.entries
        self._weight = sum(len(name) + len(file.body) + _OVERHEAD for name, file in self._kept)
        if self._weight > MAX_BYTES_TO_ORDER:
            raise TooMuch
        self._weight_to_sort = max(_FIRST_SORTING, 2 * self._weight)

    def _fitting(self) -> Iterator[tuple[bytes, bytes]]:
        room = MAX_CHARACTERS
        for position, name, text in self._from_offset():
            if position >= self._wanted.end or room <= 0:
                return
            room -= len(name) + len(text) + 1
            yield name, text

    def _from_offset(self) -> Iterator[tuple[int, bytes, bytes]]:
        """The entries of the page and behind, with their numbers; a break has no name."""
        position = self._skipped
        for _, file in self._kept:
            if position and self._wanted.breaks:
                if position >= self._wanted.offset:
                    yield position, b"", _BREAK
                position += 1
            start = max(0, self._wanted.offset - position)
            if file.entries == 1 and not start:  # by far the most, where names or numbers were asked for
                yield position, file.name, file.body.removesuffix(b"\n")
                position += 1
                continue
            for number, text in enumerate(_entries(file, start), position + start):
                yield number, file.name if text != _BREAK else b"", text
            position += file.entries

    def _line(self, label: str, name: bytes, text: bytes) -> str:
        if not name:
            return text.decode()
        if numbered := _NUMBERED.match(text):
            rest = text[numbered.start(2) :]
            text = numbered[2] + numbered[1] + rest if self._wanted.numbers else rest
        elif text.isdigit():
            text = b":" + text
        else:  # empty, or a remark that begins with the name
            text = text.removeprefix(name)
        return label + text.removesuffix(b"\r").decode("utf-8", "backslashreplace")


def _place(path: str, text: bytes) -> dict[str, Any] | None:
    numbered = _NUMBERED.match(text)
    if numbered is None or numbered[2] != b":":
        return None
    content = text[numbered.end() :].removesuffix(b"\r").decode("utf-8", "backslashreplace")
    return {"file": path, "line": int(numbered[1]), "content": content}


def _entries(file: FileMatches, start: int) -> Iterator[bytes]:
    """The entries from number `start` on. Raises `TooMuch` where the kept ones end before the file's do."""
    if start >= file.entries:
        return
    entries = file.body.split(b"\n")
    entries.pop()
    yield from entries[start - file.first :]
    if file.first + len(entries) < file.entries:
        raise TooMuch
