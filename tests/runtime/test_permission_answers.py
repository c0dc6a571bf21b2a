"""Permission answers as JSON: of a tool that is asked in a person's place."""

import json
from pathlib import Path
from typing import Any

import pytest

from support_runtime import play, results, text_of
from toolwright.mcp.author.server import create_sdk_mcp_server
from toolwright.mcp.author.tool import tool
from toolwright.models.scripted import Call, Say, ScriptedModel
from toolwright.runtime.permission_answers import permission_result
from toolwright.types import ClaudeAgentOptions, OptionsError, PermissionResultDeny

pytestmark = pytest.mark.anyio

NAME = "mcp__guard__approve"


def guard(answer: Any, asked: list[dict[str, Any]]) -> Any:
    @tool("approve", "Says yes or no", {"tool_name": str, "input": dict, "tool_use_id": str})
    async def approve(given: dict[str, Any]) -> dict[str, Any]:
        asked.append(given)
        if isinstance(answer, Exception):
            raise answer
        return {"content": [{"type": "text", "text": answer if isinstance(answer, str) else json.dumps(answer)}]}

    return create_sdk_mcp_server("guard", tools=[approve])


async def touched(folder: Path, answer: Any, *, name: str = NAME, **more: Any) -> tuple[list[str], str, list[dict[str, Any]]]:
    """The files there are afterwards, what the call's result says, and what the tool was asked."""
    asked: list[dict[str, Any]] = []
    model = ScriptedModel([Call("Bash", {"command": "touch x"}, id="toolu_1"), Say("done")])
    servers = {"guard": guard(answer, asked)}
    frames = await play(folder, model, mcp_servers=servers, permission_prompt_tool_name=name, **more)
    return [path.name for path in folder.glob("workspace/[xy]")], text_of(results(frames)[0]), asked


async def test_a_tool_is_asked_in_a_persons_place(tmp_path: Path) -> None:
    files, _, asked = await touched(tmp_path, {"behavior": "allow"})
    assert files == ["x"]
    assert asked == [{"tool_name": "Bash", "input": {"command": "touch x"}, "tool_use_id": "toolu_1"}]


async def test_it_may_change_the_call(tmp_path: Path) -> None:
    files, _, _ = await touched(tmp_path, {"behavior": "allow", "updatedInput": {"command": "touch y"}})
    assert files == ["y"]


async def test_its_no_is_told_to_the_model(tmp_path: Path) -> None:
    assert (await touched(tmp_path, {"behavior": "deny", "message": "Not today."}))[:2] == ([], "Not today.")


@pytest.mark.parametrize("answer", ["yes", "[]", {"behavior": "perhaps"}, {}, "", RuntimeError("broken")])
async def test_an_answer_that_is_none_denies(answer: Any, tmp_path: Path) -> None:
    files, told, _ = await touched(tmp_path, answer)
    assert files == []
    assert "not run" in told


async def test_a_tool_that_is_not_there_denies(tmp_path: Path) -> None:
    files, told, _ = await touched(tmp_path, {"behavior": "allow"}, name="mcp__guard__missing")
    assert files == []
    assert "mcp__guard__missing is not there" in told


async def test_what_a_rule_denies_is_not_even_asked_about(tmp_path: Path) -> None:
    files, _, asked = await touched(tmp_path, {"behavior": "allow"}, disallowed_tools=["Bash"])
    assert (files, asked) == ([], [])


async def test_rules_that_it_sends_along_are_not_taken(tmp_path: Path) -> None:
    rule = {"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "destination": "session"}
    asked: list[dict[str, Any]] = []
    model = ScriptedModel([Call("Bash", {"command": "touch x"}), Call("Bash", {"command": "touch y"}), Say("done")])
    servers = {"guard": guard({"behavior": "allow", "updatedPermissions": [rule]}, asked)}
    await play(tmp_path, model, mcp_servers=servers, permission_prompt_tool_name=NAME)
    assert len(asked) == 2


async def test_a_name_that_is_no_servers_tool_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match="'Bash' is not the tool of a server"):
        await play(tmp_path, ScriptedModel([Say("hi")]), permission_prompt_tool_name="Bash")


def test_an_answer_of_another_kind_denies() -> None:
    assert isinstance(permission_result({"behavior": "maybe"}), PermissionResultDeny)
    assert ClaudeAgentOptions().permission_prompt_tool_name is None
