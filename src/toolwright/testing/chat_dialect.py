"""Answers in the chat completions API's stream format, with the habits of different servers, as steps for the model server.

`ChatHabits` names what real servers do differently; `chat_chunks` gives the decoded chunks, `chat_answer` the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from toolwright.testing.messages_dialect import ToolCall
from toolwright.testing.steps import EVENT_STREAM, Action, Raw, ReceivedRequest, Step

DONE = b"data: [DONE]\n\n"
DEFAULT_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
Chunk = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChatHabits:
    """How a server streams. The defaults are OpenAI's own."""

    piece: int = 24
    """Characters of text, reasoning or arguments per chunk; 0: everything at once."""
    numbered_calls: bool = True
    """Calls carry an `index`."""
    same_index: bool = False
    """Every call has the index 0."""
    call_ids: bool = True
    split_names: bool = False
    """The name of a tool comes in two pieces."""
    object_arguments: bool = False
    """Arguments come as an object, at once."""
    finish_reason: str | None = ""
    """Empty: what fits; None: the server sends none."""
    done: bool = True
    """The stream ends with `[DONE]`."""
    usage: Literal["last", "every", "with_finish", "none"] = "last"
    reasoning_field: str = "reasoning_content"
    keep_alive: bytes = b""
    """Put before every chunk, such as `: processing` and a blank line."""
    streamed: bool = True
    """False: one JSON text, although a stream was asked for."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A whole answer of the scripted server, in the order reasoning, text, calls."""

    text: str = ""
    calls: Sequence[ToolCall] = ()
    reasoning: str = ""
    usage: Mapping[str, Any] = field(default_factory=lambda: DEFAULT_USAGE)
    model: str = "chat-scripted"


def chat_answer(text: str = "", *calls: ToolCall, habits: ChatHabits | None = None, **more: Any) -> Raw:
    """The step for `ChatMessage(text, calls, …)`."""
    message, habits = ChatMessage(text, calls, **more), habits or ChatHabits()
    if not habits.streamed:
        return Raw([msgspec.json.encode(whole_answer(message, habits))], {"content-type": "application/json"})
    return Raw(
        [*(habits.keep_alive + encode_chunk(chunk) for chunk in chat_chunks(message, habits)), DONE][
            : None if habits.done else -1
        ]
    )


def chat_broken(text: str, *more: bytes | Action, calls: Sequence[ToolCall] = (), habits: ChatHabits | None = None) -> Raw:
    """An answer that stops before its finish_reason, then bytes and actions; without any the body just ends."""
    habits = habits or ChatHabits()
    return Raw([*(encode_chunk(chunk) for chunk in _deltas(ChatMessage(text, calls), habits)), *more])


def chat_error_inside(error: Any, *, after: str = "") -> Raw:
    """An error object in a stream that began with status 200."""
    begun = [encode_chunk(chunk) for chunk in _deltas(ChatMessage(after), ChatHabits())]
    return Raw([*begun, encode_chunk({"error": error})], EVENT_STREAM)


def chat_tool_turns(call: ToolCall, text: str = "done", *, turns: int = 1) -> Callable[[ReceivedRequest], Step]:
    """For any number of sessions at once, forever: after each prompt `turns` rounds of the tool call, then the text."""
    calling, closing = chat_answer("", call), chat_answer(text)

    def choose(request: ReceivedRequest) -> Step:
        roles = [message["role"] for message in request.json["messages"]]
        since_prompt = roles[len(roles) - roles[::-1].index("user") :] if "user" in roles else roles
        return calling if since_prompt.count("assistant") < turns else closing

    return choose


def encode_chunk(chunk: Mapping[str, Any]) -> bytes:
    return b"data: %s\n\n" % msgspec.json.encode(chunk)


def chat_chunks(message: ChatMessage, habits: ChatHabits) -> list[Chunk]:
    """All chunks of the answer, up to `[DONE]`."""
    chunks = _deltas(message, habits)
    reason = _finish_reason(message, habits)
    if reason is not None:
        chunks.append(_chunk(message, {}, finish_reason=reason))
    if habits.usage == "last":
        chunks.append({**_chunk(message, {}), "choices": [], "usage": message.usage})
    elif habits.usage == "with_finish":
        chunks[-1]["usage"] = message.usage
    elif habits.usage == "every":
        for chunk in chunks:
            chunk["usage"] = message.usage
    return chunks


def whole_answer(message: ChatMessage, habits: ChatHabits) -> dict[str, Any]:
    """The answer as it looks when no stream was asked for."""
    calls = [_call_entry(call, position, habits, arguments=_arguments(call)) for position, call in enumerate(message.calls)]
    content = {"role": "assistant", "content": message.text or None, "tool_calls": calls}
    choice = {"index": 0, "message": content, "finish_reason": _finish_reason(message, habits)}
    return {"object": "chat.completion", "model": message.model, "choices": [choice], "usage": message.usage}


def _finish_reason(message: ChatMessage, habits: ChatHabits) -> str | None:
    return ("tool_calls" if message.calls else "stop") if habits.finish_reason == "" else habits.finish_reason


def _deltas(message: ChatMessage, habits: ChatHabits) -> list[Chunk]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None}]
    deltas += ({habits.reasoning_field: piece} for piece in _pieces(message.reasoning, habits))
    deltas += ({"content": piece} for piece in _pieces(message.text, habits))
    for position, call in enumerate(message.calls):
        deltas += ({"tool_calls": [entry]} for entry in _call_entries(call, position, habits))
    return [_chunk(message, delta) for delta in deltas]


def _chunk(message: ChatMessage, delta: Mapping[str, Any], *, finish_reason: str | None = None) -> Chunk:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": message.model, "choices": [choice]}


def _call_entries(call: ToolCall, position: int, habits: ChatHabits) -> list[dict[str, Any]]:
    if habits.object_arguments:
        return [_call_entry(call, position, habits, arguments=dict(call.input))]
    if not habits.piece:
        return [_call_entry(call, position, habits, arguments=_arguments(call))]
    first = _call_entry(call, position, habits, arguments="")
    rest = [_more(position, habits, arguments=piece) for piece in _pieces(_arguments(call), habits)]
    if habits.split_names:
        half = len(call.name) // 2
        first["function"]["name"] = call.name[:half]
        rest.insert(0, _more(position, habits, name=call.name[half:]))
    return [first, *rest]


def _call_entry(call: ToolCall, position: int, habits: ChatHabits, *, arguments: Any) -> dict[str, Any]:
    entry = _more(position, habits, name=call.name, arguments=arguments)
    entry["type"] = "function"
    if habits.call_ids:
        entry["id"] = call.id
    return entry


def _more(position: int, habits: ChatHabits, **function: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {"function": function}
    if habits.numbered_calls:
        entry["index"] = 0 if habits.same_index else position
    return entry


def _arguments(call: ToolCall) -> str:
    return msgspec.json.encode(call.input).decode() if call.input_text is None else call.input_text


def _pieces(text: str, habits: ChatHabits) -> Iterable[str]:
    size = habits.piece or max(1, len(text))
    return [text[start : start + size] for start in range(0, len(text), size)]
