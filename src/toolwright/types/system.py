"""System messages: what the session reports about itself."""

from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

from toolwright.types.permissions import PermissionMode
from toolwright.types.sessions import SessionKey

FastModeState = Literal["off", "cooldown", "on"]

FastModeDisabledReason = Literal[
    "free",
    "preference",
    "extra_usage_disabled",
    "network_error",
    "unknown",
    "not_first_party",
    "disabled_by_env",
    "model_not_allowed",
    "sdk_opt_in_required",
    "pending",
]


@dataclass
class SystemMessage:
    """A report of the session. `data` is the whole frame; known subtypes have classes of their own below this one."""

    subtype: str
    data: dict[str, Any]


@dataclass
class HookEventMessage(SystemMessage):
    """A hook started, reported or ended (with `include_hook_events`). `hook_event_name` is the event it ran for."""

    hook_event_name: str = ""
    session_id: str | None = None
    uuid: str | None = None


@dataclass
class MirrorErrorMessage(SystemMessage):
    """Entries could not be handed to the session store and are missing there."""

    key: SessionKey | None = None
    error: str = ""


class SystemInitMcpServer(TypedDict):
    """A tool server as `system/init` lists it."""

    name: str
    status: str
    source: NotRequired[str]


class SystemInitPlugin(TypedDict):
    """A plugin that was loaded."""

    name: str
    path: str
    version: NotRequired[str]


class SystemInitPluginError(TypedDict):
    """A plugin that was not loaded, and why."""

    plugin: str
    type: str
    message: str
    path: NotRequired[str]


class SystemInitData(TypedDict):
    """The `data` of the `init` message that opens every turn."""

    type: Literal["system"]
    subtype: Literal["init"]
    uuid: str
    session_id: str
    agents: NotRequired[list[str]]
    apiKeySource: str
    betas: NotRequired[list[str]]
    claude_code_version: str
    cwd: str
    tools: list[str]
    mcp_servers: list[SystemInitMcpServer]
    model: str
    permissionMode: PermissionMode
    slash_commands: list[str]
    terminal_slash_commands: NotRequired[list[str]]
    output_style: str
    skills: list[str]
    plugins: list[SystemInitPlugin]
    plugin_errors: NotRequired[list[SystemInitPluginError]]
    fast_mode_state: NotRequired[FastModeState]
    fast_mode_disabled_reason: NotRequired[FastModeDisabledReason]
    capabilities: NotRequired[list[str]]
