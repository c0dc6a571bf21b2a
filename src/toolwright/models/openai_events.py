"""Chunks of a chat completions stream as events of the Messages API, one chunk at a time.

The content of a chat answer is one growing text, one growing reasoning and tool calls that may come whole, in pieces cut
anywhere, or interleaved; the Messages API has blocks, one after the other. So the blocks wait in a line: the first is given
out as it grows, the others collect until it is complete, within the limits of an answer. This module knows no HTTP and decodes
no bytes.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from toolwright.models.base import AnswerLimits, ErrorKind, Event, ModelError
from toolwright.models.meter import AnswerMeter
from toolwright.models.openai_messages import encode_json

Chunk = Mapping[str, Any]

STOP_REASONS = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "model_length": "max_tokens",
    "content_filter": "refusal",
}
FAILED_FINISHES: dict[str, ErrorKind] = {
    "error": "server_error",
    "abort": "truncated",
    "insufficient_system_resource": "overloaded",
}

_decode = msgspec.json.Decoder().decode


class _Block:
    """A block of the answer that is not finished: what came of it and was not given out yet."""

    __slots__ = ("closed", "kind", "opened", "pieces")

    def __init__(self, kind: Literal["text", "thinking", "tool_use"]) -> None:
        self.kind = kind
        self.pieces: list[str] = []
        self.opened = False
        self.closed = False

    @property
    def ready(self) -> bool:
        """All that its start event says is known."""
        return True

    @property
    def complete(self) -> bool:
        """Nothing more can belong to it once another block has begun."""
        return True

    def start(self, names: Mapping[str, str]) -> dict[str, Any]:
        return {"type": "text", "text": ""} if self.kind == "text" else {"type": "thinking", "thinking": "", "signature": ""}

    def delta(self, text: str) -> dict[str, Any]:
        return {"type": f"{self.kind}_delta", self.kind: text}


class _Call(_Block):
    """A tool call. Its name may come in pieces too, and is sure only when its arguments begin."""

    __slots__ = ("_all", "_complete", "given_id", "name", "sent_id")

    def __init__(self, given_id: str | None, sent_id: str) -> None:
        super().__init__("tool_use")
        self.given_id = given_id
        self.sent_id = sent_id
        self.name = ""
        self._all: list[str] = []
        self._complete: bool | None = False

    @property
    def begun(self) -> bool:
        return bool(self._all)

    @property
    def ready(self) -> bool:
        return self.begun and bool(self.name)

    @property
    def complete(self) -> bool:
        """Its arguments are a whole JSON text. Looked at only when asked, and once per growth."""
        if self._complete is None:
            self._complete = self._all[-1].rstrip()[-1:] in ("}", "]", "") and _is_json("".join(self._all))
        return self._complete

    def add(self, arguments: str) -> None:
        if arguments:
            self.pieces.append(arguments)
            self._all.append(arguments)
            self._complete = None

    def add_name(self, piece: str, known: Mapping[str, str]) -> None:
        repeated = piece == self.name or (self.name in known and not _extends(self.name, piece, known))
        if not self.begun and not repeated:
            self.name += piece

    def start(self, names: Mapping[str, str]) -> dict[str, Any]:
        return {"type": "tool_use", "id": self.sent_id, "name": names.get(self.name, self.name), "input": {}}

    def delta(self, text: str) -> dict[str, Any]:
        return {"type": "input_json_delta", "partial_json": text}


class ChatTranslator:
    """One answer. `feed` it every chunk, then ask for the `ending`."""

    __slots__ = (
        "_by_index",
        "_calls",
        "_finish_reason",
        "_line",
        "_meter",
        "_model",
        "_names",
        "_next_index",
        "_refused",
        "_usage",
        "started",
    )

    def __init__(self, model: str, names: Mapping[str, str] | None = None, meter: AnswerMeter | None = None) -> None:
        """`names`: the tools of the request, by the name that the server knows them by."""
        self._meter = meter or AnswerMeter(AnswerLimits())
        self._model = model
        self._names = names or {}
        self._line: deque[_Block] = deque()
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._next_index = 0
        self._usage: Mapping[str, Any] = {}
        self._finish_reason: str | None = None
        self._refused = False
        self.started = False

    @property
    def finished(self) -> bool:
        """The server said why it stopped. Only usage can still come."""
        return self._finish_reason is not None

    @property
    def has_content(self) -> bool:
        return bool(self._next_index or self._line)

    def feed(self, chunk: Chunk) -> list[Event]:
        events = [] if self.started else self._begin()
        usage = chunk.get("usage")
        if isinstance(usage, Mapping) and usage:
            self._usage = usage
        choice = _first_choice(chunk)
        if choice is not None:
            self._read_choice(choice)
            self._give_out(events)
        return events

    def ending(self) -> list[Event]:
        """The server has sent its last. Whether the answer was whole is for the caller to judge, by `finished`."""
        events = [] if self.started else self._begin()
        self._give_out(events, at_end=True)
        delta = {"stop_reason": self._stop_reason(), "stop_sequence": None}
        events.append({"type": "message_delta", "delta": delta, "usage": usage_of(self._usage)})
        events.append({"type": "message_stop"})
        return events

    def _begin(self) -> list[Event]:
        self.started = True
        message: dict[str, Any] = {
            "id": f"msg_{secrets.token_hex(12)}",  # of our own: some servers count theirs from 0 to 999
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage_of({}),
        }
        return [{"type": "message_start", "message": message}]

    def _stop_reason(self) -> str:
        reason = STOP_REASONS.get(self._finish_reason or "stop", "end_turn")
        if self._calls and reason == "end_turn":
            return "tool_use"  # "stop" although it called: many servers
        if reason == "tool_use" and not self._calls:
            return "end_turn"
        return "refusal" if self._refused and reason == "end_turn" else reason

    # reading

    def _read_choice(self, choice: Chunk) -> None:
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, Mapping):
            self._read_delta(delta)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            if reason in FAILED_FINISHES:
                kind = FAILED_FINISHES[reason]
                raise ModelError(f"The model server gave up on its answer: {reason}", kind=kind, retryable=True)
            self._finish_reason = reason

    def _read_delta(self, delta: Chunk) -> None:
        self._grow("thinking", delta.get("reasoning_content") or delta.get("reasoning"))
        self._grow("text", delta.get("content"))
        if delta.get("refusal"):
            self._refused = True
            self._grow("text", delta["refusal"])
        calls = delta.get("tool_calls")
        for entry in calls if isinstance(calls, list) else ():
            if isinstance(entry, Mapping):
                self._read_call(entry)

    def _grow(self, kind: Literal["text", "thinking"], content: Any) -> None:
        if isinstance(content, list):  # content parts, as in a request
            for part in content:
                if isinstance(part, Mapping):
                    self._grow("thinking" if part.get("type") == "thinking" else kind, part.get("text") or part.get("thinking"))
        elif isinstance(content, str) and content:
            self._meter.add_content(len(content))
            if not self._line or self._line[-1].kind != kind:
                self._meter.add_block()
                self._line.append(_Block(kind))
            self._line[-1].pieces.append(content)

    def _read_call(self, entry: Chunk) -> None:
        found = entry.get("function")
        function: Chunk = found if isinstance(found, Mapping) else {}
        name = function.get("name")
        arguments = _as_text(function.get("arguments"))
        self._meter.add_content(len(arguments) + (len(name) if isinstance(name, str) else 0))
        call = self._call_of(entry, name if isinstance(name, str) else "", arguments)
        if isinstance(name, str) and name:
            call.add_name(name, self._names)
        if call.closed and arguments.strip():
            text = f"The model server sent more arguments for a call of {call.name} after they were complete."
            raise ModelError(text, kind="server_error", retryable=True)
        call.add(arguments)

    def _call_of(self, entry: Chunk, name: str, arguments: str) -> _Call:
        index, call_id = entry.get("index"), entry.get("id")
        call_id = call_id if isinstance(call_id, str) and call_id else None
        call = self._by_index.get(index) if isinstance(index, int) else self._latest(call_id, name)
        if call is None or self._begins_another(call, call_id, name=name, arguments=arguments, numbered=isinstance(index, int)):
            call = self._begin_call(call_id)
        if isinstance(index, int):
            self._by_index[index] = call
        return call

    def _latest(self, call_id: str | None, name: str) -> _Call | None:
        """For a server that numbers nothing: the call with this id, or the last one."""
        if call_id is not None:
            for call in reversed(self._calls):
                if call.given_id == call_id:
                    return call
            if name:
                return None
        return self._calls[-1] if self._calls else None

    def _begins_another(self, call: _Call, call_id: str | None, *, name: str, arguments: str, numbered: bool) -> bool:
        """Whether this piece belongs to a new call, although the server gave it the place of this one."""
        if not name:
            return False
        if call_id is not None and call.given_id is not None and call_id != call.given_id:
            return True
        if not call.begun:
            known = self._names
            return name != call.name and name in known and call.name in known and not _extends(call.name, name, known)
        return call.complete and bool(arguments.strip() or not numbered or name != call.name)

    def _begin_call(self, call_id: str | None) -> _Call:
        self._meter.add_block()
        self._meter.add_call()
        taken = call_id is None or any(call.sent_id == call_id for call in self._calls)
        call = _Call(call_id, f"call_{secrets.token_hex(12)}" if taken or call_id is None else call_id)
        self._calls.append(call)
        self._line.append(call)
        return call

    # giving out

    def _give_out(self, events: list[Event], *, at_end: bool = False) -> None:
        line = self._line
        while line and self._give_first(line[0], events.append, at_end=at_end):
            if not at_end and (len(line) == 1 or not line[0].complete):
                return
            events.append({"type": "content_block_stop", "index": self._next_index})
            line.popleft().closed = True
            self._next_index += 1

    def _give_first(self, block: _Block, give: Callable[[Event], None], *, at_end: bool) -> bool:
        """Give out what has come of the first block; False if it cannot be opened yet."""
        if not block.opened:
            if not at_end and not block.ready:
                return False
            if isinstance(block, _Call) and not block.name:
                text = "The model server sent a tool call without the name of a tool."
                raise ModelError(text, kind="server_error", retryable=True)
            give({"type": "content_block_start", "index": self._next_index, "content_block": block.start(self._names)})
            block.opened = True
        if block.pieces:
            give({"type": "content_block_delta", "index": self._next_index, "delta": block.delta("".join(block.pieces))})
            block.pieces.clear()
        return True


def usage_of(usage: Mapping[str, Any]) -> dict[str, int]:
    """The Messages API counts cached input apart from other input; the chat API counts it within."""
    details = usage.get("prompt_tokens_details")
    details = details if isinstance(details, Mapping) else {}
    read = _count(details, "cached_tokens") or _count(usage, "prompt_cache_hit_tokens") or _count(usage, "cached_tokens")
    written = _count(details, "cache_write_tokens")
    return {
        "input_tokens": max(0, _count(usage, "prompt_tokens") - read - written),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "output_tokens": _count(usage, "completion_tokens"),
    }


def _count(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return int(value) if isinstance(value, int | float) and value > 0 else 0


def _first_choice(chunk: Chunk) -> Chunk | None:
    """The answer we asked for; a server that sends several numbers them, and ours is 0."""
    choices = chunk.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, Mapping) and choice.get("index") in (0, None):
            return choice
    return None


def _as_text(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else encode_json(arguments).decode()


def _is_json(text: str) -> bool:
    try:
        _decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return False
    return True


def _extends(name: str, piece: str, known: Mapping[str, str]) -> bool:
    return any(other.startswith(name + piece) for other in known)
