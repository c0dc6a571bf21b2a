"""Running callbacks: which are called, what their answers mean together, and what their failures mean."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from support_hooks import Failures
from toolwright.hooks import HookFailure, HookOutcome, HookRunner
from toolwright.types import HookMatcher, OptionsError

pytestmark = pytest.mark.anyio


def answering(output: Any) -> Callable[..., Any]:
    async def hook(payload: Any, tool_use_id: str | None, context: Any) -> Any:
        await checkpoint()
        return output

    return hook


def raising(error: BaseException) -> Callable[..., Any]:
    async def hook(payload: Any, tool_use_id: str | None, context: Any) -> Any:
        raise error

    return hook


async def hanging(payload: Any, tool_use_id: str | None, context: Any) -> Any:
    await anyio.sleep_forever()


def decision(value: str, reason: str = "", **more: Any) -> Any:
    specific = {"hookEventName": "PreToolUse", "permissionDecision": value, "permissionDecisionReason": reason, **more}
    return {"hookSpecificOutput": specific}


async def outcome_of(*outputs: Any, event: str = "PreToolUse") -> HookOutcome:
    runner = HookRunner({event: [HookMatcher(hooks=[answering(output) for output in outputs])]})
    return await runner.run(event, {}, match_value="Bash")


async def failing(hook: Callable[..., Any], event: str = "PreToolUse", **more: Any) -> tuple[HookOutcome, list[HookFailure]]:
    failures = Failures()
    runner = HookRunner({event: [HookMatcher(hooks=[hook], **more)]}, listener=failures)
    return await runner.run(event, {}), failures.heard


async def test_only_matching_callbacks_are_called_and_get_their_three_arguments() -> None:
    seen: list[Any] = []

    async def note(payload: Any, tool_use_id: str | None, context: Any) -> Any:
        seen.append((payload, tool_use_id, context))
        return {}

    runner = HookRunner({"PreToolUse": [HookMatcher("Write", [note]), HookMatcher("Bash", [note]), HookMatcher(None, [note])]})
    await runner.run("PreToolUse", {"tool_name": "Bash"}, match_value="Bash", tool_use_id="t1")
    assert seen == [({"tool_name": "Bash"}, "t1", {"signal": None})] * 2


async def test_asking_whether_there_are_hooks_calls_none() -> None:
    runner = HookRunner({"PreToolUse": [HookMatcher("Write", [raising(AssertionError())])], "Stop": []})
    assert runner.has("PreToolUse", "Write")
    assert not runner.has("PreToolUse", "Bash")
    assert not runner.has("Stop")
    assert await runner.run("PreToolUse", {}, match_value="Bash") == HookOutcome()


async def test_an_event_without_a_value_is_for_every_hook_registered() -> None:
    runner = HookRunner({"Stop": [HookMatcher("anything", [answering({"systemMessage": "hi"})])]})
    assert (await runner.run("Stop", {})).system_messages == ("hi",)


async def test_callbacks_run_at_the_same_time() -> None:
    first, second = anyio.Event(), anyio.Event()

    async def one(*_: Any) -> Any:
        first.set()
        await second.wait()
        return {}

    async def two(*_: Any) -> Any:
        second.set()
        await first.wait()
        return {}

    with anyio.fail_after(5):
        await HookRunner({"Stop": [HookMatcher(hooks=[one, two])]}).run("Stop", {})


async def test_plain_functions_are_called_too() -> None:
    runner = HookRunner({"Stop": [HookMatcher(hooks=[lambda *_: {"decision": "block", "reason": "go on"}])]})  # type: ignore[list-item]  # the public type promises only async ones
    outcome = await runner.run("Stop", {})
    assert (outcome.block, outcome.reason, outcome.decision) == (True, "go on", None)


@pytest.mark.parametrize(
    ("given", "strongest"),
    [
        *((["allow", "deny", "ask"], "deny"), (["allow", "defer", "ask"], "defer"), (["allow", "ask"], "ask")),
        *((["deny", "allow"], "deny"), (["allow"], "allow")),
    ],
)
async def test_the_strongest_decision_stands_with_its_own_reasons(given: list[str], strongest: str) -> None:
    outcome = await outcome_of(*(decision(value, f"because {value}") for value in given))
    assert (outcome.decision, outcome.reason) == (strongest, f"because {strongest}")


async def test_the_older_answers_decide_a_tool_call_too() -> None:
    blocked = await outcome_of({"decision": "block", "reason": "no"}, decision("allow"))
    assert (blocked.decision, blocked.block, blocked.reason) == ("deny", True, "no")
    assert (await outcome_of({"decision": "approve"})).decision == "allow"


async def test_the_input_of_the_hook_registered_last_wins_even_if_it_answers_first() -> None:
    async def slow(*_: Any) -> Any:
        for _turn in range(10):
            await checkpoint()
        return decision("allow", updatedInput={"command": "slow"})

    fast = answering(decision("allow", updatedInput={"command": "fast"}))
    runner = HookRunner({"PreToolUse": [HookMatcher(hooks=[slow, fast])]})
    assert (await runner.run("PreToolUse", {})).updated_input == {"command": "fast"}


@pytest.mark.parametrize("spelling", ["continue", "continue_"])
async def test_a_hook_may_stop_the_turn_in_either_spelling(spelling: str) -> None:
    outcome = await outcome_of(
        {spelling: False, "stopReason": "enough", "suppressOutput": True}, {spelling: True}, event="PostToolUse"
    )
    assert (outcome.stop, outcome.stop_reason, outcome.suppress_output) == (True, "enough", True)


@pytest.mark.parametrize("output", [{}, None, {"async": True, "asyncTimeout": 5}, {"async_": True, "decision": "block"}])
async def test_an_empty_or_asynchronous_answer_says_nothing(output: Any) -> None:
    assert await outcome_of(output) == HookOutcome()


async def test_context_messages_and_outputs_are_gathered_in_order() -> None:
    outcome = await outcome_of(
        {"hookSpecificOutput": {"additionalContext": "a", "updatedToolOutput": {"n": 1}}, "systemMessage": "x"},
        {"hookSpecificOutput": {"additionalContext": "b", "sessionTitle": "T"}, "systemMessage": "y"},
        event="PostToolUse",
    )
    assert (outcome.additional_context, outcome.system_messages) == (("a", "b"), ("x", "y"))
    assert (outcome.updated_output, outcome.specific("sessionTitle"), outcome.specific("nothing")) == ({"n": 1}, "T", None)
    assert len(outcome.outputs) == 2


async def test_a_permission_request_is_answered_with_a_behavior() -> None:
    updates = [{"type": "setMode", "mode": "acceptEdits"}]
    allowed = {
        "hookSpecificOutput": {"decision": {"behavior": "allow", "updatedInput": {"a": 1}, "updatedPermissions": updates}}
    }
    outcome = await outcome_of(allowed, event="PermissionRequest")
    assert (outcome.decision, outcome.updated_input, outcome.updated_permissions) == ("allow", {"a": 1}, tuple(updates))
    denied = {"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "no", "interrupt": True}}}
    outcome = await outcome_of(allowed, denied, event="PermissionRequest")
    assert (outcome.decision, outcome.reason, outcome.interrupt) == ("deny", "no", True)


MALFORMED = [
    *("text", 7, ["x"], {"decision": "maybe"}, {"hookSpecificOutput": "x"}, decision("perhaps"), {"continue": "no"}),
    *(
        decision("allow", updatedInput="x"),
        {"systemMessage": 5},
        {"hookSpecificOutput": {"additionalContext": 1}},
        {"reason": []},
    ),
    *({"decision": ["block"]}, decision(["deny"])),  # type: ignore[arg-type]  # wrong on purpose
]


@pytest.mark.parametrize("output", MALFORMED)
async def test_a_malformed_answer_is_a_failure(output: Any) -> None:
    outcome, failures = await failing(answering(output))
    assert outcome == HookOutcome()
    assert len(failures) == 1
    assert "MalformedOutput" in str(failures[0])
    assert not failures[0].blocked


async def test_a_malformed_permission_answer_is_a_failure() -> None:
    _, failures = await failing(answering({"hookSpecificOutput": {"decision": {"behavior": "maybe"}}}), "PermissionRequest")
    assert len(failures) == 1


async def test_a_raising_callback_is_reported_and_ignored() -> None:
    outcome, failures = await failing(raising(LookupError("gone")))
    assert outcome == HookOutcome()
    assert "failed: LookupError: gone; it is ignored" in str(failures[0])


async def test_a_raising_callback_refuses_when_its_matcher_says_so() -> None:
    outcome, failures = await failing(raising(LookupError("gone")), on_failure="block")
    assert (outcome.decision, outcome.block) == ("deny", True)
    assert "gone" in outcome.reason
    assert failures[0].blocked
    outcome, _ = await failing(raising(LookupError("gone")), "UserPromptSubmit", on_failure="block")
    assert (outcome.decision, outcome.block) == (None, True)


async def test_a_tool_call_is_denied_when_its_hook_does_not_answer_in_time() -> None:
    outcome, failures = await failing(hanging, timeout=0.01)
    assert outcome.decision == "deny"
    assert "did not answer within 0.01 s" in outcome.reason
    assert failures[0].blocked


async def test_other_events_go_on_when_their_hook_does_not_answer_in_time() -> None:
    outcome, failures = await failing(hanging, "Stop", timeout=0.01)
    assert outcome == HookOutcome()
    assert "did not answer" in failures[0].problem


async def test_a_timeout_error_of_the_callback_itself_is_an_ordinary_failure() -> None:
    outcome, _ = await failing(raising(TimeoutError()))
    assert outcome == HookOutcome()


async def test_one_failing_callback_does_not_disturb_the_others() -> None:
    hooks: list[Any] = [raising(LookupError()), answering(decision("deny", "no")), hanging]
    outcome = await HookRunner({"PreToolUse": [HookMatcher(hooks=hooks, timeout=0.05)]}).run("PreToolUse", {})
    assert outcome.decision == "deny"
    assert "no" in outcome.reason


async def test_what_a_callback_does_to_its_input_stays_with_it() -> None:
    async def vandal(payload: Any, tool_use_id: str | None, context: Any) -> Any:
        payload["tool_input"]["command"] = "rm -r /"
        payload["tool_input"]["list"].append(1)
        return {}

    payload = {"tool_input": {"command": "ls", "list": []}}
    await HookRunner({"PreToolUse": [HookMatcher(hooks=[vandal])]}).run("PreToolUse", payload)
    assert payload == {"tool_input": {"command": "ls", "list": []}}


async def test_cancelling_the_run_cancels_the_callbacks() -> None:
    runner = HookRunner({"Stop": [HookMatcher(hooks=[hanging, hanging])]})
    with anyio.move_on_after(0.01) as scope:
        await runner.run("Stop", {})
    assert scope.cancelled_caught


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_callback_that_dies_of_a_foreign_cancellation_has_failed(anyio_backend: str) -> None:
    outcome, failures = await failing(raising(asyncio.CancelledError()), on_failure="block")
    assert outcome.decision == "deny"
    assert "cancelled" in failures[0].problem


@pytest.mark.parametrize(
    "matcher",
    [
        HookMatcher(hooks=["not callable"]),  # type: ignore[list-item]  # wrong on purpose
        HookMatcher(hooks=[hanging], timeout=0),
        HookMatcher(hooks=[hanging], timeout="5"),  # type: ignore[arg-type]  # wrong on purpose
        HookMatcher(hooks=[hanging], on_failure="stop"),  # type: ignore[arg-type]  # wrong on purpose
        HookMatcher("(", [hanging]),
    ],
)
async def test_impossible_matchers_are_typed_errors(matcher: HookMatcher) -> None:
    with pytest.raises(OptionsError):
        HookRunner({"PreToolUse": [matcher]})
