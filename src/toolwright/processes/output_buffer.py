"""Keep the beginning and the end of a command's output in memory and the whole of it in a file, once it is long.

Memory stays flat however much comes. It knows no processes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from msgspec import Struct

OUTPUT_LIMIT = 30_000
FILE_LIMIT = 1 << 30

_INVISIBLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]")

OpenSpill = Callable[[], tuple[int, str]]


class Captured(Struct, frozen=True):
    """What was written. `text` is whole, or begins and ends with the beginning and end of it and says so in between."""

    text: str
    total_bytes: int
    saved_to: str | None = None
    saved_bytes: int = 0


class OutputCollector:
    """Feed it pieces, then `finish`. `open_spill` opens the file for long output when it is first needed."""

    def __init__(self, open_spill: OpenSpill, *, limit: int = OUTPUT_LIMIT, file_limit: int = FILE_LIMIT) -> None:
        self._open_spill = open_spill
        self._limit = limit
        self._file_limit = file_limit
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self._saved = 0
        self._file: int | None = None
        self._path: str | None = None
        self._problem: str | None = None
        self._shortening = False

    def feed(self, piece: bytes) -> None:
        self._total += len(piece)
        if not self._shortening and self._total <= self._memory:
            self._head += piece
            return
        if not self._shortening:
            self._start_spill()
        self._save(piece)
        self._tail += piece
        if len(self._tail) > 2 * self._memory:
            del self._tail[: -self._memory]

    def finish(self) -> Captured:
        """Everything has come. Closes the file."""
        text = visible(self._head)
        if not self._shortening and len(text) > self._limit:
            self._start_spill()
        self.close()
        if not self._shortening:
            return Captured(text, self._total)
        ending = visible(self._tail.lstrip(bytes(range(0x80, 0xC0)))) if self._tail else text
        return Captured(self._shortened(text, ending), self._total, self._path, self._saved)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    @property
    def _memory(self) -> int:
        return 4 * self._limit  # a character takes at most four bytes

    def _start_spill(self) -> None:
        self._shortening = True
        try:
            self._file, self._path = self._open_spill()
        except OSError as error:  # the command goes on all the same
            self._problem = error.strerror or str(error)
        self._save(self._head)

    def _save(self, piece: bytes | bytearray) -> None:
        room = self._file_limit - self._saved
        if self._file is None or room <= 0:
            return
        view = memoryview(piece)[:room]
        try:
            while view:
                written = os.write(self._file, view)
                self._saved += written
                view = view[written:]
        except OSError as error:
            self._problem = error.strerror or str(error)
            self.close()

    def _shortened(self, beginning: str, ending: str) -> str:
        half = self._limit // 2
        sizes = f"the first and last {half:,} characters of {self._total:,} bytes are shown"
        notice = f"[... output shortened: {sizes}; {self._kept()} ...]"
        return f"{beginning[:half]}\n\n{notice}\n\n{ending[-half:]}"

    def _kept(self) -> str:
        if self._path is None:
            return f"the rest is lost, because no file could be made for it: {self._problem}"
        how = f"in {self._path}: page it with Read (offset, limit) or search it with Grep"
        if self._saved == self._total:
            return f"the full output is {how}"
        why = self._problem or f"no more than {self._file_limit:,} bytes are kept"
        return f"its first {self._saved:,} bytes are {how}; the rest is lost ({why})"


def visible(data: bytes | bytearray) -> str:
    """Text of any bytes: what is not UTF-8 and control characters without a meaning in text are shown as \\xNN."""
    text = data.decode("utf-8", "backslashreplace")
    return _INVISIBLE.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
