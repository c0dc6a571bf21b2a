"""A session's own folder for what is too long to show: made when first needed, readable by nobody else, removed at the end."""

from __future__ import annotations

import os

from toolwright.workspace.files import create_private


class Scratch:
    """The folder below `state_dir`; `path` is None as long as nothing was put into it."""

    __slots__ = ("_count", "_state_dir", "path")

    def __init__(self, state_dir: str) -> None:
        self._state_dir = state_dir
        self._count = 0
        self.path: str | None = None

    def create_file(self, kind: str) -> tuple[int, str]:
        """A new, private file, open for writing, and its path."""
        folder = self.path or self._make()
        self._count += 1
        name = f"{kind}-{self._count}.txt"
        return create_private(folder, name), os.path.join(folder, name)

    def remove(self) -> None:
        if self.path is not None:
            import shutil  # only sessions that used the folder pay for it

            shutil.rmtree(self.path, ignore_errors=True)
            self.path = None

    def _make(self) -> str:
        os.makedirs(self._state_dir, mode=0o700, exist_ok=True)
        path = os.path.join(os.path.realpath(self._state_dir), f"scratch-{os.urandom(8).hex()}")
        os.mkdir(path, 0o700)  # fails on anything that is already there
        os.chmod(path, 0o700)  # whatever the umask took away
        self.path = path
        return path
