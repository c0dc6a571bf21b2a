"""Options as a command line and an environment, for a session behind a command-line program.

One row per option, in the order in which the flags appear. What travels in the `initialize` request instead (agents, hooks) is
in `client.initialize`. Values are passed as they are: nothing here goes through a shell.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from toolwright._version import __version__
from toolwright.types import ClaudeAgentOptions, OptionsError

Arguments = list[str]
Row = Callable[[ClaudeAgentOptions], Arguments]


def command(options: ClaudeAgentOptions) -> Arguments:
    """The whole command line. A session driven this way always speaks stream-json on stdin and stdout."""
    if options.cli_path is None:
        raise OptionsError("cli_path: without a program there is no command line; leave the transport out to run in-process")
    rows = [argument for row in ROWS for argument in row(options)]
    return [str(options.cli_path), "--output-format", "stream-json", "--verbose", *rows, "--input-format", "stream-json"]


def environment(options: ClaudeAgentOptions, inherited: Mapping[str, str]) -> dict[str, str]:
    """The program's environment: what is inherited, then `env`, then what tells it who is calling."""
    merged = {name: value for name, value in inherited.items() if name != "CLAUDECODE"}
    merged |= {"CLAUDE_CODE_ENTRYPOINT": "sdk-py"} | options.env
    merged["CLAUDE_AGENT_SDK_VERSION"] = __version__
    merged.setdefault("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1")
    if options.enable_file_checkpointing:
        merged["CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"] = "true"
    if options.cwd is not None:
        merged["PWD"] = str(options.cwd)
    if options.client_app is not None:
        merged["CLAUDE_AGENT_SDK_CLIENT_APP"] = options.client_app
    return merged


def private_arguments(command: Arguments) -> list[str]:
    """Those that must not be seen in a list of processes: inline JSON with variables, headers or what looks like a key."""
    values = [value for flag, value in pairwise(command) if flag in ("--settings", "--mcp-config")]
    return [value for value in values if value.lstrip().startswith("{") and _may_hold_secret(value)]


def _may_hold_secret(text: str) -> bool:
    from toolwright.processes.environment import looks_secret  # only for inline settings and servers

    return '"env"' in text or '"headers"' in text or looks_secret(text)


# the three shapes of a flag


def switch(flag: str, on: bool) -> Arguments:
    return [flag] if on else []


def valued(flag: str, value: object) -> Arguments:
    return [] if value is None or value == "" else [flag, str(value)]


def equals(flag: str, value: object) -> Arguments:
    """`--flag=value`: a value that begins with a dash cannot pass for a flag."""
    return [] if value is None else [f"{flag}={value}"]


def listed(flag: str, values: Iterable[object]) -> Arguments:
    return valued(flag, ",".join(str(value) for value in values))


def repeated(flag: str, values: Iterable[object]) -> Arguments:
    return [argument for value in values for argument in (flag, str(value))]


# options that need more than a row


def system_prompt(options: ClaudeAgentOptions) -> Arguments:
    prompt = options.system_prompt
    if prompt is None or isinstance(prompt, str):
        return ["--system-prompt", prompt or ""]
    match prompt.get("type"):
        case "preset":
            return valued("--append-system-prompt", prompt.get("append"))
        case "custom":
            return ["--system-prompt", str(prompt.get("prompt", ""))]
        case "file":
            return ["--system-prompt-file", str(prompt.get("path", ""))]
    raise OptionsError(f"system_prompt: type must be 'preset', 'custom' or 'file', not {prompt.get('type')!r}")


def tools(options: ClaudeAgentOptions) -> Arguments:
    if options.tools is None:
        return []
    if isinstance(options.tools, Mapping):
        return ["--tools", "default"]
    named = [tool for tool in options.tools if isinstance(tool, str)]
    if len(named) < len(options.tools):
        raise OptionsError("tools: behind a cli_path only names can be given; put functions into create_sdk_mcp_server(...)")
    return ["--tools", ",".join(named)]


def allowed_tools(options: ClaudeAgentOptions) -> list[str]:
    """The rules, and those that the option `skills` adds."""
    if options.skills is None:
        return list(options.allowed_tools)
    added = ["Skill"] if options.skills == "all" else [f"Skill({_skill_name(name)})" for name in options.skills]
    return list(dict.fromkeys([*options.allowed_tools, *added]))


def setting_sources(options: ClaudeAgentOptions) -> str | None:
    """Skills live in settings folders, so asking for skills without naming sources asks for those."""
    if options.setting_sources is None:
        return None if options.skills is None else "user,project"
    return ",".join(options.setting_sources)


def settings(options: ClaudeAgentOptions) -> str | None:
    """The settings with the sandbox inside them; a path stays a path where nothing has to be put in."""
    if options.sandbox is None:
        return options.settings
    return json.dumps({**_settings_object(options.settings), "sandbox": options.sandbox})


def mcp_config(options: ClaudeAgentOptions) -> str | None:
    servers = options.mcp_servers
    if not isinstance(servers, Mapping):
        return str(servers)
    described = {name: {key: value for key, value in config.items() if key != "instance"} for name, config in servers.items()}
    return json.dumps({"mcpServers": described}) if described else None


def thinking(options: ClaudeAgentOptions) -> Arguments:
    config: Mapping[str, Any] | None = options.thinking
    if config is None:
        return valued("--max-thinking-tokens", options.max_thinking_tokens)
    display = valued("--thinking-display", config.get("display"))
    if config["type"] == "enabled":
        return ["--max-thinking-tokens", str(config["budget_tokens"]), *display]
    return ["--thinking", config["type"], *display]


def json_schema(options: ClaudeAgentOptions) -> str | None:
    output = options.output_format
    return json.dumps(output["schema"]) if output and output.get("type") == "json_schema" else None


def plugins(options: ClaudeAgentOptions) -> Arguments:
    for plugin in options.plugins:
        if plugin["type"] != "local":
            raise OptionsError(f"plugins: type must be 'local', not {plugin['type']!r}")
    return repeated("--plugin-dir", (plugin["path"] for plugin in options.plugins))


def extra_arguments(options: ClaudeAgentOptions) -> Arguments:
    return [argument for flag, value in options.extra_args.items() for argument in _extra(f"--{flag}", value)]


def _extra(flag: str, value: str | None) -> Arguments:
    if value is None:
        return [flag]
    return equals(flag, value) if str(value).startswith("-") else [flag, str(value)]


def _permission_prompt(options: ClaudeAgentOptions) -> str | None:
    return "stdio" if options.can_use_tool is not None else options.permission_prompt_tool_name


def _skill_name(name: str) -> str:
    unsafe = not name or name.startswith("/") or any(mark in "(),*" or not mark.isprintable() for mark in name)
    if unsafe:
        raise OptionsError(f"skills: {name!r} is not a skill's name (no parentheses, commas, wildcards or leading '/')")
    return name


def _settings_object(given: str | None) -> dict[str, Any]:
    try:
        text = given if given is None or given.lstrip().startswith("{") else Path(given).read_text("utf-8")
        value = json.loads(text) if text and text.strip() else {}
    except (OSError, ValueError) as error:
        raise OptionsError(f"settings: cannot be read, and the option sandbox has to go into them: {error}") from None
    if not isinstance(value, dict):
        raise OptionsError(f"settings: must hold a JSON object, not a {type(value).__name__}")
    return value


ROWS: tuple[Row, ...] = (
    system_prompt,
    tools,
    lambda options: listed("--allowedTools", allowed_tools(options)),
    lambda options: valued("--max-turns", options.max_turns or None),
    lambda options: valued("--max-budget-usd", options.max_budget_usd),
    lambda options: listed("--disallowedTools", options.disallowed_tools),
    lambda options: valued("--task-budget", options.task_budget and options.task_budget["total"]),
    lambda options: valued("--model", options.model),
    lambda options: valued("--fallback-model", options.fallback_model),
    lambda options: listed("--betas", options.betas),
    lambda options: valued("--permission-prompt-tool", _permission_prompt(options)),
    lambda options: valued("--permission-mode", options.permission_mode),
    lambda options: switch("--continue", options.continue_conversation),
    lambda options: equals("--resume", options.resume),
    lambda options: equals("--session-id", options.session_id),
    lambda options: valued("--settings", settings(options)),
    lambda options: repeated("--add-dir", options.add_dirs),
    lambda options: valued("--boundary", None if options.boundary == "default" else options.boundary),
    lambda options: valued("--mcp-config", mcp_config(options)),
    lambda options: switch("--include-partial-messages", options.include_partial_messages),
    lambda options: switch("--include-hook-events", options.include_hook_events),
    lambda options: switch("--strict-mcp-config", options.strict_mcp_config),
    lambda options: switch("--fork-session", options.fork_session),
    lambda options: equals("--resume-session-at", options.resume_session_at),
    lambda options: equals("--resume-drops-turn", options.resume_drops_turn),
    lambda options: switch("--no-session-persistence", not options.persist_session),
    lambda options: switch("--session-mirror", options.session_store is not None),
    lambda options: equals("--setting-sources", setting_sources(options)),
    plugins,
    extra_arguments,
    thinking,
    lambda options: valued("--effort", options.effort),
    lambda options: valued("--json-schema", json_schema(options)),
)
"""Every option that becomes a flag, in the order of the command line."""
