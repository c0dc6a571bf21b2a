"""One memory file, opened with care: a regular file, its text up to a bound, and whose it is."""

from __future__ import annotations

import os
import stat

from msgspec import Struct

MAX_SIZE = 100_000
_LOOK = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class NotMemory(Exception):
    """Why a file is left out."""


class MemoryFile(Struct, frozen=True):
    """A file that was read. `path` is the real one, with no link in it."""

    path: str
    text: str
    is_cut: bool
    identity: tuple[int, int]
    owner: int

    def is_ours(self, cwd: str) -> bool:
        """Whether it belongs to us, to the administrator, or to whoever owns the session's folder."""
        return self.owner in (0, os.geteuid(), os.stat(cwd).st_uid)


def open_memory(path: str) -> MemoryFile:
    """Raises `NotMemory`."""
    real = os.path.realpath(path)
    try:
        descriptor = os.open(real, _LOOK)
    except OSError as error:
        raise NotMemory(error.strerror or str(error)) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotMemory("it is not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(MAX_SIZE + 1)
    finally:
        os.close(descriptor)
    if b"\0" in data:
        raise NotMemory("it is not a text file")
    text = data[:MAX_SIZE].decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    return MemoryFile(real, text, len(data) > MAX_SIZE, (status.st_dev, status.st_ino), status.st_uid)
