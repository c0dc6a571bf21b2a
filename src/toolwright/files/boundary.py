"""Which folders a session may touch, and where a path really leads.

A path is resolved by standing in an allowed root and opening downwards without following links. Where a link is in the way we
read it ourselves, work out where it points, and start again from the root it leads into: links inside the boundary work, links
out of it do not, and every final open is one the kernel itself keeps beneath the root. There is no check-then-open.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from toolwright.base.open_beneath import LINK_ERRORS, PATH_ONLY, open_beneath, open_unlinked, release
from toolwright.base.workspace_errors import BadPath, PathNotAllowed
from toolwright.processes.temp_files import TemporaryFolder

Parts = tuple[str, ...]

_MAX_LINKS = 40
_MAX_RACES = 8
_MAX_PATH_LENGTH = 4095
_MAX_NAME_LENGTH = 255
_LONG_WAY = LINK_ERRORS | {errno.ENAMETOOLONG}
"""Why a place that cannot be opened in one step may still be opened from its root."""
_NEVER = ("proc",)
"""Folders of / that stay closed even to a session whose root is /: they show other processes, their secrets and open files."""


class BoundedPath(Struct, frozen=True):
    """A location inside the boundary: a root, and the names below it, none of which was a link."""

    root: str
    parts: Parts
    path: str

    @property
    def folder(self) -> BoundedPath:
        """The place that holds this one, which must not be a root."""
        return BoundedPath(self.root, self.parts[:-1], self.path[: -len(self.parts[-1]) - 1] or "/")


def checked_path(path: str) -> str:
    """`path`, if text like this can name a file at all; otherwise `BadPath`. Asks nothing of the operating system."""
    if path.isascii() and "\0" not in path and len(path) <= _MAX_NAME_LENGTH and path.strip():
        return path
    problem = _path_problem(path)
    if problem:
        raise BadPath(f"{path[:200]!r} cannot be a path: {problem}.")
    return path


def _path_problem(path: str) -> str | None:
    if not path.strip():
        return "it is empty"
    if "\0" in path:
        return "it holds a NUL character"
    try:
        encoded = path.encode()
    except UnicodeEncodeError:
        return "it holds half of a surrogate pair, which no file name can"
    if len(encoded) > _MAX_PATH_LENGTH:
        return f"it is {len(encoded)} bytes long, over the limit of {_MAX_PATH_LENGTH}"
    if max(map(len, encoded.split(b"/"))) > _MAX_NAME_LENGTH:
        return f"one of its names is longer than {_MAX_NAME_LENGTH} bytes"
    return None


@lru_cache(maxsize=64)
def split_path(path: str) -> Parts:
    """The names of a path; empty ones and `.` mean nothing, `..` is kept. A call asks for those of its path several times."""
    return tuple([name for name in path.split("/") if name and name != "."])  # a list, as a generator takes half as long again


class Boundary:
    """The allowed roots. Immutable: a session that gains a folder gets a new one."""

    __slots__ = ("_roots", "_spellings", "roots", "temporaries")

    def __init__(self, directories: Sequence[str], temporaries: TemporaryFolder | None = None) -> None:
        self.temporaries = temporaries
        """Where those who change files inside note what they have not finished."""
        real = {split_path(os.path.realpath(directory)) for directory in directories}
        # A root inside another one adds nothing, and could be swapped for a link by whoever writes in the outer one.
        self._roots = tuple(sorted(root for root in real if not any(root[: len(r)] == r for r in real if r != root)))
        self.roots: tuple[str, ...] = tuple(_join(root) for root in self._roots)
        """The real paths of the roots."""
        spelled = {split_path(os.path.abspath(directory)): split_path(os.path.realpath(directory)) for directory in directories}
        self._spellings = {given: root for given, root in spelled.items() if given != root}

    def contains(self, path: str) -> bool:
        """Whether a path without links lies inside, by its names alone."""
        return self._place(split_path(path)) is not None and ".." not in split_path(path)

    def open(self, path: str, flags: int, mode: int = 0) -> tuple[int, BoundedPath]:
        """Open an absolute path. Raises `PathNotAllowed`, `BadPath` or OSError."""
        place = self.plain_place(path)
        for _ in range(_MAX_RACES):
            try:
                place = place or self._follow(path)
                return self.open_place(place, flags, mode), place
            except OSError as error:
                if error.errno not in LINK_ERRORS:
                    raise
            place = None  # somebody put a link there between two steps: look again
        raise self.refusal(path)

    def open_place(self, place: BoundedPath, flags: int, mode: int = 0) -> int:
        try:
            return open_unlinked(place.path, flags, mode)  # half the price, as long as nothing above the root is a link either
        except OSError as error:
            if error.errno not in _LONG_WAY:
                raise
        root = os.open(place.root, PATH_ONLY | os.O_DIRECTORY)
        try:
            return open_beneath(root, place.parts, flags, mode)
        finally:
            release(root)

    def resolve(self, path: str) -> BoundedPath:
        """Where an absolute path leads, links followed; its last names need not exist yet."""
        for _ in range(_MAX_RACES):
            try:
                return self._follow(path)
            except OSError as error:
                if error.errno not in LINK_ERRORS:
                    raise
        raise self.refusal(path)

    def refusal(self, path: str) -> PathNotAllowed:
        """The error for a path that must not be opened."""
        return PathNotAllowed(path, self.roots)

    def _follow(self, path: str) -> BoundedPath:
        pending = list(reversed(split_path(checked_path(path))))
        here: Parts = ()
        links = 0
        while pending:
            name = pending.pop()
            if name == "..":
                here = here[:-1]
                continue
            here = self._spellings.get((*here, name), (*here, name))
            if here[:1] == _NEVER:
                raise self.refusal(path)  # its links lead elsewhere than they read
            try:
                target = self._link_target(here)
            except FileNotFoundError:
                if ".." in pending:
                    raise self.refusal(path) from None
                here += tuple(reversed(pending))
                break
            if target is None:
                continue
            links += 1
            if links > _MAX_LINKS:
                raise BadPath(f"{path} cannot be opened: it goes through more than {_MAX_LINKS} links.")
            here = () if target.startswith("/") else here[:-1]
            pending.extend(reversed(split_path(target)))
        place = self._place(here)
        if place is None:
            raise self.refusal(path)
        return place

    def locate(self, path: str) -> BoundedPath:
        """Like `resolve`, with one system call for the common path that has no link in it."""
        place = self.plain_place(path)
        if place is not None:
            try:
                release(self.open_place(place, PATH_ONLY))
            except OSError:
                place = None
        return place or self.resolve(path)

    def plain_place(self, path: str) -> BoundedPath | None:
        """The place a path names if none of its names is a link; None if that takes more than looking at it."""
        parts = split_path(checked_path(path))
        if self._spellings:
            parts = self._unspelled(parts)
        return None if ".." in parts else self._place(parts)

    def _unspelled(self, parts: Parts) -> Parts:
        for length in range(len(parts), 0, -1):
            root = self._spellings.get(parts[:length])
            if root is not None:
                return root + parts[length:]
        return parts

    def _place(self, parts: Parts) -> BoundedPath | None:
        if parts[:1] == _NEVER:
            return None
        for number, root in enumerate(self._roots):
            if parts[: len(root)] == root:
                return BoundedPath(self.roots[number], parts[len(root) :], _join(parts))
        return None

    def _link_target(self, parts: Parts) -> str | None:
        """Where the link at `parts` points; None if it is no link, or lies outside, where we do not look."""
        place = self._place(parts)
        if place is None or not place.parts:
            return None
        folder = self.open_place(place.folder, PATH_ONLY | os.O_DIRECTORY)
        try:
            return os.readlink(place.parts[-1], dir_fd=folder)
        except OSError as error:
            if error.errno == errno.EINVAL:
                return None
            raise
        finally:
            release(folder)


def _join(parts: Parts) -> str:
    return "/" + "/".join(parts)
