"""Rewinding files through a session: prompts are the points, tools make the changes, controls take them back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from support_runtime import Frame, options_for, results, session_for, text_of, until_result, user
from toolwright.client.client import ClaudeSDKClient
from toolwright.models.scripted import Call, Say, ScriptedModel, Step
from toolwright.runtime.session import LocalSession
from toolwright.types import ControlError, ResultMessage, UserMessage

pytestmark = pytest.mark.anyio

KEPT: dict[str, Any] = {"enable_file_checkpointing": True, "permission_mode": "acceptEdits"}


def write(name: str, content: str) -> Call:
    return Call("Write", {"file_path": name, "content": content})


def edit(name: str, old: str, new: str, **more: Any) -> Call:
    return Call("Edit", {"file_path": name, "old_string": old, "new_string": new, **more})


def read(name: str) -> Call:
    return Call("Read", {"file_path": name})


async def ask(session: LocalSession, uuid: str) -> list[Frame]:
    await session.send({**user("go"), "uuid": uuid})
    return await until_result(session)


async def rewind(session: LocalSession, point: str, **more: Any) -> Frame:
    return await session.control({"subtype": "rewind_files", "user_message_id": point, **more})


async def test_files_go_back_to_a_prompt_and_the_answer_tells_everything(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\n")
    steps: list[Step] = [
        read("a.txt"), edit("a.txt", "two", "2"), write("new/b.txt", "b\nb\n"), Say("done"),
        edit("a.txt", "one", "1"), Say("done"),
    ]  # fmt: skip
    async with session_for(tmp_path, ScriptedModel(steps), **KEPT) as session:
        await ask(session, "first")
        await ask(session, "second")
        assert (root / "a.txt").read_text() == "1\n2\n"
        would = await rewind(session, "first", dry_run=True)
        assert (root / "new/b.txt").exists()
        did = await rewind(session, "first")
        assert (root / "a.txt").read_text() == "one\ntwo\n"
        assert [path.name for path in root.iterdir()] == ["a.txt"]
        assert did == {
            "canRewind": True,
            "filesChanged": [str(root / "a.txt"), str(root / "new/b.txt")],
            "insertions": 2,
            "deletions": 4,
            "skippedLinks": [],
            "changedByHand": [],
            "notRestored": [],
            "undoId": did["undoId"],
        }
        assert would == {**did, "undoId": None}
        await rewind(session, did["undoId"])
        assert (root / "a.txt").read_text() == "1\n2\n"
        assert (root / "new/b.txt").read_text() == "b\nb\n"


async def test_every_tool_that_changes_files_can_be_taken_back(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    cell = {"cell_type": "markdown", "id": "one", "metadata": {}, "source": ["old"]}
    notebook = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    before = {"a.txt": "a b", "b.txt": "c d", "n.ipynb": notebook}
    for name, content in before.items():
        (root / name).write_text(content)
    replacements = [{"old_string": "c", "new_string": "C"}, {"old_string": "d", "new_string": "D"}]
    steps: list[Step] = [
        [read(name) for name in before],
        edit("a.txt", "a", "A"),
        Call("MultiEdit", {"file_path": "b.txt", "edits": replacements}),
        Call("NotebookEdit", {"notebook_path": "n.ipynb", "cell_id": "one", "new_source": "new"}),
        write("c.txt", "made"),
        Say("done"),
    ]
    async with session_for(tmp_path, ScriptedModel(steps), **KEPT) as session:
        outcomes = results(await ask(session, "first"))
        assert not any(outcome.get("is_error") for outcome in outcomes)
        assert len((await rewind(session, "first"))["filesChanged"]) == 4
    assert {path.name: path.read_text() for path in root.iterdir()} == before


async def test_the_model_may_edit_at_once_after_a_rewind(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    file = tmp_path / "workspace/a.txt"
    file.write_text("x x")
    steps: list[Step] = [
        read("a.txt"), edit("a.txt", "x x", "y"), Say("done"),
        edit("a.txt", "x", "z", replace_all=True), write("a.txt", "whole"), Say("done"),
    ]  # fmt: skip
    async with session_for(tmp_path, ScriptedModel(steps), **KEPT) as session:
        await ask(session, "first")
        await rewind(session, "first")
        outcomes = results(await ask(session, "second"))
    assert [outcome.get("is_error") for outcome in outcomes] == [None, None]
    assert file.read_text() == "whole"


async def test_a_rewind_in_the_middle_of_a_turn(tmp_path: Path) -> None:
    file = tmp_path / "workspace/a.txt"
    steps: list[Step] = [write("a.txt", "1"), Call("wait", {}), write("a.txt", "2"), Say("done")]
    reached, go_on = anyio.Event(), anyio.Event()

    async def wait() -> str:
        reached.set()
        await go_on.wait()
        return "waited"

    async with session_for(tmp_path, ScriptedModel(steps), tools=["Write", wait], **KEPT) as session:
        await session.send({**user("go"), "uuid": "first"})
        with anyio.fail_after(10):
            await reached.wait()
        undo = (await rewind(session, "first"))["undoId"]
        assert not file.exists()
        go_on.set()
        await until_result(session)
        assert file.read_text() == "2"
        await rewind(session, undo)
        assert file.read_text() == "1"
        await rewind(session, "first")
        assert not file.exists()


async def test_a_session_that_is_resumed_can_be_rewound_without_another_turn(tmp_path: Path) -> None:
    file = tmp_path / "workspace/a.txt"
    async with session_for(tmp_path, ScriptedModel([write("a.txt", "1"), Say("done")]), **KEPT) as session:
        session_id = (await ask(session, "first"))[-1]["session_id"]
    async with session_for(
        tmp_path, ScriptedModel([edit("a.txt", "1", "2"), Say("done")]), resume=session_id, **KEPT
    ) as session:
        assert file.exists()
        undo = (await rewind(session, "first"))["undoId"]
        assert not file.exists()
    async with session_for(tmp_path, ScriptedModel([]), resume=session_id, **KEPT) as session:
        await rewind(session, undo)
        assert file.read_text() == "1"
    assert (tmp_path / "config/file-history" / session_id / "index.jsonl").is_file()


async def test_a_message_for_the_record_is_a_point_too(tmp_path: Path) -> None:
    steps: list[Step] = [write("a.txt", "1"), Say("done"), write("b.txt", "2"), Say("done")]
    async with session_for(tmp_path, ScriptedModel(steps), **KEPT) as session:
        await ask(session, "first")
        await session.send({**user("by the way"), "uuid": "aside", "shouldQuery": False})
        await ask(session, "second")
        answer = await rewind(session, "aside")
    assert [Path(path).name for path in answer["filesChanged"]] == ["b.txt"]


async def test_bash_is_not_followed(tmp_path: Path) -> None:
    steps: list[Step] = [Call("Bash", {"command": "echo hi > made.txt"}), write("a.txt", "1"), Say("done")]
    options = {**KEPT, "allowed_tools": ["Bash"]}
    async with session_for(tmp_path, ScriptedModel(steps), **options) as session:
        await ask(session, "first")
        await rewind(session, "first")
    assert [path.name for path in (tmp_path / "workspace").iterdir()] == ["made.txt"]


async def test_what_cannot_be_kept_is_a_result_the_model_can_act_on(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/file-history").write_text("in the way")
    async with session_for(tmp_path, ScriptedModel([write("a.txt", "1"), Say("done")]), **KEPT) as session:
        (outcome,) = results(await ask(session, "first"))
    assert outcome["is_error"] is True
    assert text_of(outcome).startswith("Nothing was changed: what ")
    assert list((tmp_path / "workspace").iterdir()) == []


async def test_wrong_requests_are_refused(tmp_path: Path) -> None:
    async with session_for(tmp_path, ScriptedModel([Say("hi")]), **KEPT) as session:
        await ask(session, "first")
        with pytest.raises(ControlError, match="No file checkpoint found for message nowhere"):
            await rewind(session, "nowhere")
        with pytest.raises(ControlError, match="user_message_id must be a text, not None"):
            await session.control({"subtype": "rewind_files"})
        assert (await rewind(session, "first"))["filesChanged"] == []


async def test_nothing_is_kept_unless_it_is_asked_for(tmp_path: Path) -> None:
    model = ScriptedModel([write("a.txt", "1"), Say("done")])
    async with session_for(tmp_path, model, permission_mode="acceptEdits") as session:
        await ask(session, "first")
        with pytest.raises(ControlError, match=r"File rewinding is not enabled\."):
            await rewind(session, "first")
    assert not (tmp_path / "config/file-history").exists()


async def test_a_client_learns_the_ids_from_replayed_prompts(tmp_path: Path) -> None:
    model = ScriptedModel([write("a.txt", "1"), Say("done"), write("b.txt", "2"), Say("done")])
    options = options_for(tmp_path, model, extra_args={"replay-user-messages": None}, **KEPT)
    async with ClaudeSDKClient(options) as client:
        prompts = [await prompt_of(client, text) for text in ("first", "second")]
        would = await client.rewind_files(prompts[1], dry_run=True)
        did = await client.rewind_files(prompts[1])
        assert [Path(path).name for path in did["filesChanged"]] == ["b.txt"]
        assert would["filesChanged"] == did["filesChanged"]
        await client.rewind_files(did["undoId"])
        await client.rewind_files(prompts[0])
    assert list((tmp_path / "workspace").iterdir()) == []


async def prompt_of(client: ClaudeSDKClient, text: str) -> str:
    """Ask, and give the id of the prompt."""
    await client.query(text)
    messages = [message async for message in client.receive_response()]
    assert isinstance(messages[-1], ResultMessage)
    return next(str(message.uuid) for message in messages if isinstance(message, UserMessage))
