"""Starts the recording program with the published Python SDK once for each set of options.

usage: python every_option.py RECORDING_PROGRAM FOLDER. Options that a release does not know are left out.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio

SESSION = "11111111-2222-4333-8444-555555555555"


async def hook(*given: Any) -> dict[str, Any]:
    return {}


def known(sdk: Any, name: str, **fields: Any) -> Any:
    """A value of the SDK's class with those of the fields that this release has."""
    names = {field.name for field in dataclasses.fields(getattr(sdk, name))}
    return getattr(sdk, name)(**{key: value for key, value in fields.items() if key in names})


def server(sdk: Any, *tools: Any) -> Any:
    """A server in this process; older releases cannot make one with the `mcp` of today, and need none to tell of it."""
    try:
        return sdk.create_sdk_mcp_server("weather", tools=list(tools))
    except AttributeError:
        return {"type": "sdk", "name": "weather", "instance": object()}


def everything(sdk: Any, folder: str) -> dict[str, Any]:
    async def allow(*given: Any) -> Any:
        return sdk.PermissionResultAllow()

    @sdk.tool("get", "The weather", {"city": str})  # type: ignore[untyped-decorator]  # the SDK is not known here
    async def get(args: dict[str, Any]) -> dict[str, Any]:
        return {"content": []}

    agent = {
        "description": "Reviews",
        "prompt": "Review.",
        "tools": ["Read"],
        "disallowedTools": ["Bash"],
        "model": "haiku",
        "skills": ["s"],
        "memory": "project",
        "mcpServers": ["weather"],
        "initialPrompt": "Begin.",
        "maxTurns": 3,
        "background": True,
        "effort": "low",
        "permissionMode": "plan",
    }
    return {
        "tools": ["Read", "Bash"],
        "allowed_tools": ["Read", "Bash(git log:*)"],
        "disallowed_tools": ["WebFetch"],
        "system_prompt": {
            "type": "preset",
            "preset": "claude_code",
            "append": "Be brief.",
            "exclude_dynamic_sections": True,
            "snapshot": True,
        },
        "mcp_servers": {
            "weather": server(sdk, get),
            "files": {"type": "stdio", "command": "true", "args": []},
        },
        "strict_mcp_config": True,
        "permission_mode": "acceptEdits",
        "session_id": SESSION,
        "max_turns": 4,
        "max_budget_usd": 1.5,
        "model": "claude-sonnet-4-5",
        "fallback_model": "claude-haiku-4-5",
        "betas": ["context-1m-2025-08-07"],
        "settings": json.dumps({"cleanupPeriodDays": 7}),
        "add_dirs": [folder],
        "extra_args": {"replay-user-messages": None},
        "can_use_tool": allow,
        "hooks": {"PreToolUse": [known(sdk, "HookMatcher", matcher="Bash", hooks=[hook], timeout=5, on_failure="allow")]},
        "user": None,
        "include_partial_messages": True,
        "include_hook_events": True,
        "forward_subagent_text": True,
        "agents": {"reviewer": known(sdk, "AgentDefinition", **agent)},
        "setting_sources": ["user", "project"],
        "sandbox": {"enabled": True},
        "plugins": [{"type": "local", "path": folder}],
        "thinking": {"type": "enabled", "budget_tokens": 2048, "display": "omitted"},
        "effort": "high",
        "output_format": {"type": "json_schema", "schema": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "enable_file_checkpointing": True,
        "task_budget": {"total": 50_000},
        "skills": ["s"],
        "client_app": "tester/1.0",
        "title": "A title",
    }


def runs(sdk: Any, folder: str) -> dict[str, dict[str, Any]]:
    path = Path(folder) / "prompt.txt"
    path.write_text("You are brief.")
    return {
        "plain": {},
        "everything": everything(sdk, folder),
        "resumed": {
            "resume": SESSION,
            "fork_session": True,
            "resume_session_at": SESSION,
            "resume_drops_turn": SESSION,
            "system_prompt": "You are brief.",
        },
        "continued": {
            "continue_conversation": True,
            "system_prompt": {"type": "file", "path": str(path)},
            "thinking": {"type": "adaptive", "display": "summarized"},
            "skills": "all",
            "setting_sources": [],
        },
        "asked_by_tool": {
            "permission_prompt_tool_name": "mcp__weather__get",
            "max_thinking_tokens": 1024,
            "tools": {"type": "preset", "preset": "claude_code"},
            "system_prompt": {"type": "custom", "prompt": "You are brief.", "snapshot": True},
        },
        "quiet": {"thinking": {"type": "disabled"}, "tools": [], "permission_mode": "bypassPermissions"},
    }


async def hello() -> AsyncIterator[dict[str, Any]]:
    yield {"type": "user", "message": {"role": "user", "content": "hello"}, "parent_tool_use_id": None, "session_id": ""}


async def record(program: str, folder: str) -> None:
    sdk: Any = importlib.import_module("claude_agent_sdk")
    for name, options in runs(sdk, folder).items():
        env = {"RECORDING_FILE": str(Path(folder) / f"{name}.json")}
        try:
            given = known(sdk, "ClaudeAgentOptions", **options, env=env, cwd=folder, cli_path=program)
            async for _ in sdk.query(prompt=hello(), options=given):
                pass
        except Exception as error:  # noqa: BLE001 — one set of options that a release refuses does not spoil the others
            sys.stderr.write(f"{name}: {type(error).__name__}: {str(error)[:300]}\n")


if __name__ == "__main__":
    os.makedirs(sys.argv[2], exist_ok=True)
    anyio.run(record, *sys.argv[1:3])
