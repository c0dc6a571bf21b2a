"""Answers in the Messages API's stream format, good and broken, as steps for the scripted model server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from toolwright.base.ids import new_uuid
from toolwright.testing.steps import EVENT_STREAM, Action, Cut, Pause, Raw, ReceivedRequest, Reset, Stall, Step

DEFAULT_MODEL = "claude-scripted"
PIECE = 24
"""Characters of text or tool input per delta."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the scripted model makes. `input_text` replaces the JSON of `input`: for input that is no JSON."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = "toolu_scripted_1"
    input_text: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A whole answer of the scripted model. Blocks come in this order: thinking, text, calls."""

    text: str = ""
    calls: Sequence[ToolCall] = ()
    thinking: str = ""
    usage: Mapping[str, Any] = field(default_factory=lambda: {"input_tokens": 10, "output_tokens": 5})
    model: str = DEFAULT_MODEL
    stop_reason: str | None = None
    """None: tool_use if there are calls, otherwise end_turn."""


def answer(text: str = "", *calls: ToolCall, **more: Any) -> Raw:
    """The step for `Message(text, calls, …)`."""
    return render(message_events(Message(text, calls, **more)))


def render(events: Iterable[Mapping[str, Any]], *actions: Action) -> Raw:
    """Events as a stream, one HTTP chunk each, then the actions."""
    return Raw([*(encode_event(event) for event in events), *actions])


def encode_event(event: Mapping[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode(), msgspec.json.encode(event))


def message_events(message: Message) -> list[dict[str, Any]]:
    blocks: list[list[dict[str, Any]]] = []
    if message.thinking:
        blocks.append(_thinking_events(len(blocks), message.thinking))
    if message.text:
        blocks.append(_text_events(len(blocks), message.text))
    for call in message.calls:
        blocks.append(_call_events(len(blocks), call))
    reason = message.stop_reason or ("tool_use" if message.calls else "end_turn")
    return [
        _message_start(message),
        *(event for events in blocks for event in events),
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": message.usage.get("output_tokens", 0)},
        },
        {"type": "message_stop"},
    ]


def _message_start(message: Message) -> dict[str, Any]:
    head = {"id": f"msg_{new_uuid()}", "type": "message", "role": "assistant", "model": message.model, "content": []}
    return {"type": "message_start", "message": {**head, "stop_reason": None, "usage": {**message.usage, "output_tokens": 1}}}


def _text_events(index: int, text: str) -> list[dict[str, Any]]:
    deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(text)]
    return _block_events(index, {"type": "text", "text": ""}, deltas)


def _thinking_events(index: int, text: str) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(text)]
    deltas.append({"type": "signature_delta", "signature": "c2lnbmVk"})
    return _block_events(index, {"type": "thinking", "thinking": "", "signature": ""}, deltas)


def _call_events(index: int, call: ToolCall) -> list[dict[str, Any]]:
    text = msgspec.json.encode(call.input).decode() if call.input_text is None else call.input_text
    start: dict[str, Any] = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
    if call.id is None:
        del start["id"]
    return _block_events(index, start, [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(text)])


def _block_events(index: int, block: dict[str, Any], deltas: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _pieces(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


def tool_turns(call: ToolCall, text: str = "done", *, turns: int = 1) -> Callable[[ReceivedRequest], Step]:
    """For any number of sessions at once, forever: after each prompt `turns` rounds of the tool call, then the text."""
    calling, closing = answer("", call), answer(text)

    def choose(request: ReceivedRequest) -> Step:
        return calling if _rounds_since_prompt(request.json["messages"]) < turns else closing

    return choose


def _rounds_since_prompt(messages: Sequence[Mapping[str, Any]]) -> int:
    rounds = 0
    for message in reversed(messages):
        if message["role"] != "user":
            continue
        content = message["content"]
        if isinstance(content, str) or not any(block.get("type") == "tool_result" for block in content):
            break
        rounds += 1
    return rounds


# faults, each as a step


def broken(text: str, action: Action, *, call: ToolCall | None = None) -> Raw:
    """An answer that stops in the middle of its last block, with what the action does."""
    events = message_events(Message(text, (call,) if call else ()))
    return render(events[:-3], action)


def reset_mid_stream(text: str = "half an answer", **more: Any) -> Raw:
    return broken(text, Reset(), **more)


def cut_mid_chunk(text: str = "half an answer", **more: Any) -> Raw:
    return broken(text, Cut(), **more)


def stall(text: str = "half an answer", **more: Any) -> Raw:
    return broken(text, Stall(), **more)


def end_without_stop(text: str = "half an answer", **more: Any) -> Raw:
    """The body ends well, as far as HTTP can tell, and `message_stop` never came."""
    step = broken(text, Stall(), **more)
    return Raw(step.chunks[:-1])


def only_pings(count: int, *, every: float) -> Raw:
    """After message_start nothing but pings; then silence."""
    chunks: list[bytes | Action] = [encode_event(_message_start(Message()))]
    for _ in range(count):
        chunks += [Pause(every), encode_event({"type": "ping"})]
    return Raw([*chunks, Stall()])


def error_inside(kind: str = "overloaded_error", message: str = "Overloaded", *, after: str = "") -> Raw:
    """An `error` event in a stream that began with status 200: before any content, or after some text."""
    begun = message_events(Message(after))[:-3] if after else [_message_start(Message())]
    return render([*begun, {"type": "error", "error": {"type": kind, "message": message}}])


def byte_by_byte(step: Raw) -> Raw:
    """The same answer with every byte an HTTP chunk of its own: characters and line ends are split everywhere."""
    pieces: list[bytes | Action] = []
    for chunk in step.chunks:
        pieces.extend([chunk[at : at + 1] for at in range(len(chunk))] if isinstance(chunk, bytes) else [chunk])
    return Raw(pieces, step.headers, step.status)


def with_line_ends(step: Raw, line_end: bytes, *, before: bytes = b"") -> Raw:
    """The same answer with other line ends (CR, CRLF), and something before it (a byte order mark, comments)."""
    changed = [chunk.replace(b"\n", line_end) if isinstance(chunk, bytes) else chunk for chunk in step.chunks]
    return Raw([before, *changed] if before else changed, EVENT_STREAM, step.status)
