"""Plan mode: nothing that writes runs; a plan is approved, changed or refused by the person."""

from pathlib import Path
from typing import Any

import pytest

from support_asking import Person
from support_runtime import assert_valid_history, play, results, session_for, text_of, until_result, user
from toolwright.mcp.author.server import InProcessServer
from toolwright.mcp.author.tool import tool
from toolwright.models.scripted import Call, Say, ScriptedModel
from toolwright.types import PermissionResultAllow, PermissionResultDeny, PermissionUpdate

pytestmark = pytest.mark.anyio

PLAN = Call("ExitPlanMode", {"plan": "# Plan\n1. Write made"})
WRITE = Call("Write", {"file_path": "made", "content": "x"})
ALLOW = PermissionResultAllow()


def made(folder: Path) -> bool:
    return any((folder / "workspace").iterdir())


def structured(frames: list[dict[str, Any]]) -> list[Any]:
    return [frame["tool_use_result"] for frame in frames if frame["type"] == "user" and "tool_use_result" in frame]


def modes(frames: list[dict[str, Any]]) -> list[str]:
    return [frame["permissionMode"] for frame in frames if frame.get("subtype") == "status"]


@pytest.mark.parametrize(
    "call",
    [
        WRITE,
        Call("Bash", {"command": "echo x > made"}),
        Call("Bash", {"command": "cat made; touch made"}),
        Call("Bash", {"command": "ls | tee made"}),
        Call("Bash", {"command": "git init"}),
        Call("Bash", {"command": "touch made", "run_in_background": True}),
        Call("mcp__disk__store", {"name": "made"}),
        Call("NotebookEdit", {"notebook_path": "made.ipynb", "new_source": "x", "edit_mode": "insert", "cell_type": "code"}),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "rules", [[], ["Write", "Edit", "Bash", "mcp__disk", "NotebookEdit", "Edit(**)"]], ids=["no rules", "rules"]
)
async def test_nothing_that_writes_runs(call: Call, rules: list[str], tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()

    def store(name: str) -> str:
        """Store."""
        (workspace / name).write_text("x")
        return "stored"

    servers = {"disk": {"type": "sdk", "name": "disk", "instance": InProcessServer("disk", tools=[store])}}
    model = ScriptedModel([call, Say("ok")])
    frames = await play(tmp_path, model, permission_mode="plan", allowed_tools=rules, mcp_servers=servers)
    assert results(frames)[0]["is_error"] is True
    assert not made(tmp_path)


async def test_looking_goes_on_and_so_does_a_servers_tool_that_only_reads(tmp_path: Path) -> None:
    @tool("peek", "Peek", {}, annotations={"readOnlyHint": True})
    async def peek(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "seen"}]}

    servers = {"s": {"type": "sdk", "name": "s", "instance": InProcessServer("s", tools=[peek])}}
    todo = Call("TodoWrite", {"todos": [{"content": "a", "status": "pending", "activeForm": "b"}]})
    model = ScriptedModel(
        [Call("Bash", {"command": "ls"}), Call("Glob", {"pattern": "*"}), Call("mcp__s__peek"), todo, Say("ok")]
    )
    frames = await play(tmp_path, model, permission_mode="plan", allowed_tools=["mcp__s"], mcp_servers=servers)
    assert not any(result.get("is_error") for result in results(frames))
    assert len(results(frames)) == 4


async def test_an_approved_plan_ends_plan_mode_and_work_goes_on(tmp_path: Path) -> None:
    person = Person(ALLOW, ALLOW)
    model = ScriptedModel([PLAN, WRITE, Say("done")])
    frames = await play(tmp_path, model, permission_mode="plan", can_use_tool=person)
    assert person.names == ["ExitPlanMode", "Write"]
    assert person.contexts[0].title == "Carry out this plan?\n# Plan\n1. Write made"
    assert person.contexts[0].suggestions == []
    assert structured(frames)[0] == {"plan": "# Plan\n1. Write made", "isAgent": False}
    assert "approved your plan" in text_of(results(frames)[0])
    assert modes(frames) == ["default"]
    assert made(tmp_path)
    assert_valid_history(model)


async def test_the_person_chooses_the_mode_that_follows(tmp_path: Path) -> None:
    mode = PermissionUpdate("setMode", mode="acceptEdits", destination="session")
    person = Person(PermissionResultAllow(updated_permissions=[mode]))
    frames = await play(tmp_path, ScriptedModel([PLAN, WRITE, Say("done")]), permission_mode="plan", can_use_tool=person)
    assert modes(frames) == ["acceptEdits"]
    assert (len(person.asked), made(tmp_path)) == (1, True)


async def test_a_changed_plan_comes_back_to_the_model(tmp_path: Path) -> None:
    person = Person(PermissionResultAllow(updated_input={"plan": "# Better"}))
    frames = await play(tmp_path, ScriptedModel([PLAN, Say("done")]), permission_mode="plan", can_use_tool=person)
    text = text_of(results(frames)[0])
    assert "changed your plan" in text
    assert text.endswith("# Better")
    assert structured(frames)[0]["plan"] == "# Better"


async def test_a_refused_plan_tells_why_and_plan_mode_stays(tmp_path: Path) -> None:
    person = Person(PermissionResultDeny(message="Use sqlite."), PermissionResultDeny(message="still no"))
    frames = await play(tmp_path, ScriptedModel([PLAN, WRITE, Say("ok")]), permission_mode="plan", can_use_tool=person)
    assert [text_of(result) for result in results(frames)] == ["Use sqlite.", "still no"]
    assert [denial["tool_name"] for denial in frames[-1]["permission_denials"]] == ["ExitPlanMode", "Write"]
    assert "plan only looks" in str(person.contexts[1].decision_reason)
    assert person.contexts[1].suggestions == []
    assert modes(frames) == []
    assert not made(tmp_path)


async def test_the_model_turns_plan_mode_on_by_itself(tmp_path: Path) -> None:
    person = Person(PermissionResultDeny(message="no"))
    model = ScriptedModel([Call("EnterPlanMode"), WRITE, Say("ok")])
    frames = await play(tmp_path, model, permission_mode="acceptEdits", can_use_tool=person)
    assert structured(frames)[0] == {"message": "Plan mode is on."}
    assert (modes(frames), person.names) == (["plan"], ["Write"])
    assert not made(tmp_path)


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "auto"])
async def test_there_is_no_plan_to_approve_outside_plan_mode(mode: str, tmp_path: Path) -> None:
    person = Person()
    frames = await play(tmp_path, ScriptedModel([PLAN, Say("ok")]), permission_mode=mode, can_use_tool=person)
    assert "Plan mode is not on" in text_of(results(frames)[0])
    assert person.asked == []


async def test_plan_mode_cannot_be_used_to_get_around_mode_dont_ask(tmp_path: Path) -> None:
    model = ScriptedModel([Call("EnterPlanMode"), WRITE, PLAN, WRITE, Say("ok")])
    frames = await play(tmp_path, model, permission_mode="dontAsk", can_use_tool=Person(ALLOW, ALLOW, ALLOW))
    assert all(result["is_error"] for result in results(frames))
    assert not made(tmp_path)


async def test_entering_twice_is_an_error(tmp_path: Path) -> None:
    frames = await play(
        tmp_path, ScriptedModel([Call("EnterPlanMode"), Say("ok")]), permission_mode="plan", can_use_tool=Person()
    )
    assert "on already" in text_of(results(frames)[0])


async def test_the_tools_are_offered_where_somebody_can_answer(tmp_path: Path) -> None:
    asking = ["AskUserQuestion", "EnterPlanMode", "ExitPlanMode"]
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({"can_use_tool": Person()}, asking),
        ({}, []),
        ({"tools": ["Read", *asking]}, asking),
    ]
    for more, expected in cases:
        model = ScriptedModel([Say("ok")])
        await play(tmp_path, model, **more)
        assert [spec.name for spec in model.requests[0].tools if spec.name in asking] == expected


async def test_a_plan_without_a_person_is_an_error_result(tmp_path: Path) -> None:
    frames = await play(tmp_path, ScriptedModel([PLAN, Say("ok")]), permission_mode="plan", tools=["ExitPlanMode"])
    assert "no one to ask" in text_of(results(frames)[0])


async def test_an_empty_plan_is_refused_before_anybody_sees_it(tmp_path: Path) -> None:
    person = Person()
    empty = Call("ExitPlanMode", {"plan": "  \n"})
    frames = await play(tmp_path, ScriptedModel([empty, Say("ok")]), permission_mode="plan", can_use_tool=person)
    assert "plan" in text_of(results(frames)[0])
    assert person.asked == []


async def test_a_hook_cannot_approve_a_plan_but_a_permission_hook_may(tmp_path: Path) -> None:
    from toolwright.types import HookMatcher

    async def allow(payload: Any, tool_use_id: Any, context: Any) -> dict[str, Any]:
        event = payload["hook_event_name"]
        told = {"permissionDecision": "allow"} if event == "PreToolUse" else {"decision": {"behavior": "allow"}}
        return {"hookSpecificOutput": {"hookEventName": event, **told}}

    hook: Any = allow
    for event, approved in [("PreToolUse", False), ("PermissionRequest", True)]:
        frames = await play(
            tmp_path,
            ScriptedModel([PLAN, Say("ok")]),
            permission_mode="plan",
            tools=["ExitPlanMode"],
            hooks={event: [HookMatcher(hooks=[hook])]},
        )
        assert (modes(frames) == ["default"]) is approved


# what the model is told


def said_to(model: ScriptedModel) -> list[str]:
    return [
        block["text"]
        for message in model.requests[-1].messages
        if message.role == "user"
        for block in message.content
        if block["type"] == "text" and block["text"].startswith("[Plan mode")
    ]


async def test_the_model_is_told_once_when_plan_mode_begins_and_once_when_it_ends(tmp_path: Path) -> None:
    model = ScriptedModel([Say("one"), Say("two"), Call("Bash", {"command": "ls"}), Say("three")])
    async with session_for(tmp_path, model, permission_mode="plan") as session:
        for prompt in ("first", "second"):
            await session.send(user(prompt))
            await until_result(session)
        (told,) = said_to(model)
        assert "give your plan as your answer" in told
        await session.control({"subtype": "set_permission_mode", "mode": "default"})
        await session.send(user("third"))
        await until_result(session)
    assert [text.partition(":")[0] for text in said_to(model)] == ["[Plan mode is on", "[Plan mode is off"]
    first = model.requests[0].messages[0]
    assert all(request.messages[0] is first for request in model.requests)


async def test_without_plan_mode_nothing_is_told(tmp_path: Path) -> None:
    model = ScriptedModel([Say("ok")])
    await play(tmp_path, model)
    assert said_to(model) == []
