"""Where settings lie, and reading those files with care. What they say is for `schema`."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from toolwright.settings.values import Origin, Scope
from toolwright.types import OptionsError

MANAGED_FOLDERS = ("/etc/toolwright", "/etc/claude-code")
FOLDER_NAMES = (".toolwright", ".claude")
"""Of the two, ours comes first where both say something."""

LARGEST = 1024 * 1024
_LOOK = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """The folders of one session. `config` are the user's own, the first for writing and the trust store."""

    cwd: str
    config: tuple[str, ...]
    managed: tuple[str, ...] = MANAGED_FOLDERS

    def files(self, scope: Scope) -> Iterator[Origin]:
        """The settings files of a scope that may be there, the highest first."""
        match scope:
            case "managed":
                yield from (
                    Origin(scope, os.path.join(folder, "managed-settings.json"), base=folder) for folder in self.managed
                )
            case "user":
                yield from (
                    Origin(scope, os.path.join(folder, "settings.json"), base=folder) for folder in reversed(self.config)
                )
            case "project" | "local":
                name = "settings.json" if scope == "project" else "settings.local.json"
                for folder in self.settings_folders():
                    yield Origin(scope, os.path.join(folder, name), base=self.cwd)

    def settings_folders(self) -> list[str]:
        """The folders of the session's own folder that hold settings, as far as they are there."""
        return [path for name in FOLDER_NAMES if _there(path := os.path.join(self.cwd, name))]

    def servers(self) -> Origin:
        return Origin("project", os.path.join(self.cwd, ".mcp.json"), base=self.cwd)


def _there(path: str) -> bool:
    return os.path.lexists(path)


def read_text(path: str) -> str | None:
    """The text of a settings file, None if there is none. Raises `OptionsError`: one that cannot be read is never skipped."""
    try:
        descriptor = os.open(path, _LOOK)
    except OSError as error:
        if error.errno in _ABSENT and not os.path.islink(path):
            return None
        raise unreadable(path, error.strerror or str(error)) from None
    try:
        return _decoded(path, _content(path, descriptor))
    except OSError as error:
        raise unreadable(path, error.strerror or str(error)) from None
    finally:
        os.close(descriptor)


def _content(path: str, descriptor: int) -> bytes:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise unreadable(path, "it is not a regular file")
    parts = []
    left = LARGEST + 1
    while left > 0 and (part := os.read(descriptor, left)):
        parts.append(part)
        left -= len(part)
    if left <= 0:
        raise unreadable(path, f"it is larger than {LARGEST} bytes")
    return b"".join(parts)


def _decoded(path: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise unreadable(path, f"it is not UTF-8 (byte {error.start})") from None


def unreadable(path: str, why: str) -> OptionsError:
    return OptionsError(f"{path}: cannot read the settings: {why}. They may forbid something, so the session does not start.")
