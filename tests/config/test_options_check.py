"""Bad options: each a typed error that names the option and says what to do."""

import os
import warnings
from pathlib import Path
from typing import Any

import pytest

from support_runtime import options_for, play
from toolwright.config.session_config import ground_of
from toolwright.models.scripted import Say, ScriptedModel
from toolwright.runtime.assemble import open_session
from toolwright.types import (
    CanUseToolShadowedWarning,
    ClaudeAgentOptions,
    CLIConnectionError,
    HookMatcher,
    OptionsError,
    ResultError,
)

SESSION = "01234567-89ab-4def-8123-456789abcdef"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_turns": "three"}, "max_turns must be a whole number"),
        ({"max_turns": -1}, "max_turns"),
        ({"max_budget_usd": 0}, "max_budget_usd must be an amount above 0"),
        ({"permission_mode": "yolo"}, "permission_mode must be one of default, acceptEdits"),
        ({"resume": "not-a-uuid"}, "resume must be a session's id"),
        ({"resume": "../../etc/passwd"}, "resume"),
        ({"session_id": "x"}, "session_id must be a UUID"),
        ({"resume": SESSION, "continue_conversation": True}, "exclude each other"),
        ({"resume": SESSION, "session_id": SESSION}, "fork_session=True"),
        ({"fork_session": True}, "fork_session needs a session"),
        ({"tools": "Read"}, "tools must be a list"),
        ({"tools": [7]}, "tools must be a list"),
        ({"allowed_tools": "Read"}, "allowed_tools must be a list of rules"),
        ({"env": {"A": 1}}, "env must be a dict of texts"),
        ({"system_prompt": 7}, "system_prompt must be a text"),
        ({"thinking": {"type": "sometimes"}}, "thinking must be"),
        ({"effort": "immense"}, "effort must be one of"),
        ({"output_format": {"type": "xml"}}, "output_format must be"),
        ({"can_use_tool": "yes"}, "can_use_tool must be an async function"),
        ({"hooks": [1]}, "hooks must be a dict"),
        ({"hooks": {"BeforeLunch": []}}, "unknown event 'BeforeLunch'"),
        ({"hooks": {"Stop": [7]}}, "must be a list of HookMatcher"),
        ({"hooks": {"Stop": [HookMatcher(hooks=[7])]}}, "must be a function"),  # type: ignore[list-item]
        ({"mcp_servers": {"x": {"command": 7}}}, r"mcp_servers\['x'\].command: must be a text"),
        ({"mcp_servers": {"x": {"type": "sdk", "name": "x", "instance": 7}}}, "instance"),
        ({"permission_prompt_tool_name": "ask"}, "is not the tool of a server"),
        ({"resume_session_at": SESSION}, "need resume"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_starts(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match=said):
        open_session(options_for(tmp_path, ScriptedModel([]), **options))


def test_options_of_another_kind_are_refused() -> None:
    with pytest.raises(OptionsError, match="must be a ClaudeAgentOptions, not dict"):
        open_session({"model": "x"})  # type: ignore[arg-type]


def test_a_callback_that_nobody_will_ask_is_warned_about(tmp_path: Path) -> None:
    async def ask(*given: Any) -> Any: ...

    def warned(**options: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            open_session(options_for(tmp_path, ScriptedModel([]), **options))
        return [str(each.message) for each in caught if each.category is CanUseToolShadowedWarning]

    for mode in ("bypassPermissions", "dontAsk"):
        [text] = warned(can_use_tool=ask, permission_mode=mode, allowed_tools=["Read"])
        assert mode in text
    [text] = warned(can_use_tool=ask, allowed_tools=["Read", "Bash(ls)", "Glob(*)", "mcp__srv", "Read"])
    assert "about Read, Glob, mcp__srv:" in text
    assert warned(can_use_tool=ask, allowed_tools=["Bash(ls)"], permission_mode="acceptEdits") == []
    assert warned(allowed_tools=["Read"], permission_mode="bypassPermissions") == []


def test_a_deleted_working_folder_is_told_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    try:
        with pytest.raises(CLIConnectionError, match="The working directory has been deleted: go to another folder"):
            ground_of(ClaudeAgentOptions())
    finally:
        os.chdir("/")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tools": ["Raed"]}, "no built-in tool Raed"),
        ({"tools": [lambda *things: things]}, "tools:"),
        ({"allowed_tools": ["Bash(git"]}, "Bash"),
        ({"settings": "{not json"}, "not valid JSON"),
        ({"settings": "/no/such/file.json"}, "cannot read"),
        ({"settings": '{"permissions": {"deny": "Bash"}}'}, "permissions.deny: expected a list, got a text"),
        ({"settings": '{"permissions": {"Deny": []}}'}, "permissions.Deny: unknown key; if 'deny' is meant"),
        ({"settings": '{"permissions": {"defaultMode": "yolo"}}'}, "defaultMode"),
        ({"system_prompt": {"type": "file", "path": "/no/such"}}, "cannot read the file"),
        ({"add_dirs": ["/no/such/folder"]}, "add_dirs"),
        ({"user": "nobody-of-this-name"}, "nobody-of-this-name"),
        ({"env": {"CLAUDE_CODE_MAX_RETRIES": "many"}}, "CLAUDE_CODE_MAX_RETRIES must be a whole number"),
        ({"env": {"CLAUDE_CONFIG_DIR": "relative"}}, "CLAUDE_CONFIG_DIR must be an absolute path"),
        ({"fallback_model": "no-such-model"}, "no-such-model"),
    ],
)
async def test_what_can_only_be_found_out_at_the_start_is_named_there(
    options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(OptionsError, match=said):
        await play(tmp_path, ScriptedModel([Say("never")]), **options)


@pytest.mark.anyio
async def test_a_folder_that_is_not_there_is_a_connection_error() -> None:
    session = open_session(ClaudeAgentOptions(cwd="/no/such/folder"))
    with pytest.raises(CLIConnectionError, match="/no/such/folder"):
        await session.start()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "said"),
    [("no-such-model", "no model"), ("gpt-5", "openai:gpt-5"), ("scripted:/no/file", "/no/file"), ("openai:", "colon")],
)
async def test_an_unknown_model_says_how_models_are_named(name: str, said: str, tmp_path: Path) -> None:
    options = options_for(tmp_path, name, env={"ANTHROPIC_BASE_URL": "", "ANTHROPIC_API_KEY": ""})
    with pytest.raises(OptionsError, match=said):
        await open_session(options).start()


@pytest.mark.anyio
async def test_a_session_that_is_not_there_cannot_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match=f"No conversation found with session ID: {SESSION}") as caught:
        await play(tmp_path, ScriptedModel([]), resume=SESSION)
    assert caught.value.subtype == "error_during_execution"


@pytest.mark.anyio
async def test_options_without_an_effect_are_named_in_the_diagnostics(tmp_path: Path) -> None:
    lines: list[str] = []
    await play(
        tmp_path,
        ScriptedModel([Say("hi")]),
        task_budget={"total": 9},
        settings='{"outputStyle": "loud"}',
        stderr=lines.append,
    )
    assert len([line for line in lines if "has no effect in this version" in line]) == 2


@pytest.mark.anyio
async def test_a_diagnostics_callback_that_raises_does_not_break_the_session(tmp_path: Path) -> None:
    def explode(line: str) -> None:
        raise RuntimeError(line)

    frames = await play(tmp_path, ScriptedModel([Say("hi")]), task_budget={"total": 9}, stderr=explode)
    assert frames[-1]["result"] == "hi"
