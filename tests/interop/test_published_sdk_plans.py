"""Plan mode, questions and the list of tasks, with the published SDK driving our runtime."""

from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    SystemMessage,
    ToolPermissionContext,
    UserMessage,
)
from published import ON_ASYNCIO, Place, answer_of, ask, bash, call, client_of, content_text, result, results, say

pytestmark = ON_ASYNCIO

PLAN = call("ExitPlanMode", plan="# Plan\n1. Write x")
WRITE = call("Write", file_path="x", content="hello")
QUESTION = {
    "question": "Which?",
    "header": "H",
    "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}],
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def person(**answers: Any) -> Any:
    async def can_use_tool(name: str, given: dict[str, Any], context: ToolPermissionContext) -> Any:
        answer = answers[name]
        return answer(given, context) if callable(answer) else answer

    return can_use_tool


def structured(messages: list[Any]) -> list[Any]:
    return [message.tool_use_result for message in messages if isinstance(message, UserMessage) and message.tool_use_result]


async def test_the_tools_are_offered_with_a_callback_only(place: Place) -> None:
    for can_use_tool, offered in [(person(), True), (None, False)]:
        messages = await ask(place.options(say("hi"), can_use_tool=can_use_tool))
        (init,) = [message for message in messages if isinstance(message, SystemMessage) and message.subtype == "init"]
        assert ({"AskUserQuestion", "EnterPlanMode", "ExitPlanMode"} <= set(init.data["tools"])) is offered
        assert "TodoWrite" in init.data["tools"]


async def test_a_plan_is_approved_and_edits_accepted(place: Place) -> None:
    accept = PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")
    can_use_tool = person(ExitPlanMode=PermissionResultAllow(updated_permissions=[accept]))
    messages = await ask(place.options(PLAN, WRITE, say("done"), can_use_tool=can_use_tool, permission_mode="plan"))
    assert structured(messages)[0] == {"plan": "# Plan\n1. Write x", "isAgent": False}
    assert place.names() == ["x"]
    modes = [
        message.data["permissionMode"]
        for message in messages
        if isinstance(message, SystemMessage) and message.subtype == "status"
    ]
    assert modes == ["acceptEdits"]


async def test_a_plan_is_changed(place: Place) -> None:
    can_use_tool = person(ExitPlanMode=PermissionResultAllow(updated_input={"plan": "# Better"}))
    messages = await ask(place.options(PLAN, say("done"), can_use_tool=can_use_tool, permission_mode="plan"))
    assert "# Better" in content_text(results(messages)[0])


async def test_a_plan_is_refused_and_nothing_is_written(place: Place) -> None:
    no = PermissionResultDeny(message="Use sqlite.")
    can_use_tool = person(ExitPlanMode=no, Write=PermissionResultDeny(message="Not yet."))
    messages = await ask(place.options(PLAN, WRITE, say("ok"), can_use_tool=can_use_tool, permission_mode="plan"))
    assert [content_text(block) for block in results(messages)] == ["Use sqlite.", "Not yet."]
    assert [denial["tool_name"] for denial in result(messages).permission_denials] == ["ExitPlanMode", "Write"]
    assert place.names() == []


async def test_plan_mode_may_be_set_while_a_client_is_open(place: Place) -> None:
    can_use_tool = person(Bash=PermissionResultDeny(message="no"))
    async with client_of(
        place.options(bash("touch x"), say("one"), can_use_tool=can_use_tool, allowed_tools=["Bash(touch:*)"])
    ) as client:
        await client.set_permission_mode("plan")
        await answer_of(client)
    assert place.names() == []


async def test_a_question_is_answered_by_the_changed_input(place: Place) -> None:
    def answer(given: dict[str, Any], context: ToolPermissionContext) -> PermissionResultAllow:
        assert context.title is not None
        assert "Which?" in context.title
        return PermissionResultAllow(updated_input={**given, "answers": {"Which?": "A"}})

    messages = await ask(
        place.options(call("AskUserQuestion", questions=[QUESTION]), say("done"), can_use_tool=person(AskUserQuestion=answer))
    )
    assert content_text(results(messages)[0]).endswith("- Which?: A")
    assert structured(messages)[0]["answers"] == {"Which?": "A"}


async def test_what_is_asked_about_can_be_read(place: Place) -> None:
    seen: list[ToolPermissionContext] = []

    def answer(given: dict[str, Any], context: ToolPermissionContext) -> PermissionResultDeny:
        seen.append(context)
        return PermissionResultDeny(message="no")

    hidden = "ls" + " " * 2000 + "; touch x"
    await ask(place.options(bash(hidden), say("ok"), can_use_tool=person(Bash=answer)))
    assert seen[0].title == "Run ls [2,000 blanks] ; touch x"
    assert place.names() == []


async def test_the_list_of_tasks_is_told(place: Place) -> None:
    todos = [{"content": "a", "status": "in_progress", "activeForm": "Doing a"}]
    messages = await ask(place.options(call("TodoWrite", todos=todos), say("ok")))
    assert structured(messages) == [{"oldTodos": [], "newTodos": todos}]
    updates = [
        message.data["todos"] for message in messages if isinstance(message, SystemMessage) and "todo" in message.subtype
    ]
    assert updates == [todos]
