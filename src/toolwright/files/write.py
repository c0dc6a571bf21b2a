"""Replace and remove files below the boundary, one step each: atomic, durable, and never what nobody has looked at.

Writers of this process take turns. Everything here blocks; `workspace` decides whether that happens on the event loop or in a
thread. It does not know what the bytes mean.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress

from msgspec import Struct

from toolwright.base.open_beneath import PATH_ONLY, release
from toolwright.base.workspace_errors import FileTooLarge, NotRegularFile
from toolwright.files.atomic_write import FileReplacement, require_untouched, synced
from toolwright.files.boundary import Boundary, BoundedPath
from toolwright.files.digests import foresee
from toolwright.files.read import FileContent, LinkInTheWay, Parent, through_no_link

# Two writers take turns on a path; 64 locks are enough to rarely wait for a stranger.
_WRITERS = tuple(threading.Lock() for _ in range(64))


class NewContent(Struct, frozen=True):
    """What a file shall be, and what there is to do while the disk takes it."""

    data: bytes
    meanwhile: Callable[[], object] | None = None


Change = Callable[[FileContent | None], bytes | NewContent]
"""What is there (None: no file) → what shall be."""


class Replaced(Struct, frozen=True):
    """What a write did. `durable` is False when the new content is in place but the disk could not confirm that it stays."""

    before: FileContent | None
    after: FileContent
    durable: bool


Recording = Callable[[str, FileContent | None, bytes | None], AbstractContextManager[None]]
"""Called with the real path, what is there and what will be (None: no file) and entered around the change itself. If it raises,
nothing is changed; if the change fails, it hears the exception."""


class NotAtOnce(Exception):
    """More than a moment's work, or somebody else is at it. Nothing was changed."""


def replace(
    boundary: Boundary, path: str, change: Change, *, limit: int, recording: Recording | None = None, at_once: bool = False
) -> Replaced:
    """Read the file, ask `change` for the new content and put it in place in one step.

    Nothing is written if `change` raises. A file that somebody else writes in between is `FileChanged`. With `at_once` it is
    `NotAtOnce` if a writer would have to be waited for, or if either content is larger than `limit`.
    """

    def attempt(place: BoundedPath) -> Replaced:
        turn = _turn(place)
        if not turn.acquire(blocking=not at_once):
            raise NotAtOnce
        try:
            return _replaced(boundary, place, _within(limit, change) if at_once else change, limit=limit, recording=recording)
        except FileTooLarge:
            if at_once:
                raise NotAtOnce from None
            raise
        finally:
            turn.release()

    plain = boundary.plain_place(path)
    if plain is not None:
        with suppress(LinkInTheWay):
            return attempt(plain)
    return through_no_link(attempt, boundary.resolve(path))


def replace_at(
    boundary: Boundary,
    place: BoundedPath,
    change: Change,
    *,
    limit: int,
    recording: Recording | None = None,
    mode: int | None = None,
) -> Replaced:
    """The same for a place, through no link. `mode` is the file's new one, if it is not to keep its own."""

    def attempt(place: BoundedPath) -> Replaced:
        with _turn(place):
            return _replaced(boundary, place, change, limit=limit, recording=recording, mode=mode)

    return through_no_link(attempt, place)


def remove_at(
    boundary: Boundary,
    place: BoundedPath,
    agree: Callable[[FileContent | None], None],
    *,
    limit: int,
    recording: Recording | None = None,
) -> None:
    """Remove the regular file at a place, through no link, unless `agree`, which is shown it, raises."""

    def attempt(place: BoundedPath) -> None:
        with _turn(place), Parent(boundary, place) as parent:
            before = parent.content(limit)
            agree(before)
            with _recorded(recording, place, before, None):
                folder = parent.made()
                require_untouched(folder, place, before)
                os.unlink(place.parts[-1], dir_fd=folder)
                synced(folder)

    through_no_link(attempt, place)


def remove_folder_at(boundary: Boundary, place: BoundedPath) -> None:
    """Remove a folder, through no link, if nothing is in it; otherwise OSError."""
    folder = boundary.open_place(place.folder, PATH_ONLY | os.O_DIRECTORY)
    try:
        os.rmdir(place.parts[-1], dir_fd=folder)
    finally:
        release(folder)


def _replaced(
    boundary: Boundary, place: BoundedPath, change: Change, *, limit: int, recording: Recording | None, mode: int | None = None
) -> Replaced:
    if not place.parts:
        raise NotRegularFile(place.path, "directory")
    with Parent(boundary, place) as parent:
        before = parent.content(limit)
        new = _new(change(before))
        with _recorded(recording, place, before, new.data):
            replacement = FileReplacement(parent, place, before=before, mode=mode, temporaries=boundary.temporaries)
            status, durable = replacement.put(new.data, lambda: _meanwhile(new))
        return Replaced(before, FileContent(place.path, new.data, status), durable)


def _meanwhile(new: NewContent) -> None:
    foresee(new.data)
    if new.meanwhile is not None:
        new.meanwhile()


def _turn(place: BoundedPath) -> threading.Lock:
    return _WRITERS[hash(place) % len(_WRITERS)]


def _within(limit: int, change: Change) -> Change:
    def bounded(before: FileContent | None) -> NewContent:
        new = _new(change(before))
        if len(new.data) > limit:
            raise NotAtOnce
        return new

    return bounded


def _new(new: bytes | NewContent) -> NewContent:
    return new if isinstance(new, NewContent) else NewContent(new)


def _recorded(
    recording: Recording | None, place: BoundedPath, before: FileContent | None, data: bytes | None
) -> AbstractContextManager[None]:
    return nullcontext() if recording is None else recording(place.path, before, data)
