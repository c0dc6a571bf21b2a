from typing import Any

import pytest

from toolwright.client.answers import HostAnswers
from toolwright.client.initialize import HookTable
from toolwright.mcp.author.server import InProcessServer
from toolwright.runtime.interfaces import Host
from toolwright.types import (
    ControlError,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ToolPermissionContext,
)

pytestmark = pytest.mark.anyio

ASK = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}}


def host_that_says(result: Any, seen: list[Any] | None = None) -> HostAnswers:
    async def can_use_tool(name: str, tool_input: dict[str, Any], context: ToolPermissionContext) -> Any:
        if seen is not None:
            seen.extend([name, tool_input, context])
        return result

    return HostAnswers(Host(can_use_tool=can_use_tool), HookTable({}))


def host_with_hook(hook: Any) -> HostAnswers:
    return HostAnswers(Host(), HookTable({"Stop": [HookMatcher(hooks=[hook])]}))


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        (PermissionResultAllow(), {"behavior": "allow", "updatedInput": {"command": "ls"}}),
        (PermissionResultAllow(updated_input={}), {"behavior": "allow", "updatedInput": {}}),
        (
            PermissionResultAllow(updated_permissions=[PermissionUpdate("setMode", mode="plan", destination="session")]),
            {
                "behavior": "allow",
                "updatedInput": {"command": "ls"},
                "updatedPermissions": [{"type": "setMode", "mode": "plan", "destination": "session"}],
            },
        ),
        (PermissionResultDeny(message="no"), {"behavior": "deny", "message": "no"}),
        (PermissionResultDeny(message="no", interrupt=True), {"behavior": "deny", "message": "no", "interrupt": True}),
    ],
)
async def test_a_permission_result_in_the_wires_words(result: Any, answer: dict[str, Any]) -> None:
    assert await host_that_says(result).answer(ASK) == answer


async def test_the_callback_is_told_all_that_is_known_about_the_call() -> None:
    seen: list[Any] = []
    details = {"tool_use_id": "t1", "agent_id": "a", "blocked_path": "/p", "decision_reason": "r"}
    labels = {"title": "T", "display_name": "D", "description": "E"}
    suggestions = [{"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "destination": "session"}]
    request = {**ASK, **details, **labels, "permission_suggestions": suggestions, "unknown": 1}
    await host_that_says(PermissionResultAllow(), seen).answer(request)
    name, tool_input, context = seen
    assert (name, tool_input) == ("Bash", {"command": "ls"})
    assert [suggestion.to_dict()["type"] for suggestion in context.suggestions] == ["addRules"]
    for key, value in {**details, **labels}.items():
        assert getattr(context, key) == value


async def test_a_callback_must_give_one_of_the_two_results() -> None:
    with pytest.raises(TypeError, match="PermissionResultAllow or PermissionResultDeny, not bool"):
        await host_that_says(True).answer(ASK)


async def test_without_a_callback_the_question_is_refused() -> None:
    with pytest.raises(ControlError, match="can_use_tool"):
        await HostAnswers(Host(), HookTable({})).answer(ASK)


async def test_a_hook_gets_its_input_and_its_answer_loses_the_python_spelling() -> None:
    seen: list[Any] = []

    async def hook(payload: Any, tool_use_id: str | None, context: Any) -> Any:
        seen.extend([payload, tool_use_id, context])
        return {"async_": True, "continue_": False, "systemMessage": "hi"}

    request = {"subtype": "hook_callback", "callback_id": "hook_0", "input": {"x": 1}, "tool_use_id": "t1"}
    assert await host_with_hook(hook).answer(request) == {"async": True, "continue": False, "systemMessage": "hi"}
    assert seen == [{"x": 1}, "t1", {"signal": None}]


async def test_a_hook_may_say_nothing_but_not_something_else() -> None:
    async def silent(payload: Any, tool_use_id: str | None, context: Any) -> Any:
        return None

    async def wrong(payload: Any, tool_use_id: str | None, context: Any) -> Any:
        return "deny"

    request = {"subtype": "hook_callback", "callback_id": "hook_0", "input": {}}
    assert await host_with_hook(silent).answer(request) == {}
    with pytest.raises(TypeError, match="must return a dict, not str"):
        await host_with_hook(wrong).answer(request)


async def test_an_unknown_hook_is_refused() -> None:
    with pytest.raises(ControlError, match="'hook_9'"):
        await HostAnswers(Host(), HookTable({})).answer({"subtype": "hook_callback", "callback_id": "hook_9"})


async def test_messages_reach_the_server_in_this_process() -> None:
    def add(a: int, b: int) -> str:
        """Add two numbers."""
        return str(a + b)

    answers = HostAnswers(Host(tool_servers={"calc": InProcessServer("calc", tools=[add])}), HookTable({}))

    async def say(message: dict[str, Any], server: str = "calc") -> Any:
        request = {"subtype": "mcp_message", "server_name": server, "message": {"jsonrpc": "2.0", **message}}
        return (await answers.answer(request))["mcp_response"]

    called = await say({"id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 2, "b": 3}}})
    assert called["id"] == 1
    assert called["result"]["content"] == [{"type": "text", "text": "5"}]
    assert await say({"method": "notifications/initialized"}) == {"jsonrpc": "2.0", "result": {}}
    missing = await say({"id": 2, "method": "tools/list"}, server="other")
    assert (missing["id"], missing["error"]["code"]) == (2, -32601)


async def test_an_unknown_question_is_refused_by_name() -> None:
    with pytest.raises(ControlError, match="Unsupported control request subtype: dance") as caught:
        await HostAnswers(Host(), HookTable({})).answer({"subtype": "dance"})
    assert caught.value.code == "unsupported_request"
