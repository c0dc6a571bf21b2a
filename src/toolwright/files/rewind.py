"""Put files back to what they were at a point of the session's history, each in one step, and tell what came of it.

What a file is now is noted before it is put back, as after any point, so a rewind can be undone like everything else. A file
that cannot be put back is left alone and named; the others go on. No link is followed: bytes belong to the path they came from.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct, field

from toolwright.base.workspace_errors import CheckpointError, PathNotAllowed, UnknownPoint, WorkspaceError
from toolwright.files import read as files
from toolwright.files import write
from toolwright.files.boundary import Boundary, BoundedPath
from toolwright.files.checkpoint_index import Kept
from toolwright.files.checkpoints import FileHistory, digest_of, permissions_of
from toolwright.files.granted import GrantedPaths
from toolwright.files.read import FileContent
from toolwright.files.read_tracker import ReadTracker
from toolwright.files.write import Recording

Count = Callable[[bytes, bytes], tuple[int, int]]
"""How many lines come and go between two contents."""


class Rewound(Struct):
    """What a rewind did, or would do."""

    changed: list[str] = field(default_factory=list)
    insertions: int = 0
    deletions: int = 0
    skipped_links: list[str] = field(default_factory=list)
    """Files that are now behind a link, or outside the boundary."""
    changed_by_hand: list[str] = field(default_factory=list)
    """Among the changed: those that somebody else had changed since the session did."""
    not_restored: dict[str, str] = field(default_factory=dict)
    """Path → why it was left as it is."""
    undo: str | None = None
    """The point to rewind to in order to take this back; None if nothing was changed."""


class Door(Struct, frozen=True):
    """How a rewind reaches files: as the tools do."""

    boundary: Boundary
    history: FileHistory
    reads: ReadTracker
    recording: Recording
    largest: int
    """The largest present content that is read; what is larger could not be kept for an undo."""
    standing_in: str
    """The current folder, which stays."""
    strict: bool = False
    """Leave alone what lies outside, also what was changed there because somebody allowed it."""


def preview(door: Door, point: str, *, count: Count) -> Rewound:
    """What `rewind` would do. Changes nothing."""
    run = _Rewinding(door, point, count, dry=True)
    run.restore_files()
    return run.told


def rewind(door: Door, point: str, *, undo: str, count: Count) -> Rewound:
    """Put back every file that changed after `point`; `undo` becomes the point to take that back. Raises `UnknownPoint`."""
    run = _Rewinding(door, point, count, dry=False)
    # One that was killed half-way has noted the rest under its own point: going back there undoes both.
    cut_short = run.timeline.unfinished_rewind()
    door.history.begin_rewind(undo, point)
    try:
        run.restore_files()
        run.remove_folders()
    finally:
        changed = door.history.end_rewind(undo)
    run.told.undo = cut_short or (undo if changed else None)
    return run.told


class _AsItWas(Exception):
    """There is nothing to do for this file."""


class _Rewinding:
    def __init__(self, door: Door, point: str, count: Count, *, dry: bool) -> None:
        self.door = door
        self.timeline = door.history.timeline()
        position = self.timeline.position(point)
        if position is None:
            raise UnknownPoint(point)
        self._position = position
        self._count = count
        self._dry = dry
        self._granted = GrantedPaths(() if door.strict else self.timeline.granted_paths())
        self.told = Rewound()

    def restore_files(self) -> None:
        for path, target in self.timeline.states(self._position).items():
            try:
                self._restore(path, target)
            except _AsItWas:
                continue
            except PathNotAllowed:
                self.told.skipped_links.append(path)
            except WorkspaceError as error:
                self.told.not_restored[path] = str(error)
            except NotADirectoryError as error:
                if target.digest is not None:  # else the file is not there, as it should be
                    self.told.not_restored[path] = str(error.strerror)
            except OSError as error:
                self.told.not_restored[path] = error.strerror or str(error)

    def remove_folders(self) -> None:
        """Folders that were made for files and are empty now; what cannot be removed stays."""
        for folder in self.timeline.made_folders(self._position):
            if f"{self.door.standing_in}/".startswith(f"{folder}/"):
                continue
            with suppress(OSError, WorkspaceError):
                write.remove_folder_at(self.door.boundary, self._place(folder))

    def _place(self, path: str) -> BoundedPath:
        try:
            place = self.door.boundary.resolve(path)
        except PathNotAllowed:
            place = self._granted.resolve(path)
        if place.path != path:
            raise PathNotAllowed(path)
        return place

    def _restore(self, path: str, target: Kept) -> None:
        place = self._place(path)
        seen: list[FileContent | None] = []

        def wanted(before: FileContent | None) -> bytes:
            if _is(before, target):
                raise _AsItWas
            seen.append(before)
            return self._content(target)

        if self._dry:
            data = wanted(files.current(self.door.boundary, place, self.door.largest))
        elif target.digest is None:
            data = self._remove(place, wanted)
        else:
            data = self._put(place, target, wanted)
        self._tell(path, seen[-1], data)

    def _content(self, target: Kept) -> bytes:
        if target.digest is None:
            return b""
        if not target.held:
            raise CheckpointError(f"it had {target.size:,} bytes, too many to keep a copy of.")
        return self.door.history.read(target.digest)

    def _remove(self, place: BoundedPath, wanted: Callable[[FileContent | None], bytes]) -> bytes:
        def agree(before: FileContent | None) -> None:
            wanted(before)

        write.remove_at(self.door.boundary, place, agree, limit=self.door.largest, recording=self.door.recording)
        self.door.reads.forget(place.path)
        return b""

    def _put(self, place: BoundedPath, target: Kept, wanted: Callable[[FileContent | None], bytes]) -> bytes:
        replaced = write.replace_at(
            self.door.boundary,
            place,
            wanted,
            limit=self.door.largest,
            recording=self.door.recording,
            mode=target.mode,
        )
        after = replaced.after
        if target.known:
            self.door.reads.note(after.path, after.status, after.data)
        else:
            self.door.reads.forget(after.path)
        return after.data

    def _tell(self, path: str, before: FileContent | None, data: bytes) -> None:
        present = None if before is None else before.data
        insertions, deletions = self._count(present or b"", data)
        self.told.changed.append(path)
        self.told.insertions += insertions
        self.told.deletions += deletions
        if digest_of(present) not in self.timeline.left_by_session(path):
            self.told.changed_by_hand.append(path)


def _is(before: FileContent | None, target: Kept) -> bool:
    if before is None or target.digest is None:
        return before is None and target.digest is None
    if (permissions_of(before), len(before.data)) != (target.mode, target.size):
        return False
    return digest_of(before.data) == target.digest
