"""An answer as it comes in: what the transcript says of it, and what becomes of a block that nothing follows."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from support_runtime import play, session_for, texts, until_result, user
from toolwright.models.scripted import Call, Say, ScriptedModel, Turn, WaitFor

pytestmark = pytest.mark.anyio


def assistant_rows(folder: Path) -> list[dict[str, Any]]:
    (transcript,) = folder.glob("config/projects/*/*.jsonl")
    rows = [json.loads(line) for line in transcript.read_text().splitlines()]
    return [row["message"] for row in rows if row["type"] == "assistant"]


async def test_the_last_row_of_an_answer_says_why_it_ended_and_what_it_used(tmp_path: Path) -> None:
    model = ScriptedModel([Turn([Say("I look."), Call("Bash", {"command": "echo hi"})]), Say("done")])
    frames = await play(tmp_path, model)
    rows = assistant_rows(tmp_path)
    assert [row["stop_reason"] for row in rows] == [None, "tool_use", "end_turn"]
    first, second, last = (row["usage"]["output_tokens"] for row in rows)
    assert first < second
    assert sum(row["usage"]["output_tokens"] for row in rows[1:]) == frames[-1]["usage"]["output_tokens"] == second + last
    told = [frame["message"]["stop_reason"] for frame in frames if frame["type"] == "assistant"]
    assert told == [None, None, None]


@pytest.mark.parametrize("partial", [False, True])
async def test_a_block_that_nothing_follows_is_told_when_the_turn_is_interrupted(partial: bool, tmp_path: Path) -> None:
    waiting = anyio.Event()

    async def wait() -> None:
        waiting.set()
        await anyio.sleep_forever()

    model = ScriptedModel([Turn([Say("half of it"), WaitFor(wait), Say("never")])])
    async with session_for(tmp_path, model, include_partial_messages=partial) as session:
        await session.send(user("go"))
        await waiting.wait()
        await session.control({"subtype": "interrupt"})
        frames = await until_result(session)
    assert "half of it" in texts(frames)
    assert [row["content"][0]["text"] for row in assistant_rows(tmp_path)] == ["half of it"]
    stops = [frame for frame in frames if frame.get("event", {}).get("type") == "content_block_stop"]
    assert len(stops) == partial


async def test_a_block_is_told_before_the_event_that_ends_it(tmp_path: Path) -> None:
    frames = await play(tmp_path, ScriptedModel([Say("hello")]), include_partial_messages=True)
    kinds = [frame["event"]["type"] if frame["type"] == "stream_event" else frame["type"] for frame in frames]
    assert kinds.index("assistant") + 1 == kinds.index("content_block_stop") < kinds.index("message_delta")
