"""Hooks of the settings behind the command: over the wire, and in its own output."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support_cli import command
from support_hooks import command_settings
from toolwright import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookEventMessage,
    HookMatcher,
    ResultMessage,
    ToolResultBlock,
    UserMessage,
    query,
)
from toolwright.types import ControlError

WRITE = {"tool": "Write", "input": {"file_path": "note.txt", "content": "hello"}}
DONE = {"text": "done"}


def surroundings(home: Path, steps: list[Any]) -> dict[str, str]:
    (home / "work").mkdir()
    (home / "script.json").write_text(json.dumps({"steps": steps}))
    return {
        "TOOLWRIGHT_MODEL": f"scripted:{home / 'script.json'}",
        "CLAUDE_CONFIG_DIR": str(home / "config"),
        "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS": "30000",
    }


def program(home: Path) -> Path:
    path = home / "toolwright"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m toolwright.cli "$@"\n')
    path.chmod(0o755)
    return path


def test_the_command_runs_hooks_of_its_settings_and_shows_them_if_asked_to(tmp_path: Path) -> None:
    settings = command_settings("PreToolUse", "echo No. >&2; exit 2")
    flags = ["--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits", "--include-hook-events"]
    env = surroundings(tmp_path, [WRITE, DONE])
    run = command("-p", "go", *flags, "--settings", settings, env=env, cwd=tmp_path / "work")
    frames = [json.loads(line) for line in run.stdout.splitlines()]
    hooks = [(frame["subtype"], frame["hook_name"]) for frame in frames if "hook_id" in frame]
    assert hooks == [("hook_started", "PreToolUse:Write"), ("hook_response", "PreToolUse:Write")]
    assert len(frames[-1]["permission_denials"]) == 1
    assert not (tmp_path / "work" / "note.txt").exists()


def test_hooks_at_the_end_have_run_when_the_command_is_over(tmp_path: Path) -> None:
    settings = command_settings("SessionEnd", "cat > ended")
    run = command("-p", "go", "--settings", settings, env=surroundings(tmp_path, [DONE]), cwd=tmp_path / "work")
    assert run.stdout == b"done\n"
    assert json.loads((tmp_path / "work" / "ended").read_text())["hook_event_name"] == "SessionEnd"


def test_a_broken_hook_is_an_error_that_says_where(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(command_settings("PreToolUse", {"type": "prompt", "prompt": "Is it safe?"}))
    run = command("-p", "go", "--settings", str(file), env=surroundings(tmp_path, [DONE]), cwd=tmp_path / "work")
    assert run.returncode == 1
    assert f"{file}:1: hooks.PreToolUse: hooks of type prompt" in (run.stdout + run.stderr).decode()


@pytest.mark.anyio
@pytest.mark.parametrize("over_the_wire", [False, True])
async def test_settings_hooks_and_callbacks_meet_in_the_public_api(tmp_path: Path, over_the_wire: bool) -> None:
    """A command allows, a Python callback changes what the tool said."""

    async def hide(payload: Any, tool_use_id: str | None, context: Any) -> Any:
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": "[hidden]"}}

    allow = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}})
    env = surroundings(tmp_path, [WRITE, DONE])
    options = ClaudeAgentOptions(
        model=env["TOOLWRIGHT_MODEL"],
        cwd=tmp_path / "work",
        env=env,
        settings=command_settings("PreToolUse", f"echo '{allow}'"),
        hooks={"PostToolUse": [HookMatcher(hooks=[hide])]},
        include_hook_events=True,
        cli_path=program(tmp_path) if over_the_wire else None,
    )
    messages = [message async for message in query(prompt="go", options=options)]
    shown = [message.subtype for message in messages if isinstance(message, HookEventMessage)]
    assert shown == ["hook_started", "hook_response"]
    blocks = [block for message in messages if isinstance(message, UserMessage) for block in message.content]
    assert [block.content for block in blocks if isinstance(block, ToolResultBlock)] == ["[hidden]"]
    assert isinstance(messages[-1], ResultMessage)
    assert (tmp_path / "work" / "note.txt").read_text() == "hello"


@pytest.mark.anyio
async def test_a_deferred_call_reaches_the_caller_and_is_run_when_the_session_is_resumed(tmp_path: Path) -> None:
    defer = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "defer"}})
    env = surroundings(tmp_path, [WRITE, DONE])

    async def ask(**more: Any) -> ResultMessage:
        options = ClaudeAgentOptions(model=env["TOOLWRIGHT_MODEL"], cwd=tmp_path / "work", env=env, **more)
        *_, last = [message async for message in query(prompt="go", options=options)]
        assert isinstance(last, ResultMessage)
        return last

    result = await ask(settings=command_settings("PreToolUse", f"echo '{defer}'"))
    assert result.deferred_tool_use is not None
    assert (result.stop_reason, result.deferred_tool_use.name) == ("tool_deferred", "Write")
    (tmp_path / "script.json").write_text(json.dumps({"steps": [DONE]}))
    await ask(resume=result.session_id, permission_mode="acceptEdits")
    assert (tmp_path / "work" / "note.txt").read_text() == "hello"


@pytest.mark.anyio
@pytest.mark.parametrize("over_the_wire", [False, True])
async def test_a_hook_that_keeps_the_model_is_a_typed_error_for_who_would_change_it(
    tmp_path: Path, over_the_wire: bool
) -> None:
    deny = {"hookEventName": "PreModelSwitch", "permissionDecision": "deny", "permissionDecisionReason": "Too dear."}
    env = surroundings(tmp_path, [DONE])
    (tmp_path / "other.json").write_text(json.dumps({"model": "other", "steps": [{"text": "I am another."}]}))
    options = ClaudeAgentOptions(
        model=env["TOOLWRIGHT_MODEL"],
        cwd=tmp_path / "work",
        env=env,
        settings=command_settings("PreModelSwitch", f"echo '{json.dumps({'hookSpecificOutput': deny})}'"),
        cli_path=program(tmp_path) if over_the_wire else None,
    )
    async with ClaudeSDKClient(options) as client:
        with pytest.raises(ControlError, match=r"The model stays .*: Too dear\."):
            await client.set_model(f"scripted:{tmp_path / 'other.json'}")
        await client.query("go")
        *_, result = [message async for message in client.receive_response()]
    assert isinstance(result, ResultMessage)
    assert result.result == "done"
