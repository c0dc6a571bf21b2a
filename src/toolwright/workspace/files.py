"""Read and replace files below the boundary: regular files only, bounded, atomic and durable.

Everything here blocks; `workspace` decides whether that happens on the event loop or in a thread. It does not know what the
bytes mean.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass

from toolwright.workspace.beneath import DIRECTORY, LINK_ERRORS, PATH_ONLY, open_beneath, release
from toolwright.workspace.boundary import Boundary, Place
from toolwright.workspace.errors import FileTooLarge, NotRegularFile, PathNotAllowed
from toolwright.workspace.replacing import Replacement, require_untouched, synced

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY  # a FIFO without a writer must not stop us
_CHUNK = 1 << 20
_KINDS = (
    (stat.S_ISDIR, "directory"),
    (stat.S_ISFIFO, "FIFO (named pipe)"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "character device"),
    (stat.S_ISBLK, "block device"),
    (stat.S_ISLNK, "symbolic link"),
)
# Two writers of one process take turns on a path; 64 locks are enough to rarely wait for a stranger.
_WRITERS = tuple(threading.Lock() for _ in range(64))


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A regular file, open for reading. `path` is where it really is."""

    descriptor: int
    path: str
    status: os.stat_result

    def read_all(self, limit: int) -> bytes:
        """The whole content. A file that turns out to hold more than `limit` bytes is `FileTooLarge`, whatever it claimed."""
        claimed = self.status.st_size
        pieces: list[bytes] = []
        left = limit + 1 if claimed <= limit else 0
        wanted = claimed + 1 if claimed else _CHUNK  # one more than it claims, so that its end shows in the same call
        while left > 0:
            wanted = min(left, wanted)
            piece = os.read(self.descriptor, wanted)
            pieces.append(piece)
            left -= len(piece)
            if not piece or (claimed and len(piece) < wanted):
                return pieces[0] if len(pieces) == 1 else b"".join(pieces)
            wanted = _CHUNK
        raise FileTooLarge(f"{self.path} holds more than {limit:,} bytes.")

    def chunks(self) -> Iterator[bytes]:
        while piece := os.read(self.descriptor, _CHUNK):
            yield piece


@dataclass(frozen=True, slots=True)
class Content:
    """A file as it was when it was read whole."""

    path: str
    data: bytes
    status: os.stat_result


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a write did. `durable` is False when the new content is in place but the disk could not confirm that it stays."""

    before: Content | None
    after: Content
    durable: bool


Recording = Callable[[str, Content | None, bytes | None], AbstractContextManager[None]]
"""Called with the real path, what is there and what will be (None: no file) and entered around the change itself. If it raises,
nothing is changed; if the change fails, it hears the exception."""


@contextmanager
def opened(boundary: Boundary, path: str) -> Iterator[OpenFile]:
    """The regular file at an absolute path."""
    descriptor, place = boundary.open(path, _READ)
    with _regular(descriptor, place) as file:
        yield file


@contextmanager
def _regular(descriptor: int, place: Place) -> Iterator[OpenFile]:
    try:
        status = os.fstat(descriptor)
        _require_regular(status, place.path)
        yield OpenFile(descriptor, place.path, status)
    finally:
        release(descriptor)


def kind_of(mode: int) -> str:
    """What a file is, in words."""
    return next((kind for test, kind in _KINDS if test(mode)), "regular file")


def list_names(boundary: Boundary, path: str) -> list[str]:
    descriptor, _ = boundary.open(path, DIRECTORY)
    try:
        return os.listdir(descriptor)
    finally:
        release(descriptor)


def replace(
    boundary: Boundary, path: str, change: Callable[[Content | None], bytes], *, limit: int, recording: Recording | None = None
) -> Replaced:
    """Read the file (None if there is none), ask `change` for the new content and put it in place in one step.

    Nothing is written if `change` raises. A file that somebody else writes in between is `FileChanged`.
    """
    return replace_at(boundary, boundary.locate(path), change, limit=limit, recording=recording)


def replace_at(
    boundary: Boundary,
    place: Place,
    change: Callable[[Content | None], bytes],
    *,
    limit: int,
    recording: Recording | None = None,
    mode: int | None = None,
) -> Replaced:
    """The same for a place, through no link. `mode` is the file's new one, if it is not to keep its own."""
    if not place.parts:
        raise NotRegularFile(place.path, "directory")
    with _WRITERS[hash(place) % len(_WRITERS)]:
        before = current(boundary, place, limit)
        data = change(before)
        with _recorded(recording, place, before, data), _parent(boundary, place) as folder:
            replacement = Replacement(folder, place, before=before, mode=mode, temporaries=boundary.temporaries)
            status, durable = replacement.put(data)
        return Replaced(before, Content(place.path, data, status), durable)


def remove_at(
    boundary: Boundary,
    place: Place,
    agree: Callable[[Content | None], None],
    *,
    limit: int,
    recording: Recording | None = None,
) -> None:
    """Remove the regular file at a place, through no link, unless `agree`, which is shown it, raises."""
    with _WRITERS[hash(place) % len(_WRITERS)]:
        before = current(boundary, place, limit)
        agree(before)
        with _recorded(recording, place, before, None), _parent(boundary, place) as folder:
            require_untouched(folder, place, before)
            os.unlink(place.parts[-1], dir_fd=folder)
            synced(folder)


def remove_folder_at(boundary: Boundary, place: Place) -> None:
    """Remove a folder, through no link, if nothing is in it; otherwise OSError."""
    folder = boundary.open_place(Place(place.root, place.parts[:-1]), PATH_ONLY | os.O_DIRECTORY)
    try:
        os.rmdir(place.parts[-1], dir_fd=folder)
    finally:
        release(folder)


def _recorded(
    recording: Recording | None, place: Place, before: Content | None, data: bytes | None
) -> AbstractContextManager[None]:
    return nullcontext() if recording is None else recording(place.path, before, data)


def _require_regular(status: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularFile(path, kind_of(status.st_mode))


def current(boundary: Boundary, place: Place, limit: int) -> Content | None:
    """The file at a place as it is now; None if there is none."""
    try:
        descriptor = boundary.open_place(place, _READ)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _without_links(error, place) from None
    with _regular(descriptor, place) as file:
        return Content(file.path, file.read_all(limit), file.status)


@contextmanager
def _parent(boundary: Boundary, place: Place) -> Iterator[int]:
    """The folder that holds `place`, made if it is not there."""
    folder = _open_or_make(boundary, place)
    try:
        yield folder
    finally:
        release(folder)


def _open_or_make(boundary: Boundary, place: Place) -> int:
    parent = Place(place.root, place.parts[:-1])
    try:
        return boundary.open_place(parent, DIRECTORY)
    except FileNotFoundError:
        return _make_folders(parent)
    except OSError as error:
        raise _without_links(error, place) from None


def _without_links(error: OSError, place: Place) -> Exception:
    """A link where there was none a moment ago leads who knows where."""
    return PathNotAllowed(place.path) if error.errno in LINK_ERRORS else error


def _make_folders(place: Place) -> int:
    folder = os.open(place.root, DIRECTORY)
    for name in place.parts:
        try:
            deeper = _enter_or_make(folder, name)
        except OSError as error:
            raise _without_links(error, place) from None
        finally:
            release(folder)
        folder = deeper
    return folder


def _enter_or_make(folder: int, name: str) -> int:
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)
        os.fsync(folder)  # a file cannot be durable in a folder that is not
    return open_beneath(folder, (name,), DIRECTORY)


def create_private(folder: str, name: str) -> int:
    """A new file of ours that nobody else can read, in a folder that is already ours alone."""
    root = os.open(folder, PATH_ONLY | os.O_DIRECTORY)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, 0o600, dir_fd=root)
    finally:
        release(root)
