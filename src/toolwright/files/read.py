"""Read files below the boundary, regular ones only and bounded; and the folders that hold them, made if need be.

Everything here blocks; `workspace` decides whether that happens on the event loop or in a thread. It does not know what the
bytes mean.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from msgspec import Struct

from toolwright.base.open_beneath import DIRECTORY, LINK_ERRORS, PATH_ONLY, open_beneath, release
from toolwright.base.placeholder_files import displace, stands_in
from toolwright.base.workspace_errors import FileTooLarge, NotRegularFile, PathNotAllowed
from toolwright.files.boundary import Boundary, BoundedPath

T = TypeVar("T")

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # a FIFO without a writer must not stop us
_CHUNK = 1 << 20
_KINDS = (
    (stat.S_ISDIR, "directory"),
    (stat.S_ISFIFO, "FIFO (named pipe)"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "character device"),
    (stat.S_ISBLK, "block device"),
    (stat.S_ISLNK, "symbolic link"),
)


class OpenFile(Struct, frozen=True):
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


class FileContent(Struct, frozen=True):
    """A file as it was when it was read whole."""

    path: str
    data: bytes
    status: os.stat_result


@contextmanager
def opened(boundary: Boundary, path: str) -> Iterator[OpenFile]:
    """The regular file at an absolute path. What stands in for a missing one is no file at all."""
    try:
        descriptor, place = boundary.open(path, _READ)
    except OSError as error:
        if stands_in(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from error
        raise
    try:
        yield _regular(descriptor, place.path)
    finally:
        release(descriptor)


def _regular(descriptor: int, path: str) -> OpenFile:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularFile(path, kind_of(status.st_mode))
    return OpenFile(descriptor, path, status)


def kind_of(mode: int) -> str:
    """What a file is, in words."""
    return next((kind for test, kind in _KINDS if test(mode)), "regular file")


def list_names(boundary: Boundary, path: str) -> list[str]:
    descriptor, _ = boundary.open(path, DIRECTORY)
    try:
        return os.listdir(descriptor)
    finally:
        release(descriptor)


def current(boundary: Boundary, place: BoundedPath, limit: int) -> FileContent | None:
    """The file at a place as it is now; None if there is none."""

    def look(place: BoundedPath) -> FileContent | None:
        with Parent(boundary, place) as parent:
            return parent.content(limit)

    return through_no_link(look, place)


class LinkInTheWay(Exception):
    """A name on the way is a link."""


def through_no_link(attempt: Callable[[BoundedPath], T], place: BoundedPath) -> T:
    """A link where there was none a moment ago leads who knows where: that is refused."""
    try:
        return attempt(place)
    except LinkInTheWay:
        raise PathNotAllowed(place.path) from None


class Parent:
    """The folder that holds a place. It is opened once, so what is read and what is written lie in the same one."""

    def __init__(self, boundary: Boundary, place: BoundedPath) -> None:
        self._place = place
        self._above = place.folder
        self._folder: int | None = None
        self.file = -1
        """What `content` has read, open until it is let go; no descriptor before and after."""
        try:
            self._folder = boundary.open_place(self._above, DIRECTORY)
        except FileNotFoundError:
            pass
        except OSError as error:
            if not stands_in(self._above.path):
                raise _link_or(error) from None

    def __enter__(self) -> Parent:
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go()
        if self._folder is not None:
            release(self._folder)

    def content(self, limit: int) -> FileContent | None:
        """The file; None if there is none."""
        if self._folder is None:
            return None
        try:
            self.file = os.open(self._place.parts[-1], _READ | os.O_NOFOLLOW, dir_fd=self._folder)
        except FileNotFoundError:
            return None
        except OSError as error:
            if stands_in(self._place.parts[-1], folder=self._folder):
                return None
            error.filename = self._place.path
            raise _link_or(error) from None
        file = _regular(self.file, self._place.path)
        return FileContent(file.path, file.read_all(limit), file.status)

    def let_go(self) -> None:
        """Close the file: one that is open is not given back to the disk when it is removed."""
        if self.file >= 0:
            release(self.file)
            self.file = -1

    def made(self) -> int:
        """The folder, made if it is not there."""
        if self._folder is None:
            self._folder = _make_folders(self._above)
        return self._folder


def _link_or(error: OSError) -> Exception:
    return LinkInTheWay() if error.errno in LINK_ERRORS else error


def _make_folders(place: BoundedPath) -> int:
    folder = os.open(place.root, DIRECTORY)
    for name in place.parts:
        try:
            deeper = _enter_or_make(folder, name)
        except OSError as error:
            raise _link_or(error) from None
        finally:
            release(folder)
        folder = deeper
    return folder


def _enter_or_make(folder: int, name: str) -> int:
    displace(name, folder=folder)
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
