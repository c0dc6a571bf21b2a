"""The scripted model that every contender talks to, as a process of its own: its CPU time is nobody's.

It speaks the Messages API and the chat completions API. How many tool turns a conversation has is said by its prompt
(`turns=5`): the server calls the contender's tool so many times, one call per answer, and then closes with a text. What was
asked can be read at `/stats`. Start it with `python benchmarks/model_server.py`; it prints its address and serves for ever.
"""

from __future__ import annotations

import re
import resource
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from toolwright.testing import ModelServer, Raw, ReceivedRequest, Status, Step, ToolCall, answer
from toolwright.testing.chat_dialect import chat_answer

WANTED = re.compile(r"turns=(\d+)")
SPOKEN = "I will add the two numbers with the tool."
CLOSING = "The sum is 42."
INPUT = {"a": 19, "b": 23}
JSON = {"content-type": "application/json"}
FALLBACK_TOOL = "mcp__bench__add"
"""The name used when a request does not list the tool: a client may hold definitions back until the model asks for them."""


class Counted:
    """What came in since the last look at `/stats`."""

    def __init__(self) -> None:
        self.paths: Counter[str] = Counter()
        self.sizes: deque[int] = deque(maxlen=10_000)

    def note(self, request: ReceivedRequest) -> None:
        self.paths[f"{request.method} {request.path.partition('?')[0]}"] += 1
        self.sizes.append(len(request.raw))

    def hand_over(self) -> dict[str, Any]:
        told = {"paths": dict(self.paths), "sizes": list(self.sizes)}
        self.paths.clear()
        self.sizes.clear()
        return told


def main() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    counted = Counted()
    server = ModelServer(lambda request: choose(request, counted), keep=0)
    print(server.url, flush=True)
    try:
        server.serve()
    except KeyboardInterrupt:
        pass


def choose(request: ReceivedRequest, counted: Counted) -> Step:
    path = request.path.partition("?")[0]
    if path == "/stats":
        return Raw([msgspec.json.encode(counted.hand_over())], JSON)
    counted.note(request)
    if path == "/v1/messages":
        return messages_step(request.json)
    if path == "/v1/chat/completions":
        return chat_step(request.json)
    return Status(404)


def messages_step(body: Mapping[str, Any]) -> Step:
    if not body.get("stream"):
        return Raw([msgspec.json.encode(whole_message(body))], JSON)
    position = len(body["messages"])
    if rounds_left(body["messages"]) <= 0:
        return closing_message(position)
    return calling_message(tool_name(tool["name"] for tool in body.get("tools", ())), position)


def chat_step(body: Mapping[str, Any]) -> Step:
    position = len(body["messages"])
    if rounds_left(body["messages"]) <= 0:
        return closing_chat()
    return calling_chat(tool_name(tool["function"]["name"] for tool in body.get("tools", ())), position)


def rounds_left(messages: Sequence[Mapping[str, Any]]) -> int:
    """How many calls the last prompt still wants: its number less the assistant's messages since."""
    answered = 0
    for message in reversed(messages):
        if message["role"] == "assistant":
            answered += 1
        elif message["role"] == "user" and (found := WANTED.search(text_of(message["content"]))):
            return int(found[1]) - answered
    return 0


def text_of(content: str | Sequence[Mapping[str, Any]]) -> str:
    return content if isinstance(content, str) else " ".join(block.get("text", "") for block in content)


def tool_name(names: Any) -> str:
    return next((name for name in names if name.endswith("add")), FALLBACK_TOOL)


@lru_cache(maxsize=4096)
def calling_message(tool: str, position: int) -> Raw:
    return identified(answer(SPOKEN, ToolCall(tool, INPUT, f"toolu_{position:08d}")), position)


@lru_cache(maxsize=4096)
def closing_message(position: int) -> Raw:
    return identified(answer(CLOSING), position)


def identified(raw: Raw, position: int) -> Raw:
    """With an id of its own for each answer of a conversation: there are clients that merge messages with the same id."""
    own = b"msg_%08d" % position
    return Raw([chunk.replace(b"msg_scripted", own) if isinstance(chunk, bytes) else chunk for chunk in raw.chunks])


@lru_cache(maxsize=4096)
def calling_chat(tool: str, position: int) -> Raw:
    return chat_answer(SPOKEN, ToolCall(tool, INPUT, f"call_{position:08d}"))


@lru_cache
def closing_chat() -> Raw:
    return chat_answer(CLOSING)


def whole_message(body: Mapping[str, Any]) -> dict[str, Any]:
    """For side requests that want no stream (titles, probes)."""
    usage = {"input_tokens": 10, "output_tokens": 5}
    head = {"id": "msg_side", "type": "message", "role": "assistant", "model": body.get("model"), "stop_reason": "end_turn"}
    return {**head, "stop_sequence": None, "content": [{"type": "text", "text": CLOSING}], "usage": usage}


if __name__ == "__main__":
    main()
