"""A sample conversation on disk, and the laws that every history read back must keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from toolwright.sessions import Journal
from toolwright.sessions.history import LoadedMessage

SESSION = "11111111-2222-4333-8444-555555555555"


def journal(folder: Path, **more: Any) -> Journal:
    return Journal(folder / f"{SESSION}.jsonl", session_id=SESSION, cwd=str(folder), version="1.0", **more)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def call(tool_use_id: str, name: str = "Read") -> dict[str, Any]:
    return {"type": "tool_use", "id": tool_use_id, "name": name, "input": {"file_path": "/a"}}


def result(tool_use_id: str, content: str = "ok") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": content}


def write_sample(log: Journal) -> None:
    """A prompt, two calls in one message, their results out of order, an answer, a title."""
    log.user("Find the bug — “quickly” 🙂")
    for block in ({"type": "thinking", "thinking": "hm", "signature": "s1"}, text("Looking."), call("t1"), call("t2")):
        log.assistant(block, message_id="m1", model="claude-x", usage={"input_tokens": 3})
    log.user([result("t2")], tool_use_result={"file": {"n": 2}}, source=log.last_uuid)
    log.user([result("t1")], tool_use_result="Error: no")
    log.assistant(text("Found it."), message_id="m2", model="claude-x", stop_reason="end_turn")
    log.note("custom-title", customTitle="Bug hunt")


def assert_valid(messages: list[LoadedMessage]) -> None:
    """Every call has exactly one result, in the next message; no message is empty; a user speaks first."""
    assert not messages or messages[0].role == "user"
    for position, message in enumerate(messages):
        assert message.content
        calls = [block["id"] for block in message.content if block["type"] == "tool_use"]
        if calls:
            after = messages[position + 1].content
            assert [block["tool_use_id"] for block in after] == calls
        results = [block for block in message.content if block["type"] == "tool_result"]
        if results:
            before = messages[position - 1].content
            assert {block["tool_use_id"] for block in results} == {
                block["id"] for block in before if block["type"] == "tool_use"
            }
        if message.role == "assistant":
            assert message.content[-1]["type"] != "thinking"
