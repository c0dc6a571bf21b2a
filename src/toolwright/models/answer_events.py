"""A whole answer as the events in which a server would have streamed it. No clock, no provider."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from toolwright.models.base import Event

MAX_PIECES = 16
MIN_PIECE_SIZE = 12
DEFAULT_USAGE: Mapping[str, Any] = {"input_tokens": 10, "output_tokens": 5}


class ModelAnswer(Struct, frozen=True):
    """What a model answered. A block whose `input` is a string is a call with exactly this text as its input."""

    id: str
    model: str
    blocks: Sequence[Mapping[str, Any]]
    stop_reason: str | None = None
    """None: tool_use if there is a call, otherwise end_turn."""
    usage: Mapping[str, Any] = field(default_factory=lambda: DEFAULT_USAGE)


def message_start(answer: ModelAnswer) -> Event:
    message: dict[str, Any] = {
        "id": answer.id,
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**answer.usage, "output_tokens": min(1, answer.usage.get("output_tokens", 0))},
    }
    return {"type": "message_start", "message": message}


def message_end(answer: ModelAnswer) -> list[Event]:
    calls = any(block.get("type") == "tool_use" for block in answer.blocks)
    reason = answer.stop_reason or ("tool_use" if calls else "end_turn")
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [{"type": "message_delta", "delta": delta, "usage": dict(answer.usage)}, {"type": "message_stop"}]


def block_events(index: int, block: Mapping[str, Any]) -> Iterator[Event]:
    start, deltas = _start_and_deltas(block)
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _start_and_deltas(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block.get("type"):
        case "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block.get("text") or "")]
            return {**block, "text": ""}, deltas
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block.get("thinking") or "")]
            deltas.append({"type": "signature_delta", "signature": block.get("signature") or ""})
            return {**block, "thinking": "", "signature": ""}, deltas
        case "tool_use":
            given = block.get("input")
            text = given if isinstance(given, str) else msgspec.json.encode(given or {}).decode()
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(text)]
    return dict(block), []


def pieces(text: str) -> list[str]:
    size = max(MIN_PIECE_SIZE, -(-len(text) // MAX_PIECES))
    return [text[start : start + size] for start in range(0, len(text), size)]
