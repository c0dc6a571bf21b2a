"""What a person may answer besides yes and no: updates that would let calls like this one pass from now on.

A suggestion never reaches further than it reads: a command with a `*` in it gets no rule, because in a rule the `*` would
mean any text.
"""

from __future__ import annotations

from collections.abc import Iterable
from posixpath import dirname

from toolwright.types import PermissionMode, PermissionRuleValue, PermissionUpdate

from .calls import Call, Place, normal_path
from .protected import is_protected


def suggestions(call: Call, *, mode: PermissionMode, place: Place) -> list[PermissionUpdate]:
    """The updates to offer with a permission question about `call`; none for a call that must always be asked about."""
    if call.must_ask:
        return []
    if call.command is not None:
        return _for_command(call.name, call.command) + _for_writes(call, mode, place)
    if call.writes:
        return _for_writes(call, mode, place)
    if call.reads and not call.is_mcp:
        return _for_reads(call, place)
    if call.hosts:
        return [_rules(_rule("WebFetch", f"domain:{host}") for host in call.hosts)] if call.name == "WebFetch" else []
    return [_rules([PermissionRuleValue(call.name)])]


def _for_command(tool: str, command: str) -> list[PermissionUpdate]:
    exact = command and "*" not in command and not any(character < " " for character in command)
    return [_rules([_rule(tool, command)])] if exact and tool == "Bash" else []


def _for_writes(call: Call, mode: PermissionMode, place: Place) -> list[PermissionUpdate]:
    paths = [normal_path(path) for path in call.writes]
    if not paths or any(path is None or is_protected(path, place) for path in paths):
        return []
    outside = sorted({dirname(path) for path in paths if path and place.root_of(path) is None} - {"/"})
    updates = [PermissionUpdate(type="addDirectories", directories=outside, destination="session")] if outside else []
    if mode != "acceptEdits":
        updates.append(PermissionUpdate(type="setMode", mode="acceptEdits", destination="session"))
    return updates


def _for_reads(call: Call, place: Place) -> list[PermissionUpdate]:
    paths = (normal_path(path) for path in call.reads)
    outside = sorted({path for path in paths if path and place.root_of(path) is None})
    folders = {dirname(path) for path in outside if _can_be_a_pattern(dirname(path))} - {"/"}
    return [_rules((_rule("Read", f"/{folder}/**") for folder in sorted(folders)), "session")] if folders else []


def _can_be_a_pattern(folder: str) -> bool:
    return not any(character in "*?[]\\!#" or character < " " for character in folder)


def _rule(tool: str, content: str) -> PermissionRuleValue:
    return PermissionRuleValue(tool, content)


def _rules(rules: Iterable[PermissionRuleValue], destination: str = "localSettings") -> PermissionUpdate:
    return PermissionUpdate(
        type="addRules",
        rules=list(rules),
        behavior="allow",
        destination="session" if destination == "session" else "localSettings",
    )
