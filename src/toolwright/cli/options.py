"""From flags to `ClaudeAgentOptions`: what each flag means. A pure function of the flags and the environment.

Flags for which the options have no field travel in `extra_args` under their own name, as a Python caller would give them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolwright.cli.flags import UsageError

if TYPE_CHECKING:
    from toolwright.types import ClaudeAgentOptions

_SAME = {
    "model": "model",
    "fallback-model": "fallback_model",
    "max-budget-usd": "max_budget_usd",
    "continue": "continue_conversation",
    "resume": "resume",
    "fork-session": "fork_session",
    "session-id": "session_id",
    "resume-session-at": "resume_session_at",
    "resume-drops-turn": "resume_drops_turn",
    "allowed-tools": "allowed_tools",
    "disallowed-tools": "disallowed_tools",
    "permission-mode": "permission_mode",
    "permission-prompt-tool": "permission_prompt_tool_name",
    "strict-mcp-config": "strict_mcp_config",
    "add-dir": "add_dirs",
    "boundary": "boundary",
    "settings": "settings",
    "setting-sources": "setting_sources",
    "betas": "betas",
    "effort": "effort",
    "include-partial-messages": "include_partial_messages",
    "include-hook-events": "include_hook_events",
}
"""Flags whose value is the option's value."""

_WITHOUT_FIELD = (
    *("replay-user-messages", "session-mirror", "rewind-files", "trust-workspace"),
    *("allow-dangerously-skip-permissions", "await-initialize", "agent", "managed-settings", "project-config-root"),
)

_SETTING_SOURCES = ("user", "project", "local")


def options_from_flags(values: Mapping[str, Any], environment: Mapping[str, str]) -> ClaudeAgentOptions:
    """The options that the flags ask for. Raises `UsageError` for values that contradict each other."""
    from toolwright.types import ClaudeAgentOptions  # not needed for --version, --help and usage errors

    _refuse_contradictions(values)
    fields = {field: values[name] for name, field in _SAME.items() if values.get(name) not in (None, False)}
    fields["persist_session"] = not values.get("no-session-persistence")
    fields["system_prompt"] = _system_prompt(values)
    fields["extra_args"] = _extra_args(values)
    for make in (_tools, _limits, _thinking, _output_format, _mcp_servers, _agents, _plugins, _from_environment):
        fields.update(make(values, environment))
    return ClaudeAgentOptions(**fields)


def _refuse_contradictions(values: Mapping[str, Any]) -> None:
    if values.get("resume") and values.get("continue"):
        raise UsageError("--resume and --continue exclude each other: name the conversation, or take the latest")
    given = [name for name in ("system-prompt", "system-prompt-file") if name in values]
    if len(given) > 1:
        raise UsageError("--system-prompt and --system-prompt-file exclude each other")
    unknown = sorted(set(values.get("setting-sources", ())) - set(_SETTING_SOURCES))
    if unknown:
        raise UsageError(f"--setting-sources knows {', '.join(_SETTING_SOURCES)}; got {', '.join(unknown)}")


def _system_prompt(values: Mapping[str, Any]) -> Any:
    """No flag: the built-in instructions. An empty `--system-prompt` is how SDKs say "no instructions at all"."""
    added = _appended_instructions(values)
    if "system-prompt" in values:
        whole = "\n\n".join(part for part in (values["system-prompt"], added) if part)
        return whole or None
    if "system-prompt-file" in values:
        if added:
            raise UsageError("--append-system-prompt cannot be added to --system-prompt-file: put it into the file")
        return {"type": "file", "path": values["system-prompt-file"]}
    preset = {"type": "preset", "preset": "claude_code"}
    return {**preset, "append": added} if added else preset


def _appended_instructions(values: Mapping[str, Any]) -> str:
    parts = [values.get("append-system-prompt", "")]
    path = values.get("append-system-prompt-file")
    if path is not None:
        parts.append(_text_of(path, "--append-system-prompt-file"))
    return "\n\n".join(part for part in parts if part)


def _text_of(path: str, flag: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{flag}: cannot read {path}: {error}") from None


def _extra_args(values: Mapping[str, Any]) -> dict[str, str | None]:
    given = {name: values[name] for name in _WITHOUT_FIELD if values.get(name)}
    return {name: None if value is True else value for name, value in given.items()}


def _tools(values: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    if "tools" not in values:
        return {}
    names = values["tools"]
    return {"tools": {"type": "preset", "preset": "claude_code"} if names == ["default"] else names}


def _limits(values: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if values.get("max-turns"):
        fields["max_turns"] = values["max-turns"]
    if values.get("task-budget"):
        fields["task_budget"] = {"total": values["task-budget"]}
    if values.get("permission-prompts") == "none":
        fields["permission_prompt_tool_name"] = None
    if values.get("dangerously-skip-permissions"):
        fields["permission_mode"] = "bypassPermissions"
    return fields


def _thinking(values: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    budget, kind, display = (values.get(name) for name in ("max-thinking-tokens", "thinking", "thinking-display"))
    if budget is None and kind is None and display is None:
        return {}
    if kind == "disabled" or (kind is None and budget == 0):
        return {"thinking": {"type": "disabled"}}
    config: dict[str, Any] = {"type": "adaptive"}
    if budget and kind != "adaptive":
        config = {"type": "enabled", "budget_tokens": budget}
    elif kind == "enabled":
        raise UsageError("--thinking enabled needs --max-thinking-tokens")
    return {"thinking": {**config, "display": display} if display else config}


def _output_format(values: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    schema = values.get("json-schema")
    return {} if schema is None else {"output_format": {"type": "json_schema", "schema": schema}}


def _mcp_servers(values: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    servers: dict[str, Any] = {}
    for given in values.get("mcp-config", ()):
        inline = given.lstrip().startswith("{")
        servers.update(_servers_of(given if inline else _text_of(given, "--mcp-config"), "" if inline else f" in {given}"))
    return {"mcp_servers": servers} if servers else {}


def _servers_of(text: str, where: str) -> dict[str, Any]:
    try:
        read = json.loads(text)
    except ValueError as error:
        raise UsageError(f"--mcp-config{where} is not valid JSON: {error}") from None
    servers = read.get("mcpServers", read) if isinstance(read, dict) else None
    if not isinstance(servers, dict) or not all(isinstance(config, dict) for config in servers.values()):
        raise UsageError(f'--mcp-config{where} must be {{"mcpServers": {{name: {{…}}}}}}')
    return servers


def _agents(values: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    if "agents" not in values:
        return {}
    from toolwright.types import AgentDefinition

    try:
        known = AgentDefinition.__dataclass_fields__  # newer clients say more of an agent than we know
        return {
            "agents": {
                name: AgentDefinition(**{key: value for key, value in fields.items() if key in known})
                for name, fields in values["agents"].items()
            }
        }
    except (TypeError, AttributeError) as error:
        raise UsageError(f"--agents: each agent is an object with description and prompt: {error}") from None


def _plugins(values: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    paths = values.get("plugin-dir", [])
    return {"plugins": [{"type": "local", "path": path} for path in paths]} if paths else {}


def _from_environment(values: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """Two options that SDKs hand to a CLI by its environment."""
    fields: dict[str, Any] = {}
    if environment.get("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "").lower() in ("1", "true"):
        fields["enable_file_checkpointing"] = True
    if environment.get("CLAUDE_AGENT_SDK_CLIENT_APP"):
        fields["client_app"] = environment["CLAUDE_AGENT_SDK_CLIENT_APP"]
    return fields
