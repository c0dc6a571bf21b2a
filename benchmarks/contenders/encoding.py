"""How long it takes to make the body of the next request at 10, 100 and 1,000 turns of history.

toolwright joins bytes that it encoded when each message was new; the two others encode the whole history again, as the floor
and most clients do. Every body is made from the same messages. Prints one JSON object.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import msgspec

from toolwright.models.base import History, HistoryMessage, ModelRequest, ToolSpec
from toolwright.models.messages_request import request_body

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}
TOOL = ToolSpec("add", "Add two whole numbers.", SCHEMA)
REPEATS = 30


def turn(number: int) -> list[HistoryMessage]:
    """A call and its result, at the size that they have in the benchmark."""
    text = {"type": "text", "text": "I will add the two numbers with the tool."}
    call = {"type": "tool_use", "id": f"toolu_{number:08d}", "name": "add", "input": {"a": 19, "b": 23}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{number:08d}", "content": [{"type": "text", "text": "42"}]}
    return [HistoryMessage("assistant", [text, call]), HistoryMessage("user", [result])]


def history(turns: int) -> History:
    first = HistoryMessage("user", [{"type": "text", "text": "Please add 19 and 23 for me."}])
    return History([first, *(message for number in range(turns) for message in turn(number))])


def microseconds(make: Callable[[], Any]) -> float:
    taken = []
    for _ in range(REPEATS):
        before = time.process_time_ns()
        make()
        taken.append(time.process_time_ns() - before)
    return statistics.median(taken) / 1e3


def growing(turns: int) -> float:
    """Each measured body has one turn more than the one before it, which is what a conversation does."""
    messages = history(turns)
    request_body(ModelRequest("scripted", messages, tools=(TOOL,)))
    taken = []
    for number in range(REPEATS):
        messages += turn(turns + number)
        before = time.process_time_ns()
        request_body(ModelRequest("scripted", messages, tools=(TOOL,)))
        taken.append(time.process_time_ns() - before)
    return statistics.median(taken) / 1e3


def measure(turns: int) -> dict[str, float]:
    tools = [{"name": TOOL.name, "description": TOOL.description, "input_schema": TOOL.input_schema}]
    plain = [{"role": message.role, "content": message.content} for message in history(turns)]
    body = {"model": "scripted", "max_tokens": 1024, "stream": True, "tools": tools, "messages": plain}
    return {
        "kb": len(request_body(ModelRequest("scripted", history(turns), tools=(TOOL,)))) / 1024,
        "joined": growing(turns),
        "msgspec": microseconds(lambda: msgspec.json.encode(body)),
        "json": microseconds(lambda: json.dumps(body).encode()),
    }


if __name__ == "__main__":
    print(json.dumps({"encoding": {str(turns): measure(turns) for turns in (10, 100, 1000)}}))
