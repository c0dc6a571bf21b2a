"""The index of a session's file history, read: points and changes in the order they came, and what follows from them.

Opens nothing; `checkpoints` reads and writes the lines.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

Entry = dict[str, Any]


class Kept(Struct, frozen=True):
    """What a file was at a point."""

    digest: str | None
    """None: there was no file."""
    mode: int
    size: int
    held: bool
    """Whether the content is kept, too."""
    known: bool
    """Whether the session had seen this content."""


class Timeline:
    """Everything noted so far."""

    __slots__ = ("_entries",)

    def __init__(self, entries: list[Entry]) -> None:
        self._entries: list[Entry] = []
        for entry in entries:
            if "retract" in entry:
                self._retract(entry["retract"])
            else:
                self._entries.append(entry)

    def _retract(self, path: str) -> None:
        for position in range(len(self._entries) - 1, -1, -1):
            if self._entries[position].get("path") == path:
                del self._entries[position]
                return

    def position(self, point: str) -> int | None:
        """Where a point is; None if there is none of this id."""
        return next((number for number, entry in enumerate(self._entries) if entry.get("point") == point), None)

    def states(self, position: int) -> dict[str, Kept]:
        """What each file that changed after `position` was there."""
        states: dict[str, Kept] = {}
        for entry in self._entries[position:]:
            if "before" in entry and entry["path"] not in states:
                states[entry["path"]] = _kept_of(entry)
        return states

    def made_folders(self, position: int) -> list[str]:
        """Folders that came into being with files after `position`, the deepest first."""
        made = {folder for entry in self._entries[position:] for folder in _made_with(entry)}
        return sorted(made, key=lambda folder: folder.count("/"), reverse=True)

    def granted_paths(self) -> frozenset[str]:
        """Files outside the working folders that were changed because somebody allowed just that, and folders made for them."""
        granted = [entry for entry in self._entries if entry.get("granted")]
        return frozenset(path for entry in granted for path in (entry["path"], *_made_with(entry)))

    def left_by_session(self, path: str) -> set[str | None]:
        """What is there if nobody else touched the file: the content noted last, or the one before if that was cut short."""
        notes = [entry for entry in self._entries if entry.get("path") == path][-2:]
        return {entry["after"] for entry in notes} | {entry["before"] for entry in notes[-1:] if "before" in entry}

    def unfinished_rewind(self) -> str | None:
        """The point before a rewind that was cut short and that nothing followed but other such rewinds."""
        finished = {entry.get("finished") for entry in self._entries}
        found = None
        for entry in reversed(self._entries):
            if "point" in entry:
                if "rewind" not in entry or entry["point"] in finished:
                    break
                found = str(entry["point"])
        return found


def _made_with(entry: Entry) -> Iterator[str]:
    folder = entry.get("path", "")
    for _ in range(entry.get("made", 0)):
        folder = os.path.dirname(folder)
        yield folder


def _kept_of(entry: Entry) -> Kept:
    return Kept(entry["before"], entry.get("mode", 0), entry.get("size", 0), entry.get("held", True), entry.get("known", False))
