"""A recorded session played again."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from toolwright.models.assembler import MessageAssembler
from toolwright.models.base import HistoryMessage, ModelError, ModelRequest
from toolwright.models.replay import ReplayModel
from toolwright.types.errors import OptionsError

pytestmark = pytest.mark.anyio

CALL = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "/x"}}
THOUGHT = {"type": "thinking", "thinking": "Hm", "signature": "sig"}


def entry(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    return {"type": kind, "uuid": "u", "parentUuid": None, "sessionId": "s", "isSidechain": False, "message": message, **more}


def said(message_id: str, block: dict[str, Any], **message: Any) -> dict[str, Any]:
    return entry(
        "assistant", [block], message={"id": message_id, "model": "claude-x", "usage": {"output_tokens": 4}, **message}
    )


def result(text: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": text}]}


RECORDING = [
    {"type": "queue-operation", "operation": "enqueue"},
    entry("user", "Read it"),
    said("msg_1", THOUGHT),
    said("msg_1", {"type": "text", "text": "I read."}),
    entry("assistant", [{"type": "text", "text": "inside"}], isSidechain=True, message={"id": "msg_side"}),
    said("msg_1", CALL, stop_reason="tool_use", usage={"output_tokens": 40}),
    entry("user", [result("old content")]),
    entry("assistant", [{"type": "text", "text": "API Error"}], message={"id": "e", "model": "<synthetic>"}),
    said("msg_2", {"type": "text", "text": "It says: old content"}),
    {"type": "summary", "summary": "whatever"},
]


def write(folder: Path, entries: list[Any], end: bytes = b"") -> Path:
    file = folder / "session.jsonl"
    file.write_bytes(b"".join(msgspec.json.encode(item) + b"\n" for item in entries) + end)
    return file


def history(*told: Any) -> list[HistoryMessage]:
    first = [HistoryMessage("user", [{"type": "text", "text": "Read it"}])]
    if not told:
        return first
    return [*first, HistoryMessage("assistant", [CALL]), HistoryMessage("user", list(told))]


async def answer(model: ReplayModel, messages: list[HistoryMessage]) -> tuple[list[dict[str, Any]], MessageAssembler]:
    assembler = MessageAssembler()
    blocks = []
    async with aclosing(model.stream(ModelRequest("claude-x", messages, session_id="s"))) as stream:
        async for event in stream:
            block = assembler.feed(event)  # type: ignore[arg-type]  # no Retry comes from a bare model
            if block is not None:
                blocks.append(block)
    return blocks, assembler


async def test_the_entries_of_one_message_are_one_answer(tmp_path: Path) -> None:
    model = ReplayModel(write(tmp_path, RECORDING))
    assert model.model == "claude-x"
    blocks, first = await answer(model, history())
    assert blocks == [THOUGHT, {"type": "text", "text": "I read."}, CALL]
    assert (first.message_id, first.stop_reason, first.usage["output_tokens"]) == ("msg_1", "tool_use", 40)
    blocks, second = await answer(model, history(result("old content")))
    assert blocks == [{"type": "text", "text": "It says: old content"}]
    assert (second.message_id, second.stop_reason) == ("msg_2", "end_turn")


async def test_a_recording_that_is_over_says_so(tmp_path: Path) -> None:
    model = ReplayModel(write(tmp_path, RECORDING))
    for _ in range(2):
        await answer(model, history())
    with pytest.raises(ModelError, match=r"session\.jsonl is over: it has 2 answers, and this is request 3"):
        await answer(model, history())


async def test_other_results_go_on_unless_it_is_strict(tmp_path: Path) -> None:
    file = write(tmp_path, RECORDING)
    lenient = ReplayModel(file)
    await answer(lenient, history())
    assert await answer(lenient, history(result("new content")))


async def test_strict_says_what_is_different(tmp_path: Path) -> None:
    model = ReplayModel(write(tmp_path, RECORDING), strict=True)
    await answer(model, history())
    with pytest.raises(ModelError, match=r"Request 2 differs.*block 1 was '\(result\) old content' and now is '\(result\) new"):
        await answer(model, history(result("new content")))


async def test_strict_takes_the_same_request_with_other_ids(tmp_path: Path) -> None:
    model = ReplayModel(write(tmp_path, RECORDING), strict=True)
    await answer(model, history())
    blocks, _ = await answer(model, history({**result("old content"), "tool_use_id": "another"}))
    assert blocks[0]["type"] == "text"


@pytest.mark.parametrize("told", [(), (result("old content"), {"type": "text", "text": "more"})])
async def test_strict_counts_what_was_told(tmp_path: Path, told: tuple[Any, ...]) -> None:
    model = ReplayModel(write(tmp_path, RECORDING), strict=True)
    await answer(model, history())
    messages = [*history(), HistoryMessage("assistant", [CALL]), HistoryMessage("user", list(told))]
    with pytest.raises(ModelError, match=f"it had 1 blocks since the last answer, and now has {len(told)}"):
        await answer(model, messages)


async def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    assert ReplayModel(write(tmp_path, RECORDING, b'{"type": "assis')).model == "claude-x"


@pytest.mark.parametrize(
    ("entries", "end", "message"),
    [
        ([{"type": "summary"}], b"", "no answer of a model"),
        ([], b"", "no answer of a model"),
        (RECORDING[:2], b'{"torn\n{"type":"user"}\n', "line 3 is not JSON"),
    ],
)
async def test_what_is_no_recording_is_refused(tmp_path: Path, entries: list[Any], end: bytes, message: str) -> None:
    with pytest.raises(OptionsError, match=message):
        ReplayModel(write(tmp_path, entries, end))


async def test_a_recording_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match="cannot be read"):
        ReplayModel(tmp_path / "nothing.jsonl")
