"""Reading a file again: told to be unchanged only as long as the model has it before its eyes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support_runtime import Frame, results, session_for, text_of, until_result, user
from toolwright.models.base import History, HistoryMessage
from toolwright.models.scripted import Call, Say, ScriptedModel
from toolwright.types import HookMatcher

pytestmark = pytest.mark.anyio

FIRST, SECOND = "1\tone\n2\ttwo", "is unchanged since you read it"


def reads(path: Path, *more: dict[str, Any]) -> ScriptedModel:
    """One turn for each Read."""
    inputs = [{"file_path": str(path), **fields} for fields in more]
    return ScriptedModel([step for fields in inputs for step in (Call("Read", fields), Say("ok"))])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    path = tmp_path / "workspace/a.txt"
    path.write_text("one\ntwo\n")
    return path


async def turn(session: Any) -> Frame:
    await session.send(user("go"))
    frames = await until_result(session)
    return next(frame for frame in frames if results([frame]))


def shown(frame: Frame) -> str:
    return text_of(results([frame])[0])


async def test_an_unchanged_file_is_not_shown_twice(tmp_path: Path, file: Path) -> None:
    async with session_for(tmp_path, reads(file, {}, {}, {"offset": 2}, {})) as session:
        assert shown(await turn(session)) == FIRST
        again = await turn(session)
        assert SECOND in shown(again)
        assert again["tool_use_result"] == {"type": "file_unchanged", "file": {"filePath": str(file)}}
        assert shown(await turn(session)).startswith("2\ttwo")
        assert SECOND in shown(await turn(session))


async def test_a_changed_file_is_shown_again(tmp_path: Path, file: Path) -> None:
    async with session_for(tmp_path, reads(file, {}, {}, {})) as session:
        await turn(session)
        file.write_text("one\n2\n")
        assert shown(await turn(session)) == "1\tone\n2\t2"
        file.write_text("one\ntwo\n")
        assert shown(await turn(session)) == FIRST  # as it once was, but not as it was last seen


async def test_what_the_session_itself_wrote_is_shown(tmp_path: Path, file: Path) -> None:
    edit = Call("Edit", {"file_path": str(file), "old_string": "two", "new_string": "2"})
    read = Call("Read", {"file_path": str(file)})
    model = ScriptedModel([read, Say("ok"), edit, read, Say("ok")])
    async with session_for(tmp_path, model, permission_mode="acceptEdits") as session:
        await turn(session)
        await session.send(user("go"))
        last = results(await until_result(session))[-1]
        assert text_of(last) == "1\tone\n2\t2"


async def test_what_has_left_the_conversation_is_shown_again(tmp_path: Path, file: Path) -> None:
    async with session_for(tmp_path, reads(file, {}, {})) as session:
        await turn(session)
        session.started.conversation.history = History(
            [HistoryMessage("user", [{"type": "text", "text": "in short: nothing"}])]
        )
        assert shown(await turn(session)) == FIRST


async def test_what_a_hook_kept_from_the_model_is_shown_again(tmp_path: Path, file: Path) -> None:
    answers: list[Any] = [{"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": "hidden"}}]

    async def hide_once(*_: Any) -> Any:
        return answers.pop() if answers else {}

    hooks: Any = {"PostToolUse": [HookMatcher(hooks=[hide_once])]}
    async with session_for(tmp_path, reads(file, {}, {}), hooks=hooks) as session:
        assert shown(await turn(session)) == "hidden"
        assert shown(await turn(session)) == FIRST
