"""The events of a session that hooks can wait for: a table, one row each.

Knows what an event is about and what a hook's exit code and plain words mean to it; not when it happens.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Event(Struct, frozen=True):
    """One event."""

    matched: str | None = None
    """The field of its input that matchers are about; without one, its hooks are all meant."""
    refusable: bool = False
    """Whether exit code 2 refuses what the event is about. Otherwise what the hook wrote to stderr is only reported."""
    words_are_context: bool = False
    """Whether the model reads what a hook prints that is no JSON."""
    seconds: float = 600.0
    """How long a hook of the settings may take that says nothing about it."""
    happens: bool = True
    """Whether this version has a moment for it."""


def _tool(**more: bool) -> Event:
    return Event("tool_name", **more)


SESSION_END_SECONDS = 1.5
"""All SessionEnd hooks of the settings together: nobody wants to wait for a session that is over."""

EVENTS: Mapping[str, Event] = {
    "SessionStart": Event("source", words_are_context=True),
    "SessionEnd": Event("reason", seconds=SESSION_END_SECONDS),
    "UserPromptSubmit": Event(refusable=True, words_are_context=True, seconds=30.0),
    "PreToolUse": _tool(refusable=True),
    "PermissionRequest": _tool(refusable=True),
    "PermissionDenied": _tool(),
    "PostToolUse": _tool(refusable=True),
    "PostToolUseFailure": _tool(refusable=True),
    "PostToolBatch": Event(refusable=True),
    "Notification": Event("notification_type"),
    "Stop": Event(refusable=True),
    "StopFailure": Event("error"),
    "CwdChanged": Event(),
    "InstructionsLoaded": Event("load_reason"),
    "DirectoryAdded": Event(),
    "PreModelSwitch": Event(refusable=True),
    "PostModelSwitch": Event(),
    "SubagentStart": Event("agent_type", happens=False),
    "SubagentStop": Event("agent_type", refusable=True, happens=False),
    "PreCompact": Event("trigger", refusable=True, happens=False),
    "PostCompact": Event("trigger", happens=False),
    "ConfigChange": Event("source", refusable=True, happens=False),
    "FileChanged": Event("file_path", happens=False),
    "Setup": Event("trigger", happens=False),
    "UserPromptExpansion": Event("command_name", refusable=True, words_are_context=True, happens=False),
    "MessageDisplay": Event(seconds=10.0, happens=False),
    "TaskCreated": Event(refusable=True, happens=False),
    "TaskCompleted": Event(refusable=True, happens=False),
    "TeammateIdle": Event(refusable=True, happens=False),
    "WorktreeCreate": Event(happens=False),
    "WorktreeRemove": Event(happens=False),
    "Elicitation": Event("mcp_server_name", refusable=True, happens=False),
    "ElicitationResult": Event("mcp_server_name", refusable=True, happens=False),
}

GUARDED = frozenset({"PreToolUse"})
"""Events at which a hook of the settings that gives no answer counts as one that refuses."""

TOOL_EVENTS = frozenset(name for name, event in EVENTS.items() if event.matched == "tool_name")
DECIDED = frozenset({"PreToolUse", "PermissionRequest"})
"""Events whose hooks decide about a call: a refusal is a denial."""

_UNKNOWN = Event(happens=False)


def event_named(name: str) -> Event:
    """The row of an event; one that is not known has nothing to match and refuses nothing."""
    return EVENTS.get(name, _UNKNOWN)
