"""Read and replace files below the boundary: regular files only, bounded, atomic and durable.

Everything here blocks; `workspace` decides whether that happens on the event loop or in a thread. It does not know what the
bytes mean.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from toolwright.workspace.beneath import DIRECTORY, LINK_ERRORS, PATH_ONLY, open_beneath
from toolwright.workspace.boundary import Boundary, Place
from toolwright.workspace.errors import FileChanged, FileTooLarge, NotRegularFile, PathNotAllowed

TEMPORARY_PREFIX = ".toolwright-"
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
        pieces: list[bytes] = []
        left = limit + 1
        while left > 0:
            wanted = min(left, max(self.status.st_size + 1, _CHUNK))
            piece = os.read(self.descriptor, wanted)
            pieces.append(piece)
            left -= len(piece)
            if not piece or (len(piece) < wanted and self.status.st_size):
                return pieces[0] if len(pieces) == 1 else b"".join(pieces)
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
    """What a write did. `durable` is False when the new content is in place but the folder could not be synced."""

    before: Content | None
    after: Content
    durable: bool


@contextmanager
def opened(boundary: Boundary, path: str) -> Iterator[OpenFile]:
    """The regular file at an absolute path."""
    descriptor, place = boundary.open(path, _READ)
    try:
        status = os.fstat(descriptor)
        _require_regular(status, place.path)
        yield OpenFile(descriptor, place.path, status)
    finally:
        os.close(descriptor)


def kind_of(mode: int) -> str:
    """What a file is, in words."""
    return next((kind for test, kind in _KINDS if test(mode)), "regular file")


def list_names(boundary: Boundary, path: str) -> list[str]:
    descriptor, _ = boundary.open(path, DIRECTORY)
    try:
        return os.listdir(descriptor)
    finally:
        os.close(descriptor)


def replace(boundary: Boundary, path: str, change: Callable[[Content | None], bytes], *, limit: int) -> Replaced:
    """Read the file (None if there is none), ask `change` for the new content and put it in place in one step.

    Nothing is written if `change` raises. A file that somebody else writes in between is `FileChanged`.
    """
    place = boundary.resolve(path)
    if not place.parts:
        raise NotRegularFile(place.path, "directory")
    with _WRITERS[hash(place) % len(_WRITERS)]:
        before = _current(boundary, place, limit)
        data = change(before)
        with _parent(boundary, place) as folder:
            status, durable = _put(folder, place, data, before)
        return Replaced(before, Content(place.path, data, status), durable)


def _require_regular(status: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularFile(path, kind_of(status.st_mode))


def _current(boundary: Boundary, place: Place, limit: int) -> Content | None:
    try:
        with opened(boundary, place.path) as file:
            return Content(file.path, file.read_all(limit), file.status)
    except FileNotFoundError:
        return None


@contextmanager
def _parent(boundary: Boundary, place: Place) -> Iterator[int]:
    """The folder that holds `place`, made if it is not there."""
    folder = _open_or_make(boundary, place)
    try:
        yield folder
    finally:
        os.close(folder)


def _open_or_make(boundary: Boundary, place: Place) -> int:
    parent = Place(place.root, place.parts[:-1])
    try:
        return boundary.open_place(parent, DIRECTORY)
    except FileNotFoundError:
        return _make_folders(parent)
    except OSError as error:
        if error.errno in LINK_ERRORS:
            raise PathNotAllowed(place.path) from None
        raise


def _make_folders(place: Place) -> int:
    folder = os.open(place.root, DIRECTORY)
    for name in place.parts:
        try:
            deeper = _enter_or_make(folder, name)
        except OSError as error:
            if error.errno in LINK_ERRORS:
                raise PathNotAllowed(place.path) from None
            raise
        finally:
            os.close(folder)
        folder = deeper
    return folder


def _enter_or_make(folder: int, name: str) -> int:
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)
    return open_beneath(folder, (name,), DIRECTORY)


def _put(folder: int, place: Place, data: bytes, before: Content | None) -> tuple[os.stat_result, bool]:
    name = place.parts[-1]
    temporary = f"{TEMPORARY_PREFIX}{os.urandom(8).hex()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    # A new file gets the mode the umask leaves; one that replaces another stays closed until it has that one's mode.
    descriptor = os.open(temporary, flags, 0o600 if before else 0o666, dir_fd=folder)
    try:
        try:
            _write_all(descriptor, data)
            if before is not None:
                _keep_attributes(folder, name, descriptor, before.status)
            os.fsync(descriptor)
            status = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        _require_untouched(folder, place, before)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    return status, _synced(folder)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _keep_attributes(folder: int, name: str, descriptor: int, status: os.stat_result) -> None:
    """Owner, extended attributes (ACLs are among them) and mode; what the system does not let us keep stays ours."""
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
        with suppress(OSError):
            os.fchown(descriptor, status.st_uid, status.st_gid)
    if hasattr(os, "listxattr"):
        _copy_extended_attributes(folder, name, descriptor)
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))


def _copy_extended_attributes(folder: int, name: str, descriptor: int) -> None:
    with suppress(OSError):
        source = open_beneath(folder, (name,), _READ)
        try:
            for attribute in os.listxattr(source):
                with suppress(OSError):
                    os.setxattr(descriptor, attribute, os.getxattr(source, attribute))
        finally:
            os.close(source)


def _require_untouched(folder: int, place: Place, before: Content | None) -> None:
    """The last look before the rename: the file is still the one that was read."""
    try:
        now = os.stat(place.parts[-1], dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        if before is None:
            return
        raise FileChanged(f"{place.path} was removed while it was being written. Nothing was changed.") from None
    if before is None or _version(now) != _version(before.status):
        raise FileChanged(f"{place.path} was changed by someone else at the same moment. Nothing was changed; read it again.")


def _version(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _synced(folder: int) -> bool:
    try:
        os.fsync(folder)
    except OSError:
        return False
    return True


def create_private(folder: str, name: str) -> int:
    """A new file of ours that nobody else can read, in a folder that is already ours alone."""
    root = os.open(folder, PATH_ONLY | os.O_DIRECTORY)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(name, flags, 0o600, dir_fd=root)
    finally:
        os.close(root)
