"""The file that takes what a background command writes, and the looks at what is new in it.

A look never takes more than it may show: of much it shows the beginning and the end and says what it left out; all of it stays
in the file. It knows no processes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from toolwright.base.workspace_errors import FileChanged
from toolwright.processes.output_buffer import visible

_MAX_CHARACTER_LENGTH = 4


class NewOutput(Struct, frozen=True):
    """What is new: `text`, or, if that would be too much, its beginning and `ending`, with `left_out` bytes between them."""

    text: str
    ending: str = ""
    left_out: int = 0


class ShellLog:
    """One such file. `descriptor` is open for writing, in a folder of ours alone."""

    __slots__ = ("_descriptor", "_identity", "_looked", "path", "size")

    def __init__(self, descriptor: int, path: str) -> None:
        self._descriptor: int | None = descriptor
        self._identity = _identity(descriptor)
        self._looked = 0
        self.path = path
        self.size = 0

    def append(self, piece: bytes) -> None:
        """Raises OSError: the disk may be full."""
        view = memoryview(piece)
        while view and self._descriptor is not None:
            written = os.write(self._descriptor, view)
            self.size += written
            view = view[written:]

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    @property
    def unseen(self) -> int:
        return self.size - self._looked

    def read_new(self, limit: int) -> NewOutput:
        """What came since the last look, at most `limit` characters of it."""
        start, end = self._looked, self.size
        with self._opened() as file:
            if end - start > _MAX_CHARACTER_LENGTH * limit:
                return self._ends(file, end, limit)
            data = self._whole_characters(os.pread(file, end - start, start))
        self._looked = start + len(data)
        text = visible(data)
        if len(text) <= limit:
            return NewOutput(text)
        half = limit // 2
        middle = len(text[half:-half].encode("utf-8", "surrogatepass"))
        return NewOutput(text[:half], text[-half:], middle)

    def next_lines(self, limit: int) -> bytes:
        """New lines for a filter, about `limit` bytes at most. An unfinished line waits for its end, unless it is that long.

        They count as seen after `skip`.
        """
        with self._opened() as file:
            data = os.pread(file, min(limit, self.unseen), self._looked)
        if len(data) < limit and self._descriptor is None:
            return data
        return data[: data.rfind(b"\n") + 1] or (data if len(data) == limit else b"")

    def tail(self, limit: int) -> str:
        """The last `limit` bytes of all, whether seen or not."""
        with self._opened() as file:
            return visible(os.pread(file, limit, max(0, self.size - limit)))

    def skip(self, size: int) -> None:
        self._looked += size

    def _ends(self, file: int, end: int, limit: int) -> NewOutput:
        half = limit // 2
        beginning = os.pread(file, _MAX_CHARACTER_LENGTH * half, self._looked)
        ending = os.pread(file, _MAX_CHARACTER_LENGTH * half, end - _MAX_CHARACTER_LENGTH * half)
        ending = self._whole_characters(ending)
        shown = visible(beginning)[:half], visible(ending.lstrip(bytes(range(0x80, 0xC0))))[-half:]
        new = end - self._looked
        self._looked = end
        return NewOutput(*shown, left_out=new - sum(len(part.encode("utf-8", "surrogatepass")) for part in shown))

    def _whole_characters(self, data: bytes) -> bytes:
        """While more may come, half a character at the end waits for its other half."""
        if self._descriptor is None:
            return data
        for back in range(1, min(_MAX_CHARACTER_LENGTH, len(data) + 1)):
            first = data[-back]
            if first >= 0xC0:
                needed = 2 + (first >= 0xE0) + (first >= 0xF0)
                return data[:-back] if back < needed else data
            if first < 0x80:
                break
        return data

    @contextmanager
    def _opened(self) -> Iterator[int]:
        file = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            if _identity(file) != self._identity:
                raise FileChanged(f"{self.path} is no longer the file with the output: something has replaced it.")
            yield file
        finally:
            os.close(file)


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino
