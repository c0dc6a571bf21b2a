"""A person's answers into settings files: rules, folders and the mode that are to hold from now on.

The file keeps its comments, its layout and the keys that nobody here knows. Writers wait for each other; a file that cannot be
read is left alone. The session that asked has the change already; others see it when they start.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from msgspec import Struct

from toolwright.base import jsonc_edits
from toolwright.base.jsonc import NotJson
from toolwright.base.locked_folder import LockedFolder, locked_folder
from toolwright.settings.locations import FOLDER_NAMES, SettingsLocations, read_text
from toolwright.settings.schema import parse_settings
from toolwright.settings.trust import TrustStore, fingerprint, folder_files
from toolwright.settings.values import Origin, Scope
from toolwright.types import OptionsError, PermissionUpdate

SCOPES: dict[str, Scope] = {"userSettings": "user", "projectSettings": "project", "localSettings": "local"}
NEW = "{}\n"
_LONE_LINE_END = re.compile(r"(?<!\r)\n")
DIRECTORIES = ("permissions", "additionalDirectories")


def write_update(update: PermissionUpdate, where: SettingsLocations) -> str | None:
    """Carry `update` out in the file of its destination, and say which; None for the session. Raises `OptionsError`."""
    if update.destination in (None, "session"):
        return None
    scope = SCOPES.get(update.destination)
    if scope is None:
        raise OptionsError(
            f"A permission update has the destination {update.destination!r}; known are {', '.join(SCOPES)}, session"
        )
    target = target_of(scope, where)
    if scope == "user":
        _change(target, edit_of(update))
        return target.path
    before = fingerprint(folder_files(where))
    _change(target, edit_of(update))
    TrustStore(where.config[0]).renew(where.cwd, before, fingerprint(folder_files(where)))
    return target.path


class Target(Struct, frozen=True):
    """The file to write: its folder, its name, the mode of a new one."""

    scope: Scope
    folder: str
    name: str
    mode: int

    @property
    def path(self) -> str:
        return os.path.join(self.folder, self.name)


def target_of(scope: Scope, where: SettingsLocations) -> Target:
    """The user's own file may be a link, as those who keep their dotfiles elsewhere have it; a folder's may not."""
    if scope == "user":
        real = os.path.realpath(os.path.join(where.config[0], "settings.json"))
        return Target(scope, os.path.dirname(real), os.path.basename(real), 0o600)
    name = "settings.json" if scope == "project" else "settings.local.json"
    folders = [os.path.join(where.cwd, folder) for folder in FOLDER_NAMES]
    there = [folder for folder in folders if os.path.lexists(os.path.join(folder, name))]
    return Target(scope, there[0] if there else folders[-1], name, 0o644 if scope == "project" else 0o600)


def edit_of(update: PermissionUpdate) -> Callable[[str], str]:
    """The change of a settings text that `update` asks for."""
    match update.type:
        case "setMode":
            return lambda text: jsonc_edits.set_value(text, ("permissions", "defaultMode"), update.mode)
        case "addDirectories":
            return lambda text: jsonc_edits.add_texts(text, DIRECTORIES, update.directories or [])
        case "removeDirectories":
            return lambda text: jsonc_edits.remove_texts(text, DIRECTORIES, update.directories or [])
    if update.behavior not in ("allow", "ask", "deny"):
        raise OptionsError(f"A permission update {update.type} needs a behavior: allow, ask or deny, not {update.behavior!r}.")
    path = ("permissions", update.behavior)
    rules = rule_texts(update)
    match update.type:
        case "addRules":
            return lambda text: jsonc_edits.add_texts(text, path, rules)
        case "removeRules":
            return lambda text: jsonc_edits.remove_texts(text, path, rules)
        case "replaceRules":
            return lambda text: jsonc_edits.set_value(text, path, rules)
    raise OptionsError(f"A permission update of type {update.type!r} is not known")


def rule_texts(update: PermissionUpdate) -> list[str]:
    return [
        rule.tool_name if rule.rule_content is None else f"{rule.tool_name}({rule.rule_content})" for rule in update.rules or ()
    ]


def _change(target: Target, edit: Callable[[str], str]) -> None:
    try:
        with locked_folder(target.folder, private=target.scope == "user") as folder:
            _replace(folder, target, edit)
    except OSError as error:
        raise OptionsError(f"{target.path}: the settings could not be written: {error.strerror or error}") from None


def _replace(folder: LockedFolder, target: Target, edit: Callable[[str], str]) -> None:
    mode = folder.mode_of(target.name)
    text = read_text(target.path) if mode is not None else None
    origin = Origin(target.scope, target.path)
    mark = "\ufeff" if text is not None and text.startswith("\ufeff") else ""
    old = text.removeprefix("\ufeff") if text and text.strip("\ufeff \t\r\n") else NEW
    parse_settings(old, origin)
    try:
        new = edit(old)
    except NotJson as error:
        raise OptionsError(f"{target.path}: {error.problem}") from None
    if "\r\n" in old and not _LONE_LINE_END.search(old):
        new = _LONE_LINE_END.sub("\r\n", new)
    parse_settings(new, origin)  # what would not be read again is not written
    if new != old:
        folder.replace(target.name, (mark + new).encode(), mode=target.mode if mode is None or target.scope == "user" else mode)
