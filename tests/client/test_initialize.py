from typing import Any

import pytest

from toolwright.client.initialize import HookTable, check_answer, initialize_extras, initialize_request, initialize_seconds
from toolwright.types import AgentDefinition, ClaudeAgentOptions, CLIConnectionError, HookMatcher


async def first(payload: Any, tool_use_id: str | None, context: Any) -> Any:
    return {}


async def second(payload: Any, tool_use_id: str | None, context: Any) -> Any:
    return {}


def test_hooks_travel_as_ids_in_the_order_they_are_given() -> None:
    table = HookTable(
        {
            "PreToolUse": [HookMatcher("Bash", [first, second], timeout=3.5), HookMatcher(None, [first], on_failure="block")],
            "PostToolUse": [],
            "Stop": [HookMatcher(hooks=[second])],
        }
    )
    assert table.rows == {
        "PreToolUse": [
            {"matcher": "Bash", "hookCallbackIds": ["hook_0", "hook_1"], "timeout": 3.5},
            {"matcher": None, "hookCallbackIds": ["hook_2"], "onFailure": "block"},
        ],
        "Stop": [{"matcher": None, "hookCallbackIds": ["hook_3"]}],
    }
    assert table.find("hook_1") is second
    assert table.find("hook_2") is first
    assert table.find("hook_4") is None
    assert table.find(None) is None


def test_without_anything_to_say_the_request_is_bare() -> None:
    options = ClaudeAgentOptions()
    assert initialize_request(HookTable({}), initialize_extras(options)) == {"subtype": "initialize", "hooks": None}


def test_options_that_do_not_fit_on_a_command_line_are_in_the_request() -> None:
    options = ClaudeAgentOptions(
        agents={"reviewer": AgentDefinition("Reviews", "You review.", tools=["Read"], maxTurns=3)},
        skills=["pdf"],
        forward_subagent_text=True,
        system_prompt={"type": "preset", "preset": "claude_code", "exclude_dynamic_sections": True, "snapshot": False},
    )
    assert initialize_extras(options) == {
        "agents": {"reviewer": {"description": "Reviews", "prompt": "You review.", "tools": ["Read"], "maxTurns": 3}},
        "excludeDynamicSections": True,
        "systemPromptSnapshot": False,
        "skills": ["pdf"],
        "forwardSubagentText": True,
    }
    assert initialize_extras(ClaudeAgentOptions(skills="all")) == {}


@pytest.mark.parametrize(("milliseconds", "seconds"), [("", 60.0), ("1000", 60.0), ("90000", 90.0), ("soon", 60.0)])
def test_the_environment_can_only_lengthen_the_wait(milliseconds: str, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_STREAM_CLOSE_TIMEOUT", milliseconds)
    assert initialize_seconds() == seconds


def test_a_hook_that_must_block_needs_a_session_that_knows_how() -> None:
    careful = HookTable({"PreToolUse": [HookMatcher(hooks=[first], on_failure="block")]})
    check_answer(careful, {"hook_on_failure_supported": True})
    check_answer(HookTable({}), {})
    with pytest.raises(CLIConnectionError, match="on_failure"):
        check_answer(careful, {})
