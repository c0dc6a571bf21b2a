"""Look into folders below the boundary: names, kinds and sizes, without following links. Everything here blocks."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from toolwright.base.open_beneath import DIRECTORY, open_beneath
from toolwright.files.boundary import Boundary
from toolwright.files.read import kind_of


class FolderEntry(Struct, frozen=True):
    """What a name in a folder stands for. `target` is where a link points, as it is written in the link."""

    name: str
    kind: str
    size: int
    target: str | None = None


class OpenFolder(Struct, frozen=True):
    """A folder, open for reading. `path` is where it really is."""

    descriptor: int
    path: str

    def names(self) -> Iterator[tuple[str, bool]]:
        """Each name (bytes that are no UTF-8 as surrogates) and whether it is a folder, in no particular order."""
        with os.scandir(self.descriptor) as entries:
            for entry in entries:
                yield entry.name, entry.is_dir(follow_symlinks=False)

    def entry(self, name: str) -> FolderEntry:
        """What `name` is now. Raises OSError, for instance when it is gone."""
        status = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        target = os.readlink(name, dir_fd=self.descriptor) if stat.S_ISLNK(status.st_mode) else None
        return FolderEntry(name, kind_of(status.st_mode), status.st_size, target)

    @contextmanager
    def inside(self, name: str) -> Iterator[OpenFolder]:
        """The folder `name` in this one; a link is not followed."""
        descriptor = open_beneath(self.descriptor, (name,), DIRECTORY)
        try:
            yield OpenFolder(descriptor, os.path.join(self.path, name))
        finally:
            os.close(descriptor)


@contextmanager
def opened_folder(boundary: Boundary, path: str) -> Iterator[OpenFolder]:
    """The folder at an absolute path. What is no folder raises NotADirectoryError."""
    descriptor, place = boundary.open(path, DIRECTORY)
    try:
        yield OpenFolder(descriptor, place.path)
    finally:
        os.close(descriptor)
