"""Which folders of a work tree git takes for repositories of their own: the submodules named in its index.

A `git status` looks into each of them, with the configuration that lies there. Reads the index only, in the format of versions
2 and 3; of others it says that it does not know.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

LARGEST_INDEX = 64 * 1024 * 1024
_LINK = 0o160000
_FIXED = 62
"""Bytes of an entry before its name; 24 of them before its mode."""


def submodules(index: str) -> list[str]:
    """The paths of the submodules in the file `index`. Raises `ValueError` if it cannot be read."""
    if not os.path.lexists(index):
        return []
    with open(index, "rb") as file:
        data = file.read(LARGEST_INDEX + 1)
    version = int.from_bytes(data[4:8], "big")
    if len(data) > LARGEST_INDEX or data[:4] != b"DIRC" or version not in (2, 3):
        raise ValueError("an index that cannot be read")
    # Nearly all have no submodule, and to see that is much quicker than to read every entry.
    return list(_links(data, version)) if _LINK.to_bytes(4, "big") in data else []


def _links(data: bytes, version: int) -> Iterator[str]:
    place = 12
    for _ in range(int.from_bytes(data[8:12], "big")):
        flags = int.from_bytes(data[place + 60 : place + 62], "big")
        name = place + _FIXED + (2 if version == 3 and flags & 0x4000 else 0)
        end = data.index(b"\0", name)
        if int.from_bytes(data[place + 24 : place + 28], "big") == _LINK:
            yield os.fsdecode(data[name:end])
        place += (end - place + 8) // 8 * 8
