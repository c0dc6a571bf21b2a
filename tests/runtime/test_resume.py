"""Going on with a session: resume, continue, fork."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from support_runtime import assert_valid_history, play, session_for, until_result, user
from toolwright.models.scripted import Call, Say, ScriptedModel, Turn
from toolwright.types import OptionsError

pytestmark = pytest.mark.anyio


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def first_run(folder: Path, **more: Any) -> dict[str, Any]:
    model = ScriptedModel([Call("add", {"a": 1, "b": 2}), Say("It is 3.")])
    return (await play(folder, model, prompt="add", tools=[add], **more))[-1]


def said(model: ScriptedModel) -> list[str]:
    """The texts of the last request."""
    return [block["text"] for message in model.requests[-1].messages for block in message.content if block["type"] == "text"]


def transcripts(folder: Path) -> list[Path]:
    return sorted((folder / "config" / "projects").rglob("*.jsonl"))


async def test_a_transcript_is_written_in_the_shared_layout(tmp_path: Path) -> None:
    result = await first_run(tmp_path)
    (path,) = transcripts(tmp_path)
    assert path.stem == result["session_id"]
    assert path.stat().st_mode & 0o777 == 0o600
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    assert [entry["type"] for entry in entries] == ["user", "assistant", "user", "assistant"]
    assert [entry["parentUuid"] for entry in entries] == [None, *(entry["uuid"] for entry in entries[:-1])]
    assert all(entry["sessionId"] == result["session_id"] for entry in entries)


async def test_resume_goes_on_under_the_same_id_with_the_whole_history(tmp_path: Path) -> None:
    result = await first_run(tmp_path)
    model = ScriptedModel([Say("As I said.")])
    frames = await play(tmp_path, model, prompt="again?", tools=[add], resume=result["session_id"])
    assert frames[-1]["session_id"] == result["session_id"]
    assert said(model) == ["add", "It is 3.", "again?"]
    assert len(model.requests[0].messages) == 5
    assert_valid_history(model)
    assert len(transcripts(tmp_path)) == 1


async def test_continue_takes_the_latest_session_or_starts_afresh(tmp_path: Path) -> None:
    fresh = ScriptedModel([Say("hello")])
    frames = await play(tmp_path, fresh, tools=[], continue_conversation=True)
    assert said(fresh) == ["go"]
    model = ScriptedModel([Say("yes")])
    more = await play(tmp_path, model, prompt="and now?", tools=[], continue_conversation=True)
    assert more[-1]["session_id"] == frames[-1]["session_id"]
    assert said(model) == ["go", "hello", "and now?"]


async def test_a_fork_has_an_id_of_its_own_and_leaves_the_source_alone(tmp_path: Path) -> None:
    result = await first_run(tmp_path)
    source = transcripts(tmp_path)[0].read_bytes()
    model = ScriptedModel([Say("in the fork")])
    frames = await play(tmp_path, model, prompt="fork", tools=[add], resume=result["session_id"], fork_session=True)
    assert frames[-1]["session_id"] != result["session_id"]
    assert said(model) == ["add", "It is 3.", "fork"]
    paths = transcripts(tmp_path)
    assert len(paths) == 2
    assert source in [path.read_bytes() for path in paths]


async def test_a_session_may_be_given_its_id(tmp_path: Path) -> None:
    wanted = "11111111-2222-4333-8444-555555555555"
    result = await first_run(tmp_path, session_id=wanted)
    assert result["session_id"] == wanted
    assert transcripts(tmp_path)[0].stem == wanted


async def test_a_call_that_was_cut_off_is_reported_as_interrupted_not_run_again(tmp_path: Path) -> None:
    result = await first_run(tmp_path)
    (path,) = transcripts(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][: len(lines[2]) // 2])
    model = ScriptedModel([Say("I see.")])
    await play(tmp_path, model, prompt="what happened?", tools=[add], resume=result["session_id"])
    assert_valid_history(model)
    blocks = [block for message in model.requests[0].messages for block in message.content if block["type"] == "tool_result"]
    assert blocks[0]["is_error"] is True
    assert "interrupted" in str(blocks[0]["content"])


async def test_ids_of_calls_stay_unique_across_a_resume(tmp_path: Path) -> None:
    model = ScriptedModel([Call("add", {"a": 1, "b": 2}, id="same"), Say("3")])
    first = (await play(tmp_path, model, tools=[add]))[-1]
    again = ScriptedModel([Call("add", {"a": 1, "b": 2}, id="same"), Say("3")])
    await play(tmp_path, again, tools=[add], resume=first["session_id"])
    assert_valid_history(again)


async def test_resume_up_to_a_message_drops_what_came_after(tmp_path: Path) -> None:
    model = ScriptedModel([Say("one"), Say("two")])
    async with session_for(tmp_path, model, tools=[]) as session:
        first = []
        for text in ("a", "b"):
            await session.send(user(text))
            first.append(await until_result(session))
    session_id = first[0][-1]["session_id"]
    at = next(frame["uuid"] for frame in first[0] if frame["type"] == "assistant")
    second_prompt = next(
        json.loads(line)["uuid"] for line in transcripts(tmp_path)[0].read_text().splitlines() if '"b"' in line
    )
    with pytest.raises(OptionsError, match="Resume rejected by --resume-drops-turn:"):
        await play(tmp_path, ScriptedModel([]), tools=[], resume=session_id, resume_session_at=at, resume_drops_turn=at)
    with pytest.raises(OptionsError, match="resume_session_at"):
        await play(tmp_path, ScriptedModel([]), tools=[], resume=session_id, resume_session_at=session_id)
    again = ScriptedModel([Say("other")])
    truncated = {"resume": session_id, "resume_session_at": at, "resume_drops_turn": second_prompt}
    await play(tmp_path, again, prompt="c", tools=[], **truncated)
    assert said(again) == ["a", "one", "c"]


async def test_answers_with_the_same_id_stay_apart_when_read_back(tmp_path: Path) -> None:
    same = Turn([Say("one")], message_id="msg_same")
    first = (await play(tmp_path, ScriptedModel([same]), tools=[]))[-1]
    await play(tmp_path, ScriptedModel([replace(same, content=[Say("two")])]), tools=[], resume=first["session_id"])
    model = ScriptedModel([Say("three")])
    await play(tmp_path, model, tools=[], resume=first["session_id"])
    assert said(model) == ["go", "one", "go", "two", "go"]
