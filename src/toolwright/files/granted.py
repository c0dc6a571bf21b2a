"""Opens the paths that somebody said yes to, wherever they lie, and no others.

A yes is about the path where the call really leads. It is opened without following a link, so whoever swaps a folder or a file
for a link after the question reaches nothing. It does not know who said yes; `permissions` and the gate do.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from toolwright.base.open_beneath import PATH_ONLY, release
from toolwright.base.workspace_errors import NotRegularFile, PathNotAllowed, PathNotGranted
from toolwright.files.boundary import Boundary, BoundedPath
from toolwright.files.read import kind_of
from toolwright.processes.temp_files import TemporaryFolder


class GrantedPaths(Boundary):
    """The boundary of one call: exactly `paths`, which hold no link. What lies below a folder is reached by its descriptor."""

    __slots__ = ("_paths",)

    def __init__(self, paths: Iterable[str], temporaries: TemporaryFolder | None = None) -> None:
        super().__init__(("/",), temporaries)
        self._paths = frozenset(paths)

    def plain_place(self, path: str) -> BoundedPath | None:
        """None: where a path outside leads is always looked up again."""
        return None

    def refusal(self, path: str) -> PathNotAllowed:
        return PathNotGranted(path, sorted(self._paths))

    def _follow(self, path: str) -> BoundedPath:
        place = super()._follow(path)
        if place.path not in self._paths:
            raise self.refusal(path)
        self._require_ordinary(place)
        return place

    def _require_ordinary(self, place: BoundedPath) -> None:
        """Refuse devices, FIFOs and sockets before they are opened: merely opening a device can do something."""
        if not place.parts:
            return
        try:
            folder = self.open_place(place.folder, PATH_ONLY | os.O_DIRECTORY)
        except (FileNotFoundError, NotADirectoryError):
            return
        try:
            mode = os.stat(place.parts[-1], dir_fd=folder, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return
        finally:
            release(folder)
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):  # a link is refused when it is opened
            raise NotRegularFile(place.path, kind_of(mode))
