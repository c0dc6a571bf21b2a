"""`ClaudeAgentOptions`: everything that can be said about a session before it starts.

The class only holds values. They are checked when a session is opened, where a wrong one raises `OptionsError`.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypedDict

from toolwright.types.agents import AgentDefinition
from toolwright.types.hooks import HookEvent, HookMatcher
from toolwright.types.mcp import McpServerConfig
from toolwright.types.permissions import CanUseTool, PermissionMode
from toolwright.types.presets import SystemPromptCustom, SystemPromptFile, SystemPromptPreset, ToolsPreset
from toolwright.types.sandbox import SandboxSettings
from toolwright.types.sessions import SessionStore, SessionStoreFlushMode
from toolwright.types.thinking import EffortLevel, ThinkingConfig

SettingSource = Literal["user", "project", "local"]
SdkBeta = Literal["context-1m-2025-08-07"]
BoundaryKind = Literal["default", "strict"]


class SdkPluginConfig(TypedDict):
    """A plugin in a folder of this machine."""

    type: Literal["local"]
    path: str


class TaskBudget(TypedDict):
    """The tokens a task may take, as the model is told."""

    total: int


class ToolDefinition(Protocol):
    """A tool as the decorator `@tool` makes it."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def input_schema(self) -> Any: ...
    @property
    def handler(self) -> Callable[..., Any]: ...


class ModelObject(Protocol):
    """A model given as an object instead of by its name, such as a `ScriptedModel`."""

    def stream(self, request: Any) -> Any: ...


ToolChoice: TypeAlias = str | Callable[..., Any] | ToolDefinition
"""One entry of the option `tools`: a built-in tool's name, a Python function, or what `@tool` made of one."""


@dataclass
class ClaudeAgentOptions:
    """How a session is to be run. Every field may be left out."""

    tools: Sequence[ToolChoice] | ToolsPreset | None = None
    """The tools the model has: names of built-in ones, Python functions, `@tool` tools. None is the default set, [] is none."""

    allowed_tools: list[str] = field(default_factory=list)
    """Rules for calls that need no question (`Read`, `Bash(git log:*)`). They do not limit the set of tools."""

    system_prompt: str | SystemPromptPreset | SystemPromptCustom | SystemPromptFile | None = None
    """The system prompt; None is a minimal one, the preset is the full one."""

    mcp_servers: dict[str, McpServerConfig] | str | Path = field(default_factory=dict)
    """Tool servers by name, or a configuration file."""

    strict_mcp_config: bool = False
    """Use only the servers given here, none from files."""

    permission_mode: PermissionMode | None = None
    """What happens to calls that no rule decides."""

    continue_conversation: bool = False
    """Go on with the latest session of this folder."""

    resume: str | None = None
    """Go on with the session of this id."""

    session_id: str | None = None
    """The id (a UUID) of the new session."""

    max_turns: int | None = None
    """End the run after so many rounds of tool calls."""

    max_budget_usd: float | None = None
    """End the run when it has cost so much."""

    disallowed_tools: list[str] = field(default_factory=list)
    """Rules for calls that are denied. They do not change what the model sees: for that, leave a tool out of `tools`."""

    model: str | ModelObject | None = None
    """The model's name (`claude-…`, `openai:…`, `scripted:…`), or an object that is a model."""

    fallback_model: str | None = None
    """The model to use when the first one is overloaded."""

    betas: list[SdkBeta] = field(default_factory=list)
    """Beta features to ask the API for."""

    permission_prompt_tool_name: str | None = None
    """A tool of a tool server that answers permission questions. Not together with `can_use_tool`."""

    cwd: str | Path | None = None
    """The folder the session works in; the process's own folder does not change."""

    cli_path: str | Path | None = None
    """Run the session in this command-line program instead of in this process."""

    settings: str | None = None
    """More settings: a path, or JSON."""

    add_dirs: list[str | Path] = field(default_factory=list)
    """More folders the tools may work in."""

    env: dict[str, str] = field(default_factory=dict)
    """Variables over those of the process, for this session and its children only."""

    extra_args: dict[str, str | None] = field(default_factory=dict)
    """More flags for the command-line program: name without dashes → value, or None for a bare flag."""

    max_buffer_size: int | None = None
    """The longest line, in characters, that is accepted from the command-line program."""

    debug_stderr: Any = sys.stderr
    """Has no effect; use `stderr`."""

    stderr: Callable[[str], None] | None = None
    """Called with each line of diagnostics."""

    can_use_tool: CanUseTool | None = None
    """Asked about calls that neither rules nor mode decide."""

    hooks: dict[HookEvent, list[HookMatcher]] | None = None
    """Functions to call at fixed points of the session."""

    user: str | None = None
    """The operating-system user that child processes run as."""

    include_partial_messages: bool = False
    """Yield a `StreamEvent` for every piece of a message as it is written."""

    include_hook_events: bool = False
    """Yield a `HookEventMessage` when a hook of the settings starts and ends."""

    forward_subagent_text: bool = False
    """Yield the text that subagents write, not only their tool calls."""

    verbatim_prompts: bool = False
    """Take prompts as they are: no `@path` is expanded, no slash command is run."""

    fork_session: bool = False
    """With `resume` or `continue_conversation`: go on in a copy under a new id."""

    resume_session_at: str | None = None
    """With `resume`: only up to the message of this id."""

    resume_drops_turn: str | None = None
    """With `resume_session_at`: refuse unless exactly the turn of this user message is dropped."""

    agents: dict[str, AgentDefinition] | None = None
    """Subagents the model may use, by name."""

    setting_sources: list[SettingSource] | None = None
    """Which settings files are read; None is all, [] is none."""

    skills: list[str] | Literal["all"] | None = None
    """Which skills the model may use."""

    sandbox: SandboxSettings | None = None
    """How shell commands are sandboxed."""

    plugins: list[SdkPluginConfig] = field(default_factory=list)
    """Plugins to load."""

    max_thinking_tokens: int | None = None
    """The older way to say `thinking={"type": "enabled", "budget_tokens": …}`."""

    thinking: ThinkingConfig | None = None
    """Whether and how much the model thinks."""

    effort: EffortLevel | None = None
    """How thorough the model should be."""

    output_format: dict[str, Any] | None = None
    """`{"type": "json_schema", "schema": …}`: the run ends with data of this shape in `structured_output`."""

    enable_file_checkpointing: bool = False
    """Keep what is needed for `rewind_files`."""

    session_store: SessionStore | None = None
    """Where the transcript goes besides the disk."""

    session_store_flush: SessionStoreFlushMode = "batched"
    """When the transcript goes there."""

    load_timeout_ms: int = 60000
    """How long a load from the store may take."""

    task_budget: TaskBudget | None = None
    """A budget of tokens that the model is told about."""

    client_app: str | None = None
    """The name of the calling program, for the User-Agent header."""

    boundary: BoundaryKind = "default"
    """What a yes opens outside the working folders: "default" is exactly the path it is about, "strict" is nothing."""

    persist_session: bool = True
    """Keep the transcript; without, the session runs in memory and cannot be resumed."""
