"""What settings say, as values that the rooms take: rules with their place, hooks, servers, and the whole.

One class, `Settings`, is what one file says and what all files say together; None and () mean "nothing said".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

if TYPE_CHECKING:
    from toolwright.settings.sandbox import SandboxConfig
    from toolwright.types import PermissionBehavior

Scope = Literal["managed", "inline", "local", "project", "user"]
PRECEDENCE: tuple[Scope, ...] = ("managed", "inline", "local", "project", "user")
"""The first that says something wins."""

OF_THE_FOLDER: frozenset[Scope] = frozenset({"local", "project"})
"""Scopes whose files come with the folder, whoever filled it: they need trust."""


class Origin(Struct, frozen=True):
    """Where something was said. `path` is the file, or `settings` for text given inline; `line` 0 means the whole of it."""

    scope: Scope
    path: str
    line: int = 0
    base: str | None = None
    """The folder that paths beginning with one `/` are relative to."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


class SourcedRule(Struct, frozen=True):
    """A permission rule as written, and where."""

    text: str
    behavior: PermissionBehavior
    source: Origin


class HookConfig(Struct, frozen=True):
    """One hook of the settings: when (`event`, `matcher`, `condition`) and what (`kind` and the field that belongs to it)."""

    event: str
    matcher: str
    """Empty: every call."""
    kind: Literal["command", "http", "mcp_tool", "prompt", "agent"]
    source: Origin
    command: str | None = None
    args: tuple[str, ...] | None = None
    """With these the command is a program and runs without a shell."""
    url: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    variables: tuple[str, ...] = ()
    """The `allowedEnvVars` of the settings: variables that the headers may name."""
    prompt: str | None = None
    server: str | None = None
    tool: str | None = None
    model: str | None = None
    condition: str | None = None
    """The `if` of the settings: a permission rule that the call must match."""
    timeout: float | None = None
    """Seconds; None is the default of its kind."""
    runs_async: bool = False
    once: bool = False
    status_message: str | None = None
    shell: str | None = None


class ServerEntry(Struct, frozen=True):
    """A tool server of `.mcp.json` or of the settings' `mcpServers`, checked in shape, nothing expanded or started."""

    name: str
    kind: Literal["stdio", "sse", "http", "ws"]
    source: Origin
    config: Mapping[str, Any]
    """The entry as written."""


class Settings(Struct, frozen=True):
    """What one settings file says, or all of them together."""

    rules: tuple[SourcedRule, ...] = ()
    default_mode: str | None = None
    default_mode_source: Origin | None = None
    additional_directories: tuple[str, ...] = ()
    bypass_disabled: bool = False
    boundary_is_strict: bool = False
    """Whether some file says so (`boundary`); no other takes it back."""
    env: Mapping[str, str] = field(default_factory=dict)
    hooks: tuple[HookConfig, ...] = ()
    all_hooks_disabled: bool | None = None
    hook_urls: tuple[str, ...] | None = None
    """Patterns of the addresses that hooks may ask (`allowedHttpHookUrls`); None: any."""
    hook_variables: tuple[str, ...] | None = None
    """The variables that headers of hooks may name at all (`httpHookAllowedEnvVars`); None: any."""
    model: str | None = None
    available_models: tuple[str, ...] | None = None
    output_style: str | None = None
    sandbox: SandboxConfig | None = None
    mcp_servers: tuple[ServerEntry, ...] = ()
    all_project_servers_enabled: bool | None = None
    enabled_servers: tuple[str, ...] = ()
    disabled_servers: tuple[str, ...] = ()
    api_key_helper: str | None = None
    status_line: Mapping[str, Any] | None = None
    memory_excludes: tuple[str, ...] = ()
    auto_memory: bool | None = None
    cleanup_period_days: int | None = None
    said: frozenset[str] = frozenset()
    """The names of the top-level keys that were there."""
    notes: tuple[str, ...] = ()
    """Lines of diagnostics: what was not understood, and what was left out."""

    @property
    def hooks_in_force(self) -> tuple[HookConfig, ...]:
        """All hooks, or those of the administrator if hooks are turned off."""
        return tuple(hook for hook in self.hooks if hook.source.scope == "managed") if self.all_hooks_disabled else self.hooks
