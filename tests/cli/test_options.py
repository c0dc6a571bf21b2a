"""What the flags mean."""

from pathlib import Path
from typing import Any

import pytest

from toolwright.cli.flags import UsageError, parse
from toolwright.cli.options import options_from_flags
from toolwright.types import AgentDefinition, ClaudeAgentOptions

PRESET = {"type": "preset", "preset": "claude_code"}


def options(*arguments: str, **environment: str) -> ClaudeAgentOptions:
    return options_from_flags(parse(arguments).values, environment)


def test_no_flags_are_the_defaults_with_the_built_in_instructions() -> None:
    assert options() == ClaudeAgentOptions(system_prompt=PRESET)  # type: ignore[arg-type]  # a plain dict, as JSON gives it


def test_what_an_sdk_sends_by_default_is_a_session_without_instructions() -> None:
    sent = options("--output-format", "stream-json", "--verbose", "--system-prompt", "", "--input-format", "stream-json")
    assert sent == ClaudeAgentOptions(system_prompt=None)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--system-prompt", "Be brief"], "Be brief"),
        (["--system-prompt", "Be brief", "--append-system-prompt", "Rhyme"], "Be brief\n\nRhyme"),
        (["--system-prompt-file", "p.md"], {"type": "file", "path": "p.md"}),
        (["--append-system-prompt", "Rhyme"], {**PRESET, "append": "Rhyme"}),
    ],
)
def test_instructions_come_in_four_forms(arguments: list[str], expected: Any) -> None:
    assert options(*arguments).system_prompt == expected


def test_instructions_to_append_can_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "more.md").write_text("Rhyme")
    assert options("--append-system-prompt-file", str(tmp_path / "more.md")).system_prompt == {**PRESET, "append": "Rhyme"}
    with pytest.raises(UsageError, match="cannot read"):
        options("--append-system-prompt-file", str(tmp_path / "missing.md"))


@pytest.mark.parametrize(
    ("arguments", "field", "expected"),
    [
        (["--tools", ""], "tools", []),
        (["--tools", "default"], "tools", PRESET),
        (["--tools", "Read,Bash"], "tools", ["Read", "Bash"]),
        (["--allowedTools", "Read,Bash(ls:*)"], "allowed_tools", ["Read", "Bash(ls:*)"]),
        (["--disallowedTools", "Bash"], "disallowed_tools", ["Bash"]),
        (["--max-turns", "4"], "max_turns", 4),
        (["--max-turns", "0"], "max_turns", None),
        (["--max-budget-usd", "0.5"], "max_budget_usd", 0.5),
        (["--task-budget", "9000"], "task_budget", {"total": 9000}),
        (["--model", "claude-x"], "model", "claude-x"),
        (["--fallback-model", "claude-y"], "fallback_model", "claude-y"),
        (["--betas", "a,b"], "betas", ["a", "b"]),
        (["--permission-prompt-tool", "stdio"], "permission_prompt_tool_name", "stdio"),
        (["--permission-mode", "plan"], "permission_mode", "plan"),
        (["--dangerously-skip-permissions"], "permission_mode", "bypassPermissions"),
        (["--continue"], "continue_conversation", True),
        (["--resume=abc"], "resume", "abc"),
        (["--session-id=abc"], "session_id", "abc"),
        (["--fork-session"], "fork_session", True),
        (["--no-session-persistence"], "persist_session", False),
        (["--resume-session-at=m"], "resume_session_at", "m"),
        (["--resume-drops-turn=m"], "resume_drops_turn", "m"),
        (["--settings", "{}"], "settings", "{}"),
        (["--add-dir", "a", "--add-dir", "b"], "add_dirs", ["a", "b"]),
        (["--boundary", "strict"], "boundary", "strict"),
        (["--include-partial-messages"], "include_partial_messages", True),
        (["--include-hook-events"], "include_hook_events", True),
        (["--strict-mcp-config"], "strict_mcp_config", True),
        (["--setting-sources="], "setting_sources", []),
        (["--setting-sources=user,local"], "setting_sources", ["user", "local"]),
        (["--plugin-dir", "p"], "plugins", [{"type": "local", "path": "p"}]),
        (["--thinking", "adaptive"], "thinking", {"type": "adaptive"}),
        (["--thinking", "disabled"], "thinking", {"type": "disabled"}),
        (["--max-thinking-tokens", "2000"], "thinking", {"type": "enabled", "budget_tokens": 2000}),
        (["--max-thinking-tokens", "0"], "thinking", {"type": "disabled"}),
        (["--thinking-display", "omitted"], "thinking", {"type": "adaptive", "display": "omitted"}),
        (["--effort", "high"], "effort", "high"),
        (["--json-schema", '{"type":"object"}'], "output_format", {"type": "json_schema", "schema": {"type": "object"}}),
        (["--replay-user-messages"], "extra_args", {"replay-user-messages": None}),
        (["--session-mirror"], "extra_args", {"session-mirror": None}),
        (["--rewind-files", "id"], "extra_args", {"rewind-files": "id"}),
    ],
)
def test_each_flag_sets_its_option(arguments: list[str], field: str, expected: Any) -> None:
    assert getattr(options(*arguments), field) == expected


def test_mcp_servers_come_as_json_or_from_files_and_are_put_together(tmp_path: Path) -> None:
    file = tmp_path / "servers.json"
    file.write_text('{"mcpServers": {"b": {"command": "b"}}}')
    given = options("--mcp-config", '{"mcpServers": {"a": {"type": "sdk", "name": "a"}}}', "--mcp-config", str(file))
    assert given.mcp_servers == {"a": {"type": "sdk", "name": "a"}, "b": {"command": "b"}}


def test_agents_become_definitions() -> None:
    given = options("--agents", '{"critic": {"description": "Finds faults", "prompt": "Find faults", "tools": ["Read"]}}')
    assert given.agents == {"critic": AgentDefinition(description="Finds faults", prompt="Find faults", tools=["Read"])}


def test_the_environment_fills_in_what_flags_leave_open() -> None:
    assert options(CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING="true").enable_file_checkpointing
    assert options(CLAUDE_AGENT_SDK_CLIENT_APP="app/1").client_app == "app/1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resume=a", "--continue"], "--resume and --continue exclude each other"),
        (["--system-prompt", "a", "--system-prompt-file", "b"], "exclude each other"),
        (["--system-prompt-file", "b", "--append-system-prompt", "c"], "put it into the file"),
        (["--setting-sources", "user,global"], "--setting-sources knows user, project, local; got global"),
        (["--thinking", "enabled"], "needs --max-thinking-tokens"),
        (["--mcp-config", "{"], "--mcp-config is not valid JSON"),
        (["--mcp-config", '{"mcpServers": []}'], "--mcp-config must be"),
        (["--mcp-config", "/nonexistent.json"], "--mcp-config: cannot read /nonexistent.json"),
        (["--agents", '{"a": {"colour": "red"}}'], "each agent is an object with description and prompt"),
        (["--agents", '{"a": "b"}'], "each agent is an object"),
    ],
)
def test_contradictions_are_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        options(*arguments)
