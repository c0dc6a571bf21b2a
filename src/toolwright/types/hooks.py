"""Hooks: Python functions that are called at fixed points of a session, and for which tools."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypedDict

from toolwright.types.hook_inputs import HookInput
from toolwright.types.hook_outputs import HookJSONOutput

HookEvent = Literal[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "Stop",
    "SubagentStop",
    "PreCompact",
    "Notification",
    "SubagentStart",
    "PermissionRequest",
]


class HookContext(TypedDict):
    """The third argument of a hook. `signal` is None: cancellation reaches a hook as its task's own."""

    signal: Any | None


HookCallback: TypeAlias = Callable[[HookInput, str | None, HookContext], Awaitable[HookJSONOutput]]
"""`await hook(input, tool_use_id, context)`; the id is None for events that are not about a tool call."""


@dataclass
class HookMatcher:
    """Which tools the hooks are for (a name, or a regular expression; None is all), and the hooks.

    `timeout` is in seconds. `on_failure` says what a hook that raises or does not answer in time means: "continue" as if it
    had not been there, "block" as if it had refused.
    """

    matcher: str | None = None
    hooks: list[HookCallback] = field(default_factory=list)
    timeout: float | None = None
    on_failure: Literal["continue", "block"] | None = None
