"""Which files a session has read, and in which version: the memory behind read-before-write. It opens nothing."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from enum import Enum
from typing import Any

from msgspec import Struct

from toolwright.files.digests import digest

_MAX_FILES = 4096


class ReadState(Enum):
    """What a session knows of a file's present content."""

    UNREAD = "unread"
    CURRENT = "current"
    STALE = "stale"


class SeenFile(Struct, frozen=True):
    """A version of a file. Without a digest (a part of a huge file was read) only time and size tell versions apart."""

    modified: int
    size: int
    digest: bytes | None

    def same_content(self, other: SeenFile) -> bool:
        if self.digest is not None and other.digest is not None:
            return self.digest == other.digest
        return (self.modified, self.size) == (other.modified, other.size)

    def as_row(self, path: str) -> dict[str, Any]:
        """For a transcript."""
        digest = None if self.digest is None else self.digest.hex()
        return {"path": path, "mtimeNs": self.modified, "size": self.size, "sha1": digest}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> SeenFile | None:
        """What a row tells; None if it is none of ours, or damaged."""
        modified, size, digest = row.get("mtimeNs"), row.get("size"), row.get("sha1")
        if not isinstance(modified, int) or not isinstance(size, int) or not isinstance(digest, str | None):
            return None
        try:
            return cls(modified, size, None if digest is None else bytes.fromhex(digest))
        except ValueError:
            return None


class Showing(Struct, frozen=True):
    """A call whose result shows a part of a file in this version. `mark` is that of the result, by which it is known again."""

    version: SeenFile
    tool_use_id: str
    mark: int


class Showings:
    """Which calls showed which parts of which files. Whether their results still stand in a conversation is not known here."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: dict[Hashable, Showing] = {}

    def note(self, path: str, part: Hashable, showing: Showing) -> None:
        self._calls.pop((path, part), None)
        self._calls[path, part] = showing
        if len(self._calls) > _MAX_FILES:
            del self._calls[next(iter(self._calls))]

    def find(self, path: str, part: Hashable, versions: Iterable[SeenFile | None]) -> Showing | None:
        """The last call that showed this part, if all these versions have the content it showed."""
        showing = self._calls.get((path, part))
        if showing is None or not all(version and version.same_content(showing.version) for version in versions):
            return None
        return showing


class ReadTracker:
    """Real path → the version last seen. Bounded: the file not touched for the longest is forgotten first."""

    __slots__ = ("_folders", "_news", "_seen", "showings")

    def __init__(self) -> None:
        self._seen: dict[str, SeenFile] = {}
        self.showings = Showings()
        self._news: dict[str, SeenFile] = {}
        self._folders: frozenset[str] = frozenset()

    def note(self, path: str, status: os.stat_result, data: bytes | None) -> None:
        """The session has seen this version: all of `data`, or a part of it (None)."""
        seen = SeenFile(status.st_mtime_ns, status.st_size, None if data is None else digest(data))
        if self._put(path, seen) != seen:
            self._news[path] = seen
            self._folders |= {os.path.dirname(path)}

    def take_news(self) -> list[dict[str, Any]]:
        """What was learnt since the last time, as rows that `restore` understands."""
        if not self._news:
            return []
        news, self._news = self._news, {}
        return [seen.as_row(path) for path, seen in news.items()]

    def take_folders(self) -> frozenset[str]:
        """The folders of the files that were seen anew since the last time."""
        folders, self._folders = self._folders, frozenset()
        return folders

    def restore(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Know again what an earlier run of this session knew. Each file is held against it when it is next touched."""
        for row in rows:
            path, seen = row.get("path"), SeenFile.from_row(row)
            if isinstance(path, str) and seen is not None:
                self._put(path, seen)

    def knowledge(self, path: str, status: os.stat_result, data: bytes) -> ReadState:
        """A mere touch (new time, same bytes) leaves a file current."""
        seen = self._seen.get(path)
        if seen is None:
            return ReadState.UNREAD
        if seen.digest is not None:
            same = seen.digest == digest(data)
        else:
            same = (seen.modified, seen.size) == (status.st_mtime_ns, status.st_size)
        return ReadState.CURRENT if same else ReadState.STALE

    def version(self, path: str) -> SeenFile | None:
        """The version last seen."""
        return self._seen.get(path)

    def forget(self, path: str) -> None:
        self._seen.pop(path, None)

    def _put(self, path: str, seen: SeenFile) -> SeenFile | None:
        """Remember a version; the one remembered before."""
        before = self._seen.pop(path, None)
        self._seen[path] = seen
        if len(self._seen) > _MAX_FILES:
            self._seen.pop(next(iter(self._seen)), None)
        return before

    def __len__(self) -> int:
        return len(self._seen)
