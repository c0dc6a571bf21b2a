import json
from pathlib import Path
from typing import Any

import pytest

from toolwright.client import argv
from toolwright.types import (
    ClaudeAgentOptions,
    OptionsError,
    PermissionResult,
    PermissionResultAllow,
    ToolPermissionContext,
)

ALWAYS_FIRST = ["--output-format", "stream-json", "--verbose"]
ALWAYS_LAST = ["--input-format", "stream-json"]
MINIMAL = ["--system-prompt", ""]


def flags(**fields: Any) -> list[str]:
    """The flags of these options, without those that are always there."""
    arguments = argv.command(ClaudeAgentOptions(cli_path="/bin/agent", **fields))
    assert arguments[0] == "/bin/agent"
    assert arguments[1:4] == ALWAYS_FIRST
    assert arguments[-2:] == ALWAYS_LAST
    return arguments[4:-2]


async def allow(name: str, tool_input: dict[str, Any], context: ToolPermissionContext) -> PermissionResult:
    return PermissionResultAllow()


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        (None, ["--system-prompt", ""]),
        ("Be brief.", ["--system-prompt", "Be brief."]),
        ({"type": "custom", "prompt": "Be brief."}, ["--system-prompt", "Be brief."]),
        ({"type": "file", "path": "/p.md"}, ["--system-prompt-file", "/p.md"]),
        ({"type": "preset", "preset": "claude_code"}, []),
        ({"type": "preset", "preset": "claude_code", "append": "Be brief."}, ["--append-system-prompt", "Be brief."]),
    ],
)
def test_every_form_of_the_system_prompt(prompt: Any, expected: list[str]) -> None:
    assert flags(system_prompt=prompt) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"tools": []}, ["--tools", ""]),
        ({"tools": ["Read", "Bash"]}, ["--tools", "Read,Bash"]),
        ({"tools": {"type": "preset", "preset": "claude_code"}}, ["--tools", "default"]),
        ({"allowed_tools": ["Read", "Bash(git log:*)"]}, ["--allowedTools", "Read,Bash(git log:*)"]),
        ({"disallowed_tools": ["Write"]}, ["--disallowedTools", "Write"]),
        ({"max_turns": 3}, ["--max-turns", "3"]),
        ({"max_turns": 0}, []),
        ({"max_budget_usd": 0.5}, ["--max-budget-usd", "0.5"]),
        ({"task_budget": {"total": 9}}, ["--task-budget", "9"]),
        ({"model": "m", "fallback_model": "f"}, ["--model", "m", "--fallback-model", "f"]),
        ({"betas": ["b1", "b2"]}, ["--betas", "b1,b2"]),
        ({"permission_prompt_tool_name": "mcp__p__ask"}, ["--permission-prompt-tool", "mcp__p__ask"]),
        ({"can_use_tool": allow}, ["--permission-prompt-tool", "stdio"]),
        ({"permission_mode": "plan"}, ["--permission-mode", "plan"]),
        ({"continue_conversation": True}, ["--continue"]),
        ({"resume": "--evil"}, ["--resume=--evil"]),
        ({"session_id": "s"}, ["--session-id=s"]),
        ({"settings": "/s.json"}, ["--settings", "/s.json"]),
        ({"add_dirs": ["/a", Path("/b")]}, ["--add-dir", "/a", "--add-dir", "/b"]),
        ({"boundary": "strict"}, ["--boundary", "strict"]),
        ({"boundary": "default"}, []),
        ({"mcp_servers": "/mcp.json"}, ["--mcp-config", "/mcp.json"]),
        ({"include_partial_messages": True}, ["--include-partial-messages"]),
        ({"include_hook_events": True}, ["--include-hook-events"]),
        ({"strict_mcp_config": True}, ["--strict-mcp-config"]),
        ({"fork_session": True}, ["--fork-session"]),
        ({"persist_session": False}, ["--no-session-persistence"]),
        ({"resume_session_at": "m", "resume_drops_turn": "t"}, ["--resume-session-at=m", "--resume-drops-turn=t"]),
        ({"setting_sources": []}, ["--setting-sources="]),
        ({"setting_sources": ["user", "local"]}, ["--setting-sources=user,local"]),
        ({"plugins": [{"type": "local", "path": "/p"}]}, ["--plugin-dir", "/p"]),
        ({"extra_args": {"debug": None, "a": "v", "b": "-v"}}, ["--debug", "--a", "v", "--b=-v"]),
        ({"max_thinking_tokens": 5}, ["--max-thinking-tokens", "5"]),
        ({"thinking": {"type": "adaptive"}, "max_thinking_tokens": 5}, ["--thinking", "adaptive"]),
        ({"thinking": {"type": "disabled"}}, ["--thinking", "disabled"]),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 9, "display": "omitted"}},
            ["--max-thinking-tokens", "9", "--thinking-display", "omitted"],
        ),
        ({"effort": "high"}, ["--effort", "high"]),
        ({"output_format": {"type": "json_schema", "schema": {"type": "object"}}}, ["--json-schema", '{"type": "object"}']),
        ({"output_format": {"type": "text"}}, []),
        ({"agents": {}, "hooks": {}, "forward_subagent_text": True}, []),
    ],
)
def test_an_option_becomes_its_flag(fields: dict[str, Any], expected: list[str]) -> None:
    assert flags(**fields) == MINIMAL + expected


@pytest.mark.parametrize(
    ("skills", "expected"),
    [
        ("all", ["--allowedTools", "Read,Skill", "--setting-sources=user,project"]),
        (["a", "b"], ["--allowedTools", "Read,Skill(a),Skill(b)", "--setting-sources=user,project"]),
        ([], ["--allowedTools", "Read", "--setting-sources=user,project"]),
    ],
)
def test_skills_are_allowed_and_bring_their_setting_sources(skills: Any, expected: list[str]) -> None:
    assert flags(skills=skills, allowed_tools=["Read"]) == MINIMAL + expected


@pytest.mark.parametrize("name", ["", "a(b", "a,b", "*", "/a", "a\nb"])
def test_a_skill_name_that_could_be_a_rule_is_refused(name: str) -> None:
    with pytest.raises(OptionsError, match="skills"):
        flags(skills=[name])


def test_servers_in_this_process_are_named_without_their_object() -> None:
    servers = {"here": {"type": "sdk", "name": "here", "instance": object()}, "there": {"command": "x"}}
    [_, _, flag, value] = flags(mcp_servers=servers)
    assert flag == "--mcp-config"
    assert json.loads(value) == {"mcpServers": {"here": {"type": "sdk", "name": "here"}, "there": {"command": "x"}}}


def test_the_sandbox_goes_into_the_settings(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"model": "m"}')
    for settings in (str(path), '{"model": "m"}'):
        [_, _, flag, value] = flags(settings=settings, sandbox={"enabled": True})
        assert flag == "--settings"
        assert json.loads(value) == {"model": "m", "sandbox": {"enabled": True}}
    assert json.loads(flags(sandbox={"enabled": True})[-1]) == {"sandbox": {"enabled": True}}


@pytest.mark.parametrize("settings", ["/nowhere/settings.json", "{broken", '{"a":1} x'])
def test_settings_that_cannot_be_read_are_refused_when_the_sandbox_must_go_in(settings: str) -> None:
    with pytest.raises(OptionsError, match="settings"):
        flags(settings=settings, sandbox={"enabled": True})


@pytest.mark.parametrize(
    "fields",
    [{"tools": [print]}, {"system_prompt": {"type": "poem"}}, {"plugins": [{"type": "remote", "path": "/p"}]}],
)
def test_what_has_no_flag_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(OptionsError, match=next(iter(fields))):
        flags(**fields)


def test_without_a_program_there_is_no_command_line() -> None:
    with pytest.raises(OptionsError, match="cli_path"):
        argv.command(ClaudeAgentOptions())


def test_the_environment_is_inherited_and_says_who_calls() -> None:
    made = argv.environment(ClaudeAgentOptions(cwd="/work", client_app="app"), {"HOME": "/h", "CLAUDECODE": "1"})
    assert made["HOME"] == "/h"
    assert "CLAUDECODE" not in made
    assert made["CLAUDE_CODE_ENTRYPOINT"] == "sdk-py"
    assert made["CLAUDE_AGENT_SDK_VERSION"]
    assert made["CLAUDE_CODE_SDK_READS_SESSION_STATE"] == "1"
    assert made["PWD"] == "/work"
    assert made["CLAUDE_AGENT_SDK_CLIENT_APP"] == "app"
    assert "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING" not in made


def test_the_callers_environment_comes_last_except_for_the_version() -> None:
    own = {"CLAUDE_CODE_ENTRYPOINT": "mine", "CLAUDE_CODE_SDK_READS_SESSION_STATE": "0", "CLAUDE_AGENT_SDK_VERSION": "9"}
    made = argv.environment(ClaudeAgentOptions(env=own, enable_file_checkpointing=True), {"A": "1"})
    assert made["CLAUDE_CODE_ENTRYPOINT"] == "mine"
    assert made["CLAUDE_CODE_SDK_READS_SESSION_STATE"] == "0"
    assert made["CLAUDE_AGENT_SDK_VERSION"] != "9"
    assert made["CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"] == "true"


@pytest.mark.parametrize(
    ("options", "hidden"),
    [
        ({"settings": '{"env": {"ANTHROPIC_API_KEY": "x"}}'}, 1),
        ({"settings": '{"apiKeyHelper": "echo sk-ant-0123456789abcdef01"}'}, 1),
        ({"mcp_servers": {"far": {"type": "http", "url": "https://x.example", "headers": {"Authorization": "x"}}}}, 1),
        ({"settings": '{"env": {}}', "mcp_servers": {"near": {"type": "stdio", "command": "x", "env": {"A": "b"}}}}, 2),
        ({"settings": '{"model": "x"}'}, 0),
        ({"settings": "/folder/settings.json"}, 0),
        ({"mcp_servers": {"far": {"type": "http", "url": "https://x.example"}}}, 0),
    ],
)
def test_inline_json_that_may_hold_a_secret_is_not_for_the_list_of_processes(options: dict[str, Any], hidden: int) -> None:
    assert len(argv.private_arguments(argv.command(ClaudeAgentOptions(cli_path="x", **options)))) == hidden
