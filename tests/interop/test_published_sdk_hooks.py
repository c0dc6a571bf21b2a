"""Hooks of the published SDK, run by our runtime: what they are told and what their answers do."""

from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import HookMatcher, PermissionResultAllow, PermissionResultDeny, create_sdk_mcp_server, tool
from published import (
    ON_ASYNCIO,
    Place,
    always,
    ask,
    bash,
    call,
    content_text,
    hooked,
    kinds,
    result,
    results,
    say,
    specific,
    texts,
)

from toolwright.testing import ModelServer, ToolCall, answer

pytestmark = ON_ASYNCIO

TOUCH = bash("touch x", id="t1")
BASE = {"session_id", "transcript_path", "cwd", "hook_event_name", "permission_mode", "prompt_id"}
EXPECTED = {
    "UserPromptSubmit": {"prompt"},
    "PreToolUse": {"tool_name", "tool_input", "tool_use_id"},
    "PostToolUse": {"tool_name", "tool_input", "tool_use_id", "tool_response", "duration_ms"},
    "PostToolUseFailure": {"tool_name", "tool_input", "tool_use_id", "error", "is_interrupt", "duration_ms"},
    "Stop": {"stop_hook_active", "last_assistant_message", "background_tasks", "session_crons"},
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def pre(**fields: Any) -> Any:
    return hooked(PreToolUse=always(specific("PreToolUse", **fields)))


async def allow(name: str, given: dict[str, Any], context: Any) -> PermissionResultAllow:
    return PermissionResultAllow()


async def test_every_event_tells_what_clients_expect(place: Place) -> None:
    seen: list[dict[str, Any]] = []
    steps = bash("echo hi"), bash("exit 3"), say("done")
    messages = await ask(
        place.options(*steps, allowed_tools=["Bash"], hooks=hooked(**{event: always({}, seen) for event in EXPECTED}))
    )
    names = [payload["hook_event_name"] for payload in seen]
    assert names == ["UserPromptSubmit", "PreToolUse", "PostToolUse", "PreToolUse", "PostToolUseFailure", "Stop"]
    for payload in seen:
        assert set(payload) >= BASE | EXPECTED[payload["hook_event_name"]]
        assert payload["session_id"] == result(messages).session_id
        assert Path(payload["transcript_path"]).name == f"{payload['session_id']}.jsonl"
    assert seen[2]["tool_response"]["stdout"] == "hi"
    assert seen[4]["error"].startswith("Exit code 3")
    assert (seen[5]["stop_hook_active"], seen[5]["last_assistant_message"]) == (False, "done")


async def test_callbacks_get_the_id_of_their_call(place: Place) -> None:
    ids: list[str | None] = []

    async def note(payload: Any, tool_use_id: str | None, context: Any) -> Any:
        ids.append(tool_use_id)
        return {}

    await ask(place.options(TOUCH, say("done"), allowed_tools=["Bash"], hooks=hooked(PreToolUse=note, PostToolUse=note)))
    assert ids == ["t1", "t1"]


# PreToolUse


@pytest.mark.parametrize(
    "answer_given",
    [
        specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="not here"),
        {"decision": "block", "reason": "not here"},
    ],
    ids=["deny", "block"],
)
async def test_a_denial_is_an_error_result_and_listed(answer_given: dict[str, Any], place: Place) -> None:
    hooks = hooked(PreToolUse=always(answer_given))
    messages = await ask(place.options(TOUCH, say("I see."), allowed_tools=["Bash"], hooks=hooks))
    (block,) = results(messages)
    assert block.is_error is True
    assert "not here" in content_text(block)
    assert [denial["tool_use_id"] for denial in result(messages).permission_denials] == ["t1"]
    assert place.names() == []


async def test_allow_skips_the_person(place: Place) -> None:
    async def never(name: str, given: dict[str, Any], context: Any) -> Any:
        raise AssertionError("asked")

    messages = await ask(place.options(TOUCH, say("done"), can_use_tool=never, hooks=pre(permissionDecision="allow")))
    assert place.names() == ["x"]
    assert result(messages).permission_denials == []


async def test_ask_goes_to_the_person_with_the_reason(place: Place) -> None:
    reasons: list[Any] = []

    async def person(name: str, given: dict[str, Any], context: Any) -> PermissionResultDeny:
        reasons.append(context.decision_reason)
        return PermissionResultDeny(message="no")

    ask_first = pre(permissionDecision="ask", permissionDecisionReason="really?")
    await ask(place.options(call("Read", file_path="x"), say("done"), can_use_tool=person, hooks=ask_first))
    assert reasons == ["really?"]


async def test_ask_without_a_person_denies_with_the_reason(place: Place) -> None:
    ask_first = pre(permissionDecision="ask", permissionDecisionReason="really?")
    messages = await ask(place.options(call("Read", file_path="x"), say("done"), hooks=ask_first))
    assert "really?" in content_text(results(messages)[0])
    assert len(result(messages).permission_denials) == 1


@pytest.mark.parametrize("decision", [{"permissionDecision": "allow"}, {}], ids=["allowed", "undecided"])
async def test_the_input_may_be_changed(decision: dict[str, Any], place: Place) -> None:
    changed = pre(updatedInput={"command": "touch y"}, **decision)
    await ask(place.options(TOUCH, say("done"), can_use_tool=allow, hooks=changed))
    assert place.names() == ["y"]


async def test_context_goes_to_the_model_with_the_result(place: Place) -> None:
    steps = [answer("", ToolCall("Bash", {"command": "echo hi"})), answer("done")]
    with ModelServer(steps) as server:
        hooks = pre(permissionDecision="allow", additionalContext="Mind the step.")
        await ask(place.options(server=server, hooks=hooks))
    last = server.requests[1].json["messages"][-1]
    assert last["role"] == "user"
    assert last["content"][0]["type"] == "tool_result"
    assert "Mind the step." in str(last["content"])


async def test_continue_false_ends_the_turn(place: Place) -> None:
    stop = hooked(PostToolUse=always({"continue_": False, "stopReason": "enough"}))
    messages = await ask(place.options(TOUCH, say("never"), allowed_tools=["Bash"], hooks=stop))
    assert kinds(messages) == ["init", "tool_use", "tool_result", "success"]
    assert (result(messages).terminal_reason, result(messages).is_error) == ("hook_stopped", False)


async def test_a_raising_hook_is_ignored_and_reported(place: Place) -> None:
    async def broken(payload: Any, tool_use_id: Any, context: Any) -> Any:
        raise RuntimeError("kaput")

    messages = await ask(place.options(TOUCH, say("done"), allowed_tools=["Bash"], hooks=hooked(PreToolUse=broken)))
    assert place.names() == ["x"]
    assert result(messages).result == "done"
    assert any("kaput" in line for line in place.stderr)


async def test_a_raising_hook_that_must_not_fail_blocks(place: Place) -> None:
    async def broken(payload: Any, tool_use_id: Any, context: Any) -> Any:
        raise RuntimeError("kaput")

    hooks = {"PreToolUse": [HookMatcher(hooks=[broken], on_failure="block")]}
    messages = await ask(place.options(TOUCH, say("done"), allowed_tools=["Bash"], hooks=hooks))
    assert place.names() == []
    assert len(result(messages).permission_denials) == 1


# matchers


@pytest.mark.parametrize(
    ("matcher", "fires"),
    [
        (None, True),
        ("*", True),
        ("Bash", True),
        ("Write|Bash", True),
        ("B.*", True),
        ("bash", False),
        ("Bas", False),
        ("Write", False),
        ("mcp__.*", False),
    ],
)
async def test_matchers_choose_by_name(matcher: str | None, fires: bool, place: Place) -> None:
    seen: list[Any] = []
    hooks = {"PreToolUse": [HookMatcher(matcher=matcher, hooks=[always({}, seen)])]}
    await ask(place.options(bash("echo hi"), say("done"), allowed_tools=["Bash"], hooks=hooks))
    assert bool(seen) == fires


async def test_of_several_hooks_the_strictest_wins(place: Place) -> None:
    decisions = ("allow", "deny", "allow")
    matchers = [
        HookMatcher(matcher="Bash", hooks=[always(specific("PreToolUse", permissionDecision=decision))])
        for decision in decisions
    ]
    messages = await ask(place.options(TOUCH, say("done"), hooks={"PreToolUse": matchers}))
    assert len(result(messages).permission_denials) == 1
    assert place.names() == []


async def test_hooks_know_the_server_of_a_python_tool(place: Place) -> None:
    @tool("add", "Add", {"a": int, "b": int})
    async def add(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": str(given["a"] + given["b"])}]}

    seen: list[Any] = []
    hooks = {event: [HookMatcher(matcher="mcp__calc__.*", hooks=[always({}, seen)])] for event in ("PreToolUse", "PostToolUse")}
    server = {"calc": create_sdk_mcp_server("calc", tools=[add])}
    step = call("mcp__calc__add", a=1, b=2)
    await ask(place.options(step, say("done"), hooks=hooks, mcp_servers=server, allowed_tools=["mcp__calc"]))
    assert [payload["mcp_server"]["name"] for payload in seen] == ["calc", "calc"]
    assert seen[1]["tool_response"] == [{"type": "text", "text": "3"}]


# after a tool


async def test_after_a_tool_context_and_a_block_reason_go_to_the_model(place: Place) -> None:
    steps = [answer("", ToolCall("Bash", {"command": "echo hi"})), answer("done")]
    given = {"decision": "block", "reason": "Wrong file."} | specific("PostToolUse", additionalContext="Mind the step.")
    with ModelServer(steps) as server:
        await ask(place.options(server=server, allowed_tools=["Bash"], hooks=hooked(PostToolUse=always(given))))
    sent = str(server.requests[1].json["messages"][-1]["content"])
    assert "Wrong file." in sent
    assert "Mind the step." in sent


async def test_after_a_tool_its_output_may_be_replaced(place: Place) -> None:
    hooks = hooked(PostToolUse=always(specific("PostToolUse", updatedToolOutput="[hidden]")))
    messages = await ask(place.options(bash("echo secret"), say("done"), allowed_tools=["Bash"], hooks=hooks))
    assert content_text(results(messages)[0]) == "[hidden]"


# the prompt and the end


async def test_a_prompt_gets_context(place: Place) -> None:
    with ModelServer([answer("Hello!")]) as server:
        hooks = hooked(UserPromptSubmit=always(specific("UserPromptSubmit", additionalContext="It is Monday.")))
        await ask(place.options(server=server, hooks=hooks), "Hi")
    assert "It is Monday." in str(server.requests[0].json["messages"])


async def test_a_blocked_prompt_asks_no_model(place: Place) -> None:
    with ModelServer([answer("never")]) as server:
        hooks = hooked(UserPromptSubmit=always({"decision": "block", "reason": "Not on Mondays."}))
        messages = await ask(place.options(server=server, hooks=hooks))
    assert kinds(messages) == ["init", "success"]
    ended = result(messages)
    assert (ended.num_turns, ended.is_error) == (0, False)
    assert "Not on Mondays." in ended.result
    assert len(server.requests) == 0


async def test_a_stop_hook_sends_the_model_on_once(place: Place) -> None:
    seen: list[bool] = []

    async def once(payload: Any, tool_use_id: Any, context: Any) -> Any:
        seen.append(payload["stop_hook_active"])
        return {} if payload["stop_hook_active"] else {"decision": "block", "reason": "And the tests?"}

    messages = await ask(place.options(say("Done."), say("Tested."), hooks=hooked(Stop=once)))
    assert texts(messages) == ["Done.", "Tested."]
    assert kinds(messages) == ["init", "text", "user text", "text", "success"]
    assert (seen, result(messages).num_turns) == ([False, True], 2)


async def test_a_stop_hook_may_end_the_turn(place: Place) -> None:
    messages = await ask(place.options(say("Done."), hooks=hooked(Stop=always({"continue_": False}))))
    assert (result(messages).result, result(messages).terminal_reason) == ("Done.", "stop_hook_prevented")
