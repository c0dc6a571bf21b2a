"""Which files a session has read, and in which version: the memory behind read-before-write. It opens nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from hashlib import sha1

_MOST_FILES = 4096


class Knowledge(Enum):
    """What a session knows of a file's present content."""

    UNREAD = "unread"
    CURRENT = "current"
    STALE = "stale"


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A version of a file. Without a digest (a part of a huge file was read) only time and size tell versions apart."""

    modified: int
    size: int
    digest: bytes | None


class ReadLedger:
    """Real path → the version last seen. Bounded: the file not touched for the longest is forgotten first."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[str, SeenFile] = {}

    def note(self, path: str, status: os.stat_result, data: bytes | None) -> None:
        """The session has seen this version: all of `data`, or a part of it (None)."""
        self._seen.pop(path, None)
        self._seen[path] = SeenFile(status.st_mtime_ns, status.st_size, None if data is None else digest(data))
        if len(self._seen) > _MOST_FILES:
            del self._seen[next(iter(self._seen))]

    def knowledge(self, path: str, status: os.stat_result, data: bytes) -> Knowledge:
        """A mere touch (new time, same bytes) leaves a file current."""
        seen = self._seen.get(path)
        if seen is None:
            return Knowledge.UNREAD
        if seen.digest is not None:
            same = seen.digest == digest(data)
        else:
            same = (seen.modified, seen.size) == (status.st_mtime_ns, status.st_size)
        return Knowledge.CURRENT if same else Knowledge.STALE

    def forget(self, path: str) -> None:
        self._seen.pop(path, None)

    def __len__(self) -> int:
        return len(self._seen)


def digest(data: bytes) -> bytes:
    """To tell versions apart, not to protect them: SHA-1 is the fastest of the standard library's."""
    return sha1(data, usedforsecurity=False).digest()
