"""What git has in its index: the files it tracks, and the submodules, which are repositories of their own.

A `git status` looks into each of those, with the configuration that lies there. Reads the index only, in the format of versions
2 and 3; of others it says that it does not know.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

LARGEST_INDEX = 64 * 1024 * 1024
_LINK = 0o160000
_EMPTY = b"DIRC" + bytes((0, 0, 0, 2)) + bytes(4)
_FIXED = 62
"""Bytes of an entry before its name; 24 of them before its mode."""


def submodules(index: str) -> list[str]:
    """The paths of the submodules in the file `index`. Raises `ValueError` if it cannot be read."""
    data = _read(index)
    # Nearly all have no submodule, and to see that is much quicker than to read every entry.
    if _LINK.to_bytes(4, "big") not in data:
        return []
    return [path for path, mode in _entries(data) if mode == _LINK]


def tracked(index: str) -> Iterator[str]:
    """The paths of all files in the file `index`. Raises `ValueError` if it cannot be read."""
    return (path for path, _ in _entries(_read(index)))


def _read(index: str) -> bytes:
    if not os.path.lexists(index):
        return _EMPTY
    with open_file(index) as file:
        data = file.read(LARGEST_INDEX + 1)
    if len(data) > LARGEST_INDEX or data[:4] != b"DIRC" or int.from_bytes(data[4:8], "big") not in (2, 3):
        raise ValueError("an index that cannot be read")
    return data


def open_file(path: str) -> BinaryIO:
    """Open a regular file. Never waits, since what is there may have become a pipe; raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return os.fdopen(descriptor, "rb")


def _entries(data: bytes) -> Iterator[tuple[str, int]]:
    place, version = 12, int.from_bytes(data[4:8], "big")
    for _ in range(int.from_bytes(data[8:12], "big")):
        flags = int.from_bytes(data[place + 60 : place + 62], "big")
        name = place + _FIXED + (2 if version == 3 and flags & 0x4000 else 0)
        end = data.index(b"\0", name)
        yield os.fsdecode(data[name:end]), int.from_bytes(data[place + 24 : place + 28], "big")
        place += (end - place + 8) // 8 * 8
