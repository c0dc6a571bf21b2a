"""Where settings lie, and reading those files with care. What they say is for `schema`."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Container, Iterable, Iterator

from msgspec import Struct

from toolwright.base.placeholder_files import is_stand_in, stands_in
from toolwright.settings.values import Origin
from toolwright.types import OptionsError

MANAGED_FOLDERS = ("/etc/toolwright", "/etc/claude-code")
FOLDER_NAMES = (".toolwright", ".claude")
"""Of the two, ours comes first where both say something."""

SERVERS = ".mcp.json"
MAX_SIZE = 1024 * 1024
_LOOK = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


class SettingsLocations(Struct, frozen=True):
    """The folders of one session. `config` are the user's own, the first for writing and the trust store."""

    cwd: str
    config: tuple[str, ...]
    managed: tuple[str, ...] = MANAGED_FOLDERS

    def files(self, scopes: Container[str]) -> list[Origin]:
        """The files of these scopes that may be there, the highest first. Where there are none it costs one look per folder."""
        own = [f"{self.cwd}/{name}" for name in FOLDER_NAMES]
        there = present((*self.managed, *own, f"{self.cwd}/{SERVERS}", *self.config))
        return [origin for origin in self._all(there) if origin.scope in scopes] if there else []

    def _all(self, there: list[str]) -> Iterator[Origin]:
        # Rules are held against real paths, so what they are relative to is a real one as well.
        home = os.path.realpath(self.cwd)
        own = [folder for name in FOLDER_NAMES if (folder := f"{self.cwd}/{name}") in there]
        users = {folder: os.path.realpath(folder) for folder in self.config}
        yield from (
            Origin("managed", f"{folder}/managed-settings.json", base=folder) for folder in self.managed if folder in there
        )
        yield from (Origin("local", f"{folder}/settings.local.json", base=home) for folder in own)
        # In the home folder the project's settings would be the user's own: those are not somebody else's.
        projects = [folder for folder in own if os.path.realpath(folder) not in users.values()]
        yield from (Origin("project", f"{folder}/settings.json", base=home) for folder in projects)
        yield from (Origin("project", path, base=home) for path in there if path == f"{self.cwd}/{SERVERS}")
        yield from (
            Origin("user", f"{folder}/settings.json", base=users[folder]) for folder in self.config[::-1] if folder in there
        )


def present(paths: Iterable[str]) -> list[str]:
    """Those that are there. What only stands in for a name, while a sandboxed command runs, is not."""
    return [path for path in paths if os.path.lexists(path) and not stands_in(path)]


def read_text(path: str) -> str | None:
    """The text of a settings file, None if there is none. Raises `OptionsError`: one that cannot be read is never skipped."""
    try:
        descriptor = os.open(path, _LOOK)
    except OSError as error:
        if (error.errno in _ABSENT and not os.path.islink(path)) or stands_in(path):
            return None
        raise unreadable(path, error.strerror or str(error)) from None
    try:
        return None if is_stand_in(os.fstat(descriptor)) else _decoded(path, _content(path, descriptor))
    except OSError as error:
        raise unreadable(path, error.strerror or str(error)) from None
    finally:
        os.close(descriptor)


def _content(path: str, descriptor: int) -> bytes:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise unreadable(path, "it is not a regular file")
    parts = []
    left = MAX_SIZE + 1
    while left > 0 and (part := os.read(descriptor, left)):
        parts.append(part)
        left -= len(part)
    if left <= 0:
        raise unreadable(path, f"it is larger than {MAX_SIZE} bytes")
    return b"".join(parts)


def _decoded(path: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise unreadable(path, f"it is not UTF-8 (byte {error.start})") from None


def unreadable(path: str, why: str) -> OptionsError:
    return OptionsError(f"{path}: cannot read the settings: {why}. They may forbid something, so the session does not start.")
