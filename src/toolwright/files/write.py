"""Replace and remove files below the boundary, one step each: atomic, durable, and never what nobody has looked at.

Writers of this process take turns. Everything here blocks; `workspace` runs it in a thread. It does not know what the bytes
mean.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress

from msgspec import Struct

from toolwright.base.open_beneath import PATH_ONLY, release
from toolwright.base.workspace_errors import NotRegularFile
from toolwright.files.atomic_write import FileReplacement, require_untouched, synced
from toolwright.files.boundary import Boundary, BoundedPath
from toolwright.files.read import FileContent, LinkInTheWay, Parent, through_no_link

# Two writers take turns on a path; 64 locks are enough to rarely wait for a stranger.
_WRITERS = tuple(threading.Lock() for _ in range(64))


Change = Callable[[FileContent | None], bytes]
"""What is there (None: no file) → what shall be."""


class Replaced(Struct, frozen=True):
    """What a write did. `durable` is False when the new content is in place but the disk could not confirm that it stays."""

    before: FileContent | None
    after: FileContent
    durable: bool


Recording = Callable[[str, FileContent | None, bytes | None], AbstractContextManager[None]]
"""Called with the real path, what is there and what will be (None: no file) and entered around the change itself. If it raises,
nothing is changed; if the change fails, it hears the exception."""


def replace(boundary: Boundary, path: str, change: Change, *, limit: int, recording: Recording | None = None) -> Replaced:
    """Read the file, ask `change` for the new content and put it in place in one step.

    Nothing is written if `change` raises. A file that somebody else writes in between is `FileChanged`.
    """

    def attempt(place: BoundedPath) -> Replaced:
        with _turn(place):
            return _replaced(boundary, place, change, limit=limit, recording=recording)

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
        data = change(before)
        with _recorded(recording, place, before, data):
            replacement = FileReplacement(parent, place, before=before, mode=mode, temporaries=boundary.temporaries)
            status, durable = replacement.put(data)
        return Replaced(before, FileContent(place.path, data, status), durable)


def _turn(place: BoundedPath) -> threading.Lock:
    return _WRITERS[hash(place) % len(_WRITERS)]


def _recorded(
    recording: Recording | None, place: BoundedPath, before: FileContent | None, data: bytes | None
) -> AbstractContextManager[None]:
    return nullcontext() if recording is None else recording(place.path, before, data)
