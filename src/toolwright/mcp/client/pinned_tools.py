"""What people's tools were when they last ran, kept from session to session: a private file beside the user's settings.

Only for servers that settings files name: whoever allowed their tools is asked again when a server has changed what a tool
is, even if it did so between two sessions. A server whose configuration changes is another one. Holds digests, nothing else.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from toolwright.mcp.client.configs import ServerConfig

if TYPE_CHECKING:
    from toolwright.mcp.tool_server import ServedTool

NAME = "mcp-approvals.json"
_MAX_SIZE = 16 * 1024 * 1024


class Approvals:
    """The tools of one server. A file that is broken or cannot be written keeps nothing, and nothing fails by that."""

    __slots__ = ("_folder", "_key", "_known")

    def __init__(self, folder: str, config: ServerConfig) -> None:
        self._folder = folder
        started = [config.command, list(config.args), sorted(config.env.items()), config.cwd]
        self._key = digest([config.name, config.kind, *started, config.url, sorted(config.headers)])
        self._known: dict[str, str] | None = None

    def of(self, name: str) -> str | None:
        """The digest of the tool as it was when it last ran."""
        if self._known is None:
            self._known = _tools(self._read().get(self._key))
        return self._known.get(name)

    def keep(self, name: str, mark: str) -> None:
        if self.of(name) == mark or self._known is None:
            return
        self._known[name] = mark
        from toolwright.base.locked_folder import locked_folder  # only when something new is allowed

        with suppress(OSError), locked_folder(self._folder, private=True) as folder:
            whole = self._read()
            whole[self._key] = _tools(whole.get(self._key)) | {name: mark}
            folder.replace(NAME, json.dumps(whole, indent=1).encode(), mode=0o600)

    def _read(self) -> dict[str, Any]:
        try:
            path = os.path.join(self._folder, NAME)
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
                read = json.loads(file.read(_MAX_SIZE))
        except (OSError, ValueError):
            return {}
        return read if isinstance(read, dict) else {}


def digest_of(tool: ServedTool) -> str:
    return digest([tool.name, tool.description, tool.input_schema, tool.annotations])


def digest(value: Any) -> str:
    from hashlib import sha256

    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _tools(value: Any) -> dict[str, str]:
    return {str(name): str(mark) for name, mark in value.items()} if isinstance(value, dict) else {}
