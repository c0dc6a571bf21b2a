"""TodoWrite: the whole list each time, at most one task in progress, old and new for programs."""

from pathlib import Path
from typing import Any

import pytest

from support_runtime import play, results, session_for, text_of, until_result, user
from support_tools import TOOLS, make_workspace
from toolwright.models.scripted import Call, Say, ScriptedModel
from toolwright.tools.base import InvalidInput, ToolContext

pytestmark = pytest.mark.anyio


def todo(name: str, status: str = "pending") -> dict[str, str]:
    return {"content": name, "status": status, "activeForm": f"Doing {name}"}


def write(*todos: dict[str, str]) -> Call:
    return Call("TodoWrite", {"todos": list(todos)})


def told(frames: list[dict[str, Any]], subtype: str) -> list[dict[str, Any]]:
    return [frame for frame in frames if frame.get("subtype") == subtype]


async def test_the_list_is_replaced_and_old_and_new_are_given_back(tmp_path: Path) -> None:
    first, second = [todo("a", "in_progress"), todo("b")], [todo("a", "completed"), todo("b", "in_progress")]
    frames = await play(tmp_path, ScriptedModel([write(*first), write(*second), write(), Say("ok")]))
    structured = [frame["tool_use_result"] for frame in frames if frame["type"] == "user"]
    assert structured == [
        {"oldTodos": [], "newTodos": first},
        {"oldTodos": first, "newTodos": second},
        {"oldTodos": second, "newTodos": []},
    ]
    assert [text_of(result) for result in results(frames)] == [
        "The list is kept: 0 of 2 done. In progress: Doing a.",
        "The list is kept: 1 of 2 done. In progress: Doing b.",
        "The list is empty now.",
    ]
    assert [frame["todos"] for frame in told(frames, "todo_list_updated")] == [first, second, []]


async def test_two_tasks_in_progress_are_refused_and_the_list_stays(tmp_path: Path) -> None:
    kept = [todo("a", "in_progress")]
    both = write(todo("a", "in_progress"), todo("b", "in_progress"))
    frames = await play(tmp_path, ScriptedModel([write(*kept), both, write(*kept), Say("ok")]))
    assert results(frames)[1]["is_error"] is True
    assert "Doing a; Doing b" in text_of(results(frames)[1])
    assert len(told(frames, "todo_list_updated")) == 1


@pytest.mark.parametrize("todos", [[], [todo("a")], [todo("a", "completed")], [todo("a", "completed"), todo("b")]])
async def test_a_list_without_a_task_in_progress_is_accepted(todos: list[dict[str, str]], tmp_path: Path) -> None:
    tool = TOOLS["TodoWrite"]
    output = await tool.run(tool.parse({"todos": todos}), ToolContext(make_workspace(tmp_path)))
    assert output.is_error is None


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"todos": "a"},
        {"todos": [{"content": "a", "status": "pending"}]},
        {"todos": [{"content": "", "status": "pending", "activeForm": "x"}]},
        {"todos": [todo("a", "doing")]},
        {"todos": [{**todo("a"), "priority": "high"}]},
    ],
)
def test_what_is_no_list_of_tasks_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="todos"):
        TOOLS["TodoWrite"].parse(bad)


@pytest.mark.parametrize("mode", ["default", "plan", "dontAsk", "acceptEdits"])
async def test_it_needs_no_permission_but_can_be_denied(mode: str, tmp_path: Path) -> None:
    frames = await play(tmp_path, ScriptedModel([write(todo("a")), Say("ok")]), permission_mode=mode)
    assert results(frames)[0].get("is_error") is None
    model = ScriptedModel([write(todo("a")), Say("ok")])
    frames = await play(tmp_path, model, permission_mode=mode, disallowed_tools=["TodoWrite"])
    assert results(frames)[0]["is_error"] is True


async def test_each_session_has_its_own_list_and_keeps_it_from_turn_to_turn(tmp_path: Path) -> None:
    model = ScriptedModel([write(todo("a")), Say("one"), write(todo("b")), Say("two")])
    async with session_for(tmp_path, model) as session, session_for(tmp_path, model) as other:
        await session.send(user("go"))
        await until_result(session)
        await session.send(user("on"))
        frames = await until_result(session)
        assert other.started.conversation.runner.standing.todos == []
    assert [frame["tool_use_result"]["oldTodos"] for frame in frames if frame["type"] == "user"] == [[todo("a")]]
