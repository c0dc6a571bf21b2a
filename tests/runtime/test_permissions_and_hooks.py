"""A call on its way through hooks, rules, mode and the person."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from support_runtime import assert_valid_history, play, results, session_for, text_of, until_result, user
from toolwright.models.scripted import Call, Say, ScriptedModel
from toolwright.types import (
    HookMatcher,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionRuleValue,
    PermissionUpdate,
    ToolPermissionContext,
)

pytestmark = pytest.mark.anyio

WRITE = Call("Write", {"file_path": "note.txt", "content": "hello"})
EVERY_TOOL = [
    *("Read", "Write", "Edit", "MultiEdit", "NotebookRead", "NotebookEdit", "LS", "Glob", "Grep"),
    *("Bash", "BashOutput", "KillShell", "TodoWrite"),
]


class Person:
    """A can_use_tool callback that answers from a list and remembers what it was asked."""

    def __init__(self, *answers: PermissionResult | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, dict[str, Any], ToolPermissionContext]] = []

    async def __call__(self, name: str, given: dict[str, Any], context: ToolPermissionContext) -> PermissionResult:
        self.asked.append((name, given, context))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def note(folder: Path) -> Path:
    return folder / "workspace" / "note.txt"


# can_use_tool


async def test_a_person_allows(tmp_path: Path) -> None:
    person = Person(PermissionResultAllow())
    frames = await play(tmp_path, ScriptedModel([WRITE, Say("done")]), can_use_tool=person)
    assert note(tmp_path).read_text() == "hello"
    ((name, given, context),) = person.asked
    assert (name, given) == ("Write", {"file_path": str(note(tmp_path)), "content": "hello"})
    assert context.tool_use_id == results(frames)[0]["tool_use_id"]
    assert [update.type for update in context.suggestions] == ["setMode"]
    assert frames[-1]["permission_denials"] == []


async def test_a_person_changes_the_input(tmp_path: Path) -> None:
    person = Person(PermissionResultAllow(updated_input={"file_path": "note.txt", "content": "changed"}))
    await play(tmp_path, ScriptedModel([WRITE, Say("done")]), can_use_tool=person)
    assert note(tmp_path).read_text() == "changed"


async def test_a_person_cannot_change_the_input_into_what_a_deny_rule_forbids(tmp_path: Path) -> None:
    person = Person(PermissionResultAllow(updated_input={"command": "rm note.txt"}))
    note(tmp_path).parent.mkdir()
    note(tmp_path).write_text("precious")
    model = ScriptedModel([Call("Bash", {"command": "touch x"}), Say("ok")])
    frames = await play(tmp_path, model, can_use_tool=person, disallowed_tools=["Bash(rm:*)"])
    assert note(tmp_path).exists()
    assert "denied by the rule" in text_of(results(frames)[0])


async def test_an_input_changed_into_nonsense_is_an_error_result(tmp_path: Path) -> None:
    person = Person(PermissionResultAllow(updated_input={"nonsense": 1}))
    frames = await play(tmp_path, ScriptedModel([WRITE, Say("done")]), can_use_tool=person)
    assert "InputValidationError" in text_of(results(frames)[0])
    assert not note(tmp_path).exists()


async def test_a_person_denies_and_the_model_hears_exactly_the_message(tmp_path: Path) -> None:
    frames = await play(
        tmp_path, ScriptedModel([WRITE, Say("I understand.")]), can_use_tool=Person(PermissionResultDeny(message="Not today."))
    )
    (result,) = results(frames)
    assert (text_of(result), result["is_error"]) == ("Not today.", True)
    (denial,) = frames[-1]["permission_denials"]
    assert (denial["tool_name"], denial["tool_input"]["file_path"]) == ("Write", str(note(tmp_path)))
    assert frames[-1]["subtype"] == "success"


async def test_a_denial_with_interrupt_ends_the_turn(tmp_path: Path) -> None:
    model = ScriptedModel([WRITE, Say("never")])
    frames = await play(tmp_path, model, can_use_tool=Person(PermissionResultDeny(message="Stop.", interrupt=True)))
    assert (frames[-1]["subtype"], frames[-1]["terminal_reason"]) == ("error_during_execution", "aborted_tools")
    assert len(model.requests) == 1


@pytest.mark.parametrize("answer", [RuntimeError("the person fainted"), None, {"behavior": "allow"}])
async def test_a_callback_that_fails_or_answers_nonsense_denies_that_one_call(answer: Any, tmp_path: Path) -> None:
    person = Person(answer, PermissionResultAllow())
    frames = await play(tmp_path, ScriptedModel([WRITE, WRITE, Say("done")]), can_use_tool=person)
    first, second = results(frames)
    assert first["is_error"] is True
    assert "permission callback" in text_of(first)
    assert second.get("is_error") is None


async def test_updated_permissions_hold_for_the_rest_of_the_session(tmp_path: Path) -> None:
    update = PermissionUpdate(
        "addRules", rules=[PermissionRuleValue("Bash", "env echo hi")], behavior="allow", destination="session"
    )
    person = Person(PermissionResultAllow(updated_permissions=[update]))
    command = Call("Bash", {"command": "env echo hi"})
    frames = await play(tmp_path, ScriptedModel([command, command, Say("done")]), can_use_tool=person)
    assert len(person.asked) == 1
    assert [text_of(result) for result in results(frames)] == ["hi", "hi"]


async def test_without_anybody_to_ask_a_denial_is_also_told_as_a_frame(tmp_path: Path) -> None:
    frames = await play(tmp_path, ScriptedModel([WRITE, Say("done")]))
    denied = next(frame for frame in frames if frame.get("subtype") == "permission_denied")
    assert denied["tool_name"] == "Write"
    assert not note(tmp_path).exists()


# the three layers of tools


async def test_tools_decide_what_the_model_sees(tmp_path: Path) -> None:
    def own() -> str:
        """Mine."""
        return "mine"

    for tools, expected in [
        (None, EVERY_TOOL),
        ([], []),
        (["FileRead", "Grep"], ["Read", "Grep"]),
        (["Read", own], ["Read", "own"]),
        ({"type": "preset", "preset": "claude_code"}, EVERY_TOOL),
    ]:
        model = ScriptedModel([Say("ok")])
        frames = await play(tmp_path, model, tools=tools)
        assert [spec.name for spec in model.requests[0].tools] == expected
        assert frames[0]["tools"] == expected


async def test_a_disallowed_tool_stays_visible_and_every_call_is_denied(tmp_path: Path) -> None:
    model = ScriptedModel([WRITE, Say("done")])
    frames = await play(
        tmp_path, model, disallowed_tools=["Write"], permission_mode="bypassPermissions", env={"IS_SANDBOX": "1"}
    )
    assert "Write" in [spec.name for spec in model.requests[0].tools]
    assert "denied by the rule Write" in text_of(results(frames)[0])
    assert len(frames[-1]["permission_denials"]) == 1


async def test_accept_edits_and_plan(tmp_path: Path) -> None:
    await play(tmp_path, ScriptedModel([WRITE, Say("done")]), permission_mode="acceptEdits")
    assert note(tmp_path).exists()
    other = Call("Write", {"file_path": "other.txt", "content": "x"})
    async with session_for(tmp_path, ScriptedModel([other, other, Say("done")]), permission_mode="plan") as session:
        await session.send(user("go"))
        frames = await until_result(session)
    assert all(result["is_error"] for result in results(frames))


async def test_bypass_is_refused_for_root_outside_a_sandbox(tmp_path: Path) -> None:
    import os

    from toolwright.types import OptionsError

    if os.geteuid() != 0:
        return
    with pytest.raises(OptionsError, match="IS_SANDBOX"):
        await play(tmp_path, ScriptedModel([Say("hi")]), permission_mode="bypassPermissions", env={"IS_SANDBOX": "0"})


# hooks


def hook(answer: dict[str, Any] | Exception, seen: list[dict[str, Any]] | None = None) -> Any:
    async def call(payload: dict[str, Any], tool_use_id: str | None, context: Any) -> dict[str, Any]:
        if seen is not None:
            seen.append(payload)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return call


def specific(event: str, **fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def hooks(event: str, *callbacks: Any, matcher: str | None = None) -> dict[str, list[HookMatcher]]:
    return {event: [HookMatcher(matcher=matcher, hooks=list(callbacks))]}


async def test_a_pre_tool_use_hook_denies_and_the_reason_is_the_result(tmp_path: Path) -> None:
    deny = hook(specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="No writing."))
    person = Person()
    frames = await play(
        tmp_path, ScriptedModel([WRITE, Say("ok")]), hooks=hooks("PreToolUse", deny, matcher="Write"), can_use_tool=person
    )
    assert text_of(results(frames)[0]) == "No writing."
    assert len(frames[-1]["permission_denials"]) == 1
    assert person.asked == []


async def test_a_hook_allows_what_would_be_asked_but_cannot_loosen_a_deny(tmp_path: Path) -> None:
    allow = hooks("PreToolUse", hook(specific("PreToolUse", permissionDecision="allow")))
    await play(tmp_path, ScriptedModel([WRITE, Say("ok")]), hooks=allow)
    assert note(tmp_path).exists()
    note(tmp_path).unlink()
    await play(tmp_path, ScriptedModel([WRITE, Say("ok")]), hooks=allow, disallowed_tools=["Write"])
    assert not note(tmp_path).exists()


async def test_deny_wins_over_allow_among_hooks(tmp_path: Path) -> None:
    both = hooks(
        "PreToolUse",
        hook(specific("PreToolUse", permissionDecision="allow")),
        hook(specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="no")),
    )
    frames = await play(tmp_path, ScriptedModel([WRITE, Say("ok")]), hooks=both)
    assert text_of(results(frames)[0]) == "no"


async def test_a_hook_asks_and_the_person_answers(tmp_path: Path) -> None:
    ask = hooks("PreToolUse", hook(specific("PreToolUse", permissionDecision="ask", permissionDecisionReason="Sure?")))
    person = Person(PermissionResultDeny(message="No."))
    read = Call("Read", {"file_path": "note.txt"})
    frames = await play(tmp_path, ScriptedModel([read, Say("ok")]), hooks=ask, can_use_tool=person)
    assert person.asked[0][2].decision_reason == "Sure?"
    assert text_of(results(frames)[0]) == "No."


async def test_a_hook_changes_the_input_and_the_decision_is_made_on_the_final_one(tmp_path: Path) -> None:
    change = hook(specific("PreToolUse", updatedInput={"command": "env echo changed"}))
    model = ScriptedModel([Call("Bash", {"command": "env echo original"}), Say("ok")])
    frames = await play(tmp_path, model, hooks=hooks("PreToolUse", change), allowed_tools=["Bash(env echo original)"])
    assert "needs permission" in text_of(results(frames)[0])
    model = ScriptedModel([Call("Bash", {"command": "env echo original"}), Say("ok")])
    frames = await play(tmp_path, model, hooks=hooks("PreToolUse", change), allowed_tools=["Bash(env echo changed)"])
    assert text_of(results(frames)[0]) == "changed"


async def test_a_raising_hook_is_ignored_and_told_as_diagnostics(tmp_path: Path) -> None:
    lines: list[str] = []
    broken = hooks("PreToolUse", hook(RuntimeError("bug in the hook")))
    await play(tmp_path, ScriptedModel([WRITE, Say("ok")]), hooks=broken, permission_mode="acceptEdits", stderr=lines.append)
    assert note(tmp_path).exists()
    assert any("bug in the hook" in line for line in lines)


async def test_a_hook_that_hangs_denies(tmp_path: Path) -> None:
    async def hang(payload: Any, tool_use_id: Any, context: Any) -> dict[str, Any]:
        await anyio.sleep_forever()
        return {}

    callback: Any = hang
    slow = {"PreToolUse": [HookMatcher(hooks=[callback], timeout=0.05)]}
    frames = await play(tmp_path, ScriptedModel([WRITE, Say("ok")]), hooks=slow, permission_mode="acceptEdits")
    assert results(frames)[0]["is_error"] is True
    assert not note(tmp_path).exists()


async def test_post_tool_use_sees_the_result_and_adds_context_for_the_model(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    add_context = hook(specific("PostToolUse", additionalContext="Remember the milk."), seen)
    model = ScriptedModel([Call("Bash", {"command": "echo hi"}), Say("ok")])
    await play(tmp_path, model, hooks=hooks("PostToolUse", add_context), allowed_tools=["Bash(echo hi)"])
    assert seen[0]["tool_response"]["stdout"] == "hi"
    assert seen[0]["duration_ms"] >= 0
    assert model.requests[1].messages[-1].content[-1] == {"type": "text", "text": "Remember the milk."}
    assert_valid_history(model)


async def test_a_failing_tool_fires_the_failure_hook_instead(tmp_path: Path) -> None:
    good: list[dict[str, Any]] = []
    bad: list[dict[str, Any]] = []
    both = hooks("PostToolUse", hook({}, good)) | hooks("PostToolUseFailure", hook({}, bad))
    await play(tmp_path, ScriptedModel([Call("Bash", {"command": "false"}), Say("ok")]), hooks=both, allowed_tools=["Bash"])
    assert good == []
    assert "Exit code 1" in bad[0]["error"]
    assert "tool_response" not in bad[0]


async def test_a_hook_replaces_the_output(tmp_path: Path) -> None:
    replace = hooks("PostToolUse", hook(specific("PostToolUse", updatedToolOutput="[redacted]")))
    model = ScriptedModel([Call("Bash", {"command": "echo secret"}), Say("ok")])
    frames = await play(tmp_path, model, hooks=replace, allowed_tools=["Bash"])
    assert text_of(results(frames)[0]) == "[redacted]"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, ["a", "b"]),
        ({"type": "text", "text": "a"}, ["a"]),
        ({"n": 1}, ['{"n": 1}']),
    ],
)
@pytest.mark.parametrize("name", ["updatedToolOutput", "updatedMCPToolOutput"])
async def test_an_object_in_place_of_the_output_goes_on_as_blocks(
    name: str, given: Any, shown: list[str], tmp_path: Path
) -> None:
    replace = hooks("PostToolUse", hook(specific("PostToolUse", **{name: given})))
    model = ScriptedModel([Call("Bash", {"command": "echo secret"}), Say("ok")])
    frames = await play(tmp_path, model, hooks=replace, allowed_tools=["Bash"])
    assert [block["text"] for block in results(frames)[0]["content"]] == shown


async def test_hooks_are_told_the_effort_in_force(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    every: dict[str, Any] = {}
    for event in ("PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "PermissionRequest", "UserPromptSubmit"):
        every |= hooks(event, hook({}, seen))
    calls = [Call("Bash", {"command": "echo hi"}), Call("Bash", {"command": "false"}), Call("Bash", {"command": "touch x"})]
    await play(tmp_path, ScriptedModel([*calls, Say("ok")]), hooks=every, allowed_tools=["Bash(echo *)", "Bash(false)"])
    told = {payload["hook_event_name"]: payload.get("effort") for payload in seen}
    assert told.pop("UserPromptSubmit") is None
    assert set(told) == {"PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "PermissionRequest"}
    assert all(effort == {"level": "medium"} for effort in told.values())
    seen.clear()
    await play(tmp_path, ScriptedModel([Say("ok")]), hooks=every, effort="high")
    assert [payload["effort"] for payload in seen if payload["hook_event_name"] == "Stop"] == [{"level": "high"}]


async def test_continue_false_ends_the_turn_after_that_tool(tmp_path: Path) -> None:
    stop = hooks("PostToolUse", hook({"continue_": False, "stopReason": "Enough."}))
    model = ScriptedModel([Call("Bash", {"command": "echo hi"}), Say("never")])
    frames = await play(tmp_path, model, hooks=stop, allowed_tools=["Bash"])
    assert (frames[-1]["subtype"], frames[-1]["terminal_reason"]) == ("success", "hook_stopped")
    assert len(model.requests) == 1


async def test_a_prompt_hook_adds_context_or_blocks(tmp_path: Path) -> None:
    model = ScriptedModel([Say("ok")])
    context = hooks("UserPromptSubmit", hook(specific("UserPromptSubmit", additionalContext="It is Monday.")))
    await play(tmp_path, model, hooks=context, tools=[])
    assert [block["text"] for block in model.requests[0].messages[0].content] == ["go", "It is Monday."]
    model = ScriptedModel([Say("never")])
    block = hooks("UserPromptSubmit", hook({"decision": "block", "reason": "Not on Mondays."}))
    frames = await play(tmp_path, model, hooks=block, tools=[])
    assert (frames[-1]["subtype"], frames[-1]["num_turns"], frames[-1]["result"]) == ("success", 0, "Not on Mondays.")
    assert [frame["type"] for frame in frames] == ["system", "result"]
    assert model.requests == []


async def test_a_stop_hook_sends_the_model_on_and_is_told_so(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []

    async def once(payload: dict[str, Any], tool_use_id: Any, context: Any) -> dict[str, Any]:
        seen.append(payload)
        return {} if payload["stop_hook_active"] else {"decision": "block", "reason": "You forgot the tests."}

    model = ScriptedModel([Say("Done."), Say("Now with tests.")])
    frames = await play(tmp_path, model, hooks=hooks("Stop", once), tools=[])
    assert [payload["stop_hook_active"] for payload in seen] == [False, True]
    assert seen[0]["last_assistant_message"] == "Done."
    assert frames[-1]["result"] == "Now with tests."
    assert model.requests[1].messages[-1].content[0]["text"] == "You forgot the tests."


async def test_a_stop_hook_can_end_the_turn_at_once(tmp_path: Path) -> None:
    stop = hooks("Stop", hook({"continue_": False, "stopReason": "Enough.", "decision": "block", "reason": "more"}))
    frames = await play(tmp_path, ScriptedModel([Say("Done."), Say("never")]), hooks=stop, tools=[])
    assert (frames[-1]["result"], frames[-1]["terminal_reason"]) == ("Done.", "stop_hook_prevented")


@pytest.mark.parametrize("given", [{"file_path": "sub/../note.txt"}, {"path": "./note.txt"}])
async def test_hooks_see_the_file_by_its_absolute_path_under_its_own_name(given: dict[str, str], tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    watch = hooks("PreToolUse", hook({}, seen)) | hooks("PostToolUse", hook({}, seen))
    model = ScriptedModel([Call("Write", {**given, "content": "hello"}), Say("done")])
    await play(tmp_path, model, hooks=watch, permission_mode="acceptEdits")
    assert [payload["tool_input"] for payload in seen] == [{"file_path": str(note(tmp_path)), "content": "hello"}] * 2
    assert note(tmp_path).read_text() == "hello"


async def test_a_permission_hook_answers_in_the_persons_place(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    allow = hook({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}, seen)
    await play(tmp_path, ScriptedModel([WRITE, Say("ok")]), hooks=hooks("PermissionRequest", allow))
    assert note(tmp_path).exists()
    assert (seen[0]["tool_name"], "tool_use_id" in seen[0]) == ("Write", False)
    assert [update["type"] for update in seen[0]["permission_suggestions"]] == ["setMode"]


async def test_the_first_of_permission_hook_and_person_decides(tmp_path: Path) -> None:
    async def never(*given: Any) -> PermissionResult:
        await anyio.sleep_forever()
        return PermissionResultAllow()

    decision = {"behavior": "deny", "message": "The hook says no."}
    deny = hook({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})
    with anyio.fail_after(10):
        frames = await play(
            tmp_path, ScriptedModel([WRITE, Say("ok")]), hooks=hooks("PermissionRequest", deny), can_use_tool=never
        )
    assert text_of(results(frames)[0]) == "The hook says no."
    silent = hooks("PermissionRequest", hook({}))
    person = Person(PermissionResultDeny(message="The person says no."))
    frames = await play(tmp_path, ScriptedModel([WRITE, Say("ok")]), hooks=silent, can_use_tool=person)
    assert text_of(results(frames)[0]) == "The person says no."


@pytest.mark.parametrize(
    "update",
    [
        PermissionUpdate("addRules", rules=[PermissionRuleValue("Write", "src/**")], behavior="allow"),
        PermissionUpdate("addDirectories", directories=["/no/such/folder"]),
    ],
)
async def test_an_answer_that_cannot_be_taken_over_denies(update: PermissionUpdate, tmp_path: Path) -> None:
    person = Person(PermissionResultAllow(updated_permissions=[update]))
    frames = await play(tmp_path, ScriptedModel([WRITE, Say("ok")]), can_use_tool=person)
    assert results(frames)[0]["is_error"] is True
    assert frames[-1]["subtype"] == "success"


async def test_what_a_hook_wants_the_person_to_see_goes_out_as_a_frame(tmp_path: Path) -> None:
    frames = await play(tmp_path, ScriptedModel([Say("ok")]), hooks=hooks("Stop", hook({"systemMessage": "Mind the gap."})))
    shown = next(frame for frame in frames if frame.get("subtype") == "informational")
    assert shown["content"] == "Mind the gap."


async def test_context_from_the_start_is_read_with_the_first_prompt(tmp_path: Path) -> None:
    start: Any = hooks("SessionStart", hook(specific("SessionStart", additionalContext="The build is red.")))
    model = ScriptedModel([Say("ok")])
    await play(tmp_path, model, hooks=start, tools=[])
    assert [block["text"] for block in model.requests[0].messages[0].content] == ["go", "The build is red."]


async def test_sessions_tell_their_start_and_end(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    both: Any = hooks("SessionStart", hook({}, seen)) | hooks("SessionEnd", hook({}, seen))
    await play(tmp_path, ScriptedModel([Say("hi")]), hooks=both, tools=[])
    assert [payload["hook_event_name"] for payload in seen] == ["SessionStart", "SessionEnd"]
    assert seen[0]["source"] == "startup"


async def test_the_end_is_told_with_the_last_prompt(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    both: Any = hooks("UserPromptSubmit", hook({}, seen)) | hooks("SessionEnd", hook({}, seen))
    await play(tmp_path, ScriptedModel([Say("ok")]), hooks=both)
    prompt, end = seen
    assert end["prompt_id"] == prompt["prompt_id"]


async def test_a_stop_hook_that_never_lets_go_is_ended_by_the_limit_of_turns(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    block: Any = hooks("Stop", hook({"decision": "block", "reason": "Go on."}, seen))
    frames = await play(tmp_path, ScriptedModel([Say("done")] * 10), hooks=block, max_turns=4)
    assert frames[-1]["subtype"] == "error_max_turns"
    assert [payload["stop_hook_active"] for payload in seen][:3] == [False, True, True]
    assert len(seen) <= 4
