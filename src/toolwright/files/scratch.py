"""A session's own folder for what is too long to show: made when first needed, readable by nobody else, removed at the end."""

from __future__ import annotations

import os

from toolwright.files.read import create_private
from toolwright.processes.temp_files import TemporaryFolder


class Scratch:
    """A folder among the temporaries; `path` is None as long as nothing was put into it."""

    __slots__ = ("_count", "_temporaries", "path")

    def __init__(self, temporaries: TemporaryFolder) -> None:
        self._temporaries = temporaries
        self._count = 0
        self.path: str | None = None

    def create_file(self, kind: str, ending: str = ".txt") -> tuple[int, str]:
        """A new, private file, open for writing, and its path."""
        self.path = folder = self.path or self._temporaries.make_scratch()
        self._count += 1
        name = f"{kind}-{self._count}{ending}"
        return create_private(folder, name), os.path.join(folder, name)

    def make_folder(self, name: str) -> str:
        """The private folder of this name, made when it is first asked for."""
        self.path = scratch = self.path or self._temporaries.make_scratch()
        path = os.path.join(scratch, name)
        if not os.path.isdir(path):
            os.mkdir(path, 0o700)
        return path

    def remove(self) -> None:
        if self.path is not None:
            import shutil  # only sessions that used the folder pay for it

            shutil.rmtree(self.path, ignore_errors=True)
            self.path = None
