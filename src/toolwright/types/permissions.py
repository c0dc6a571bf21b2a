"""Permissions as the host sees them: modes, updates to the rules, and the answer to "may this tool run?"."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from toolwright.types.errors import MessageParseError

PermissionMode = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto"]
PermissionBehavior = Literal["allow", "deny", "ask"]
PermissionUpdateDestination = Literal["userSettings", "projectSettings", "localSettings", "session"]
PermissionUpdateType = Literal["addRules", "replaceRules", "removeRules", "setMode", "addDirectories", "removeDirectories"]

_FIELDS_OF_TYPE = {
    "addRules": ("rules", "behavior"),
    "replaceRules": ("rules", "behavior"),
    "removeRules": ("rules", "behavior"),
    "setMode": ("mode",),
    "addDirectories": ("directories",),
    "removeDirectories": ("directories",),
}
"""The fields that mean something for a type of update; the others do not go over the wire."""


@dataclass
class PermissionRuleValue:
    """A rule: a tool's name, and perhaps what its call must look like. `Bash(git log:*)` has the content `git log:*`."""

    tool_name: str
    rule_content: str | None = None


@dataclass
class PermissionUpdate:
    """A change to rules, mode or directories, and where it is to be kept."""

    type: PermissionUpdateType
    rules: list[PermissionRuleValue] | None = None
    behavior: PermissionBehavior | None = None
    mode: PermissionMode | None = None
    directories: list[str] | None = None
    destination: PermissionUpdateDestination | None = None

    def to_dict(self) -> dict[str, Any]:
        """The shape on the wire: camelCase, only the fields that belong to this type and are set."""
        names = ("destination", *_FIELDS_OF_TYPE.get(self.type, ()))
        wire: dict[str, Any] = {"type": self.type}
        wire.update((name, getattr(self, name)) for name in names if getattr(self, name) is not None)
        if "rules" in wire:
            wire["rules"] = [{"toolName": rule.tool_name, "ruleContent": rule.rule_content} for rule in wire["rules"]]
        return wire

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "PermissionUpdate":
        """Read the shape on the wire; fields not known here are ignored. Raises `MessageParseError`."""
        if "type" not in data:
            raise MessageParseError("A permission update has no 'type' (addRules, setMode, …).", data)
        rules = data.get("rules")
        return cls(
            type=data["type"],
            rules=None if rules is None else [_rule_from_dict(rule, data) for rule in rules],
            behavior=data.get("behavior"),
            mode=data.get("mode"),
            directories=data.get("directories"),
            destination=data.get("destination"),
        )


def _rule_from_dict(rule: Any, update: dict[str, Any]) -> PermissionRuleValue:
    if not isinstance(rule, dict) or "toolName" not in rule:
        raise MessageParseError(f"A rule of a permission update must be an object with 'toolName', not {rule!r}.", update)
    return PermissionRuleValue(rule["toolName"], rule.get("ruleContent"))


@dataclass
class ToolPermissionContext:
    """What is known about a call besides its name and input, when the host is asked about it.

    `suggestions` are updates that would let calls like this one pass without a question; `signal` is not in use.
    """

    signal: Any | None = None
    suggestions: list[PermissionUpdate] = field(default_factory=list)
    tool_use_id: str | None = None
    agent_id: str | None = None
    blocked_path: str | None = None
    decision_reason: str | None = None
    title: str | None = None
    display_name: str | None = None
    description: str | None = None


@dataclass
class PermissionResultAllow:
    """Let the call run, perhaps with another input, and perhaps change the rules from now on."""

    behavior: Literal["allow"] = "allow"
    updated_input: dict[str, Any] | None = None
    updated_permissions: list[PermissionUpdate] | None = None


@dataclass
class PermissionResultDeny:
    """Do not run the call. The model reads `message`; with `interrupt` the turn ends."""

    behavior: Literal["deny"] = "deny"
    message: str = ""
    interrupt: bool = False


PermissionResult: TypeAlias = PermissionResultAllow | PermissionResultDeny

CanUseTool: TypeAlias = Callable[[str, dict[str, Any], ToolPermissionContext], Awaitable[PermissionResult]]
"""Asked when neither rules nor mode decide: `await can_use_tool(tool_name, input, context)`."""
