"""Folds the events of one answer into content blocks: a block when it is finished. The one thing it raises is `AnswerTooLarge`.

What a server may get wrong (unknown indexes, tool input that is not JSON, missing ids) is kept apart or left out here; what to
do about it is the runtime's business.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from toolwright.models.base import AnswerLimits, Event
from toolwright.models.meter import AnswerMeter

TOOL_TYPES = ("tool_use", "server_tool_use", "mcp_tool_use")
Block = dict[str, Any]

_decode = msgspec.json.Decoder().decode
NO_LIMITS = AnswerLimits(megabytes=0, blocks=0, calls=0)


class MessageAssembler:
    """One answer. `feed` it every event in order; the properties say what is known so far."""

    __slots__ = (
        "_meter",
        "_open",
        "_pieces",
        "_signatures",
        "invalid_inputs",
        "message_id",
        "model",
        "stop_reason",
        "stop_sequence",
        "usage",
    )

    def __init__(self, limits: AnswerLimits = NO_LIMITS) -> None:
        self._meter = AnswerMeter(limits)
        self.message_id = ""
        self.model = ""
        self.usage: dict[str, Any] = {}
        """Of message_start, with what message_delta said over it: its counts are totals, not additions."""
        self.stop_reason: str | None = None
        self.stop_sequence: str | None = None
        self.invalid_inputs: dict[str | None, str] = {}
        """By the block's id as the server sent it (None if it sent none): why the tool input could not be read."""
        self._open: dict[int, Block] = {}
        self._pieces: dict[int, list[str]] = {}  # by index: the growing string of the open block, joined when it is asked for
        self._signatures: dict[int, list[str]] = {}  # the same for its signature

    def feed(self, event: Event) -> Block | None:
        """Take in one event; the finished block, if this event finished one. Raises `AnswerTooLarge`."""
        kind, index = event.get("type"), event.get("index")
        if kind == "content_block_delta" and isinstance(index, int):
            self._add(index, event.get("delta"))
        elif kind == "content_block_start" and isinstance(index, int):
            self._start(index, event.get("content_block"))
        elif kind == "content_block_stop" and isinstance(index, int):
            return self._finish(index)
        elif kind == "message_start":
            self._read_message(event.get("message"))
        elif kind == "message_delta":
            self._read_delta(event)
        return None

    def partial_blocks(self) -> list[Block]:
        """What has come of blocks that are not finished: text only. Thinking has no signature yet, calls are never half run."""
        blocks = []
        for index, block in self._open.items():
            text = block.get("text", "") + "".join(self._pieces[index]) if block["type"] == "text" else ""
            if text:
                blocks.append({**block, "text": text})
        return blocks

    def _read_message(self, message: Any) -> None:
        if isinstance(message, dict):
            self.message_id = str(message.get("id") or "")
            self.model = str(message.get("model") or "")
            self._merge_usage(message.get("usage"))

    def _read_delta(self, event: Event) -> None:
        delta = event.get("delta")
        if isinstance(delta, dict):
            self.stop_reason = delta.get("stop_reason") or self.stop_reason
            self.stop_sequence = delta.get("stop_sequence") or self.stop_sequence
        self._merge_usage(event.get("usage"))

    def _merge_usage(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self._meter.add_content(len(repr(usage)))
            self.usage.update((key, value) for key, value in usage.items() if value is not None or key not in self.usage)

    def _start(self, index: int, block: Any) -> None:
        if isinstance(block, dict) and isinstance(block.get("type"), str):
            self._count_block(block)
            given = block.get("citations")
            self._open[index] = {**block, "citations": list(given)} if isinstance(given, list) else dict(block)
            self._pieces[index] = []
            self._signatures[index] = []

    def _count_block(self, block: Block) -> None:
        self._meter.add_block()
        self._meter.add_content(len(repr(block)))
        if block["type"] == "tool_use":
            self._meter.add_call()

    def _add(self, index: int, delta: Any) -> None:
        block = self._open.get(index)
        if block is None or not isinstance(delta, dict):
            return
        kind = delta.get("type")
        field = STRING_DELTAS.get(kind) if isinstance(kind, str) else None
        if field is not None:
            piece = delta.get(field)
            if isinstance(piece, str):
                self._meter.add_content(len(piece))
                self._pieces[index].append(piece)
        elif kind == "signature_delta":
            signature = str(delta.get("signature") or "")
            self._meter.add_content(len(signature))
            self._signatures[index].append(signature)
        elif kind == "citations_delta":
            citations = block.get("citations")
            block["citations"] = citations if isinstance(citations, list) else []
            self._meter.add_content(len(repr(delta)))
            block["citations"].append(delta.get("citation"))

    def _finish(self, index: int) -> Block | None:
        block = self._open.pop(index, None)
        if block is None:
            return None
        grown, signature = "".join(self._pieces.pop(index)), "".join(self._signatures.pop(index))
        if signature:
            block["signature"] = (block.get("signature") or "") + signature
        field = GROWING_FIELDS.get(block["type"])
        if field is not None:
            block[field] = (block.get(field) or "") + grown
        elif block["type"] in TOOL_TYPES:
            self._read_input(block, grown)
        return block

    def _read_input(self, block: Block, text: str) -> None:
        """Servers that send a call at once put its input into the start; the others send it in pieces."""
        if not text.strip():
            value: Any = block.get("input") or {}
            fault = None if isinstance(value, dict) else "it is not a JSON object"
        else:
            value, fault = parse_tool_input(text)
        block["input"] = {} if fault else value
        if fault:
            given = block.get("id")
            self.invalid_inputs[given if isinstance(given, str) else None] = f"The tool input cannot be read: {fault}."


STRING_DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
    "compaction_delta": "content",
}
GROWING_FIELDS = {"text": "text", "thinking": "thinking", "compaction": "content"}


def parse_tool_input(text: str) -> tuple[dict[str, Any], None] | tuple[None, str]:
    """The JSON object in the text, or what is wrong with it. Strict: no NaN, no key twice, nothing after it."""
    try:
        value = _decode(text)
        if not isinstance(value, dict):
            return None, f"it is {_kind(value)}, not a JSON object"
        json.loads(text, object_pairs_hook=_refuse_repeated_keys)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors too
        return None, "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
    return value, None


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise ValueError(f"the key {key!r} is there twice")
        seen.add(key)


def _kind(value: Any) -> str:
    return {list: "a list", str: "a string", bool: "true or false", type(None): "null"}.get(type(value), "a number")
