"""Tool servers in settings files, for people who add and remove them: `.mcp.json` for a project, `mcpServers` elsewhere.

Files are replaced in one step, other writers wait, and a folder that was trusted, or said nothing, is trusted after the change.
Knows where servers are written; what an entry means is checked elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

from toolwright.base import jsonc_edits
from toolwright.base.jsonc import NotJson
from toolwright.base.locked_folder import LockedFolder, locked_folder
from toolwright.settings.locations import SERVERS, SettingsLocations, read_text
from toolwright.settings.schema import parse_servers
from toolwright.settings.together import together
from toolwright.settings.trust import TrustStore, fingerprint, folder_files
from toolwright.settings.values import Origin, ServerEntry
from toolwright.settings.writing import NEW, Target, target_of
from toolwright.types import OptionsError

WritableScope = Literal["local", "project", "user"]
WRITABLE: tuple[WritableScope, ...] = ("local", "project", "user")
_ALL = frozenset({"managed", "local", "project", "user"})


def written_servers(where: SettingsLocations) -> tuple[ServerEntry, ...]:
    """All servers that files name, whether the folder is trusted or not; of two with one name the one that counts."""
    files = [(origin, text) for origin in where.files(_ALL) if (text := read_text(origin.path)) is not None]
    return together(files, trusted=True).mcp_servers


def servers_in(scope: WritableScope, where: SettingsLocations) -> tuple[ServerEntry, ...]:
    """The servers that the file of this scope names."""
    target = file_of(scope, where)
    text = read_text(target.path)
    return () if not text or not text.strip() else parse_servers(text, Origin(scope, target.path))


def put_server(scope: WritableScope, name: str, entry: Mapping[str, Any] | None, where: SettingsLocations) -> str:
    """Write a server (or, with None, take it out); the path of the file. Raises `OptionsError`."""
    target = file_of(scope, where)

    def change(servers: dict[str, Any]) -> dict[str, Any]:
        rest = {other: value for other, value in servers.items() if other != name}
        return rest if entry is None else {**rest, name: dict(entry)}

    if scope == "user":
        _change(target, change)
        return target.path
    before, store = folder_files(where), TrustStore(where.config[0])
    _change(target, change)
    after = fingerprint(folder_files(where))
    if before:
        store.renew(where.cwd, fingerprint(before), after)
    else:
        store.grant(where.cwd, after)  # all that the folder says is what this person has just written
    return target.path


def file_of(scope: WritableScope, where: SettingsLocations) -> Target:
    return Target("project", where.cwd, SERVERS, 0o644) if scope == "project" else target_of(scope, where)


def _change(target: Target, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    try:
        with locked_folder(target.folder, private=target.scope == "user") as folder:
            _replace(folder, target, change)
    except OSError as error:
        raise OptionsError(f"{target.path}: it could not be written: {error.strerror or error}") from None


def _replace(folder: LockedFolder, target: Target, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    mode = folder.mode_of(target.name)
    text = (read_text(target.path) if mode is not None else None) or ""
    old = text.removeprefix("\ufeff") if text.strip("\ufeff \t\r\n") else NEW
    parse_servers(old, Origin(target.scope, target.path))
    try:
        new = _changed(old, change)
    except NotJson as error:
        raise OptionsError(f"{target.path}: {error.problem}") from None
    parse_servers(new, Origin(target.scope, target.path))  # what would not be read again is not written
    if new != old:
        folder.replace(target.name, new.encode(), mode=target.mode if mode is None or target.scope == "user" else mode)


def _changed(text: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> str:
    """A plain JSON file is written anew, indented; one with comments keeps them."""
    try:
        whole = json.loads(text)
    except ValueError:
        node = jsonc_edits.find(text, ("mcpServers",))
        return jsonc_edits.set_value(text, ("mcpServers",), change(node.plain() if node is not None else {}))
    whole["mcpServers"] = change(whole.get("mcpServers") or {})
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
