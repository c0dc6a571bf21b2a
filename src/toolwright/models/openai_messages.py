"""A `ModelRequest` as the JSON body of the chat completions API, put together from bytes that were encoded before.

One message of the history becomes one chat message or several (a tool result is a message of its own there); their bytes are
kept with it, so that a growing conversation is never encoded again. What the chat API has no place for is put into words,
never dropped in silence, except thinking: it belongs to the model that thought it. This module does no I/O.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct, field

from toolwright.models.base import HistoryMessage, ModelError, ModelRequest, ToolSpec

Block = Mapping[str, Any]
ChatMessage = dict[str, Any]

VALID_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
MAX_NAME_LENGTH = 64
EFFORT_NAMES = {"max": "xhigh"}
"""Where the chat API has another word for it."""
RESERVED_FIELDS = frozenset({"messages", "stream", "tools"})

_encode = msgspec.json.Encoder().encode


class ChatDialect(Struct, frozen=True):
    """What differs from server to server in the requests."""

    max_tokens_field: str = "max_tokens"
    """OpenAI's own API wants `max_completion_tokens`."""
    echo_reasoning: bool = False
    """Send thinking back as `reasoning_content`: some reasoning models need it between their tool calls."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Fields added to every request (`temperature`, `provider`, `chat_template_kwargs`, …)."""

    def __post_init__(self) -> None:
        taken = sorted(RESERVED_FIELDS & self.extra_body.keys())
        if taken:
            raise ValueError(f"extra_body cannot hold {', '.join(taken)}: the conversation itself decides that.")

    @property
    def cache_key(self) -> str:
        return "openai+reasoning" if self.echo_reasoning else "openai"


def request_body(request: ModelRequest, dialect: ChatDialect) -> bytes:
    key, echo = dialect.cache_key, dialect.echo_reasoning
    messages = [encoded for message in request.messages if (encoded := encode_message(message, key, echo_reasoning=echo))]
    if request.system.strip():
        messages.insert(0, _encode_system(request.system))
    return b"".join((_head(request, dialect)[:-1], _encode_tools(request.tools), b',"messages":[', b",".join(messages), b"]}"))


def _head(request: ModelRequest, dialect: ChatDialect) -> bytes:
    head: dict[str, Any] = {"model": request.model, "stream": True, "stream_options": {"include_usage": True}}
    if request.max_tokens is not None:
        head[dialect.max_tokens_field] = request.max_tokens
    if request.effort is not None:
        head["reasoning_effort"] = EFFORT_NAMES.get(request.effort, request.effort)
    return encode_json({**head, **dialect.extra_body})


@lru_cache(maxsize=64)
def _encode_system(system: str) -> bytes:
    return encode_json({"role": "system", "content": system})


def encode_message(message: HistoryMessage, key: str = "openai", *, echo_reasoning: bool = False) -> bytes:
    """The bytes of its chat messages, joined by commas; empty if nothing in it can be sent."""
    encoded = message.encoded.get(key)
    if encoded is None:
        chat = chat_messages(message, echo_reasoning=echo_reasoning)
        encoded = message.encoded[key] = encode_json(chat)[1:-1]  # without the brackets of the list
    return encoded


def encode_json(value: Any) -> bytes:
    try:
        return _encode(value)
    except UnicodeEncodeError:  # half a UTF-16 pair (a file name, a cut string) has no UTF-8: it becomes a question mark
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelError(f"The conversation holds something that is not JSON: {error}", kind="invalid_request") from error


# tools


def wire_name(name: str) -> str:
    """A tool's name as the chat API allows it: at most 64 letters, digits, `_` and `-`. Another name gets a mark of its own."""
    if VALID_NAME.fullmatch(name):
        return name
    mark = "_" + sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[: MAX_NAME_LENGTH - len(mark)] + mark


def tool_names(tools: Iterable[ToolSpec]) -> dict[str, str]:
    """Wire name → the name that we know the tool by."""
    return {wire_name(tool.name): tool.name for tool in tools}


def _encode_tools(tools: tuple[ToolSpec, ...]) -> bytes:
    return b',"tools":' + encode_json([_function(tool) for tool in tools]) if tools else b""


def _function(tool: ToolSpec) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {}, **tool.input_schema}  # servers refuse a schema without these two
    return {
        "type": "function",
        "function": {"name": wire_name(tool.name), "description": tool.description, "parameters": parameters},
    }


# messages


def chat_messages(message: HistoryMessage, *, echo_reasoning: bool = False) -> list[ChatMessage]:
    if message.role == "assistant":
        return _assistant_messages(message.content, echo_reasoning=echo_reasoning)
    return _user_messages(message.content)


def _assistant_messages(content: Iterable[Block], *, echo_reasoning: bool) -> list[ChatMessage]:
    texts, calls, thoughts = [], [], []
    for block in content:
        match block.get("type"):
            case "tool_use":
                calls.append(_tool_call(block))
            case "thinking":
                thoughts.append(str(block.get("thinking") or ""))
            case "redacted_thinking":
                pass
            case _:
                texts.append(_in_words(block))
    text = "\n\n".join(text for text in texts if text.strip())
    if not text and not calls:
        return []
    answer: ChatMessage = {"role": "assistant", "content": text or None}
    if echo_reasoning and any(thoughts):
        answer["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        answer["tool_calls"] = calls
    return [answer]


def _tool_call(block: Block) -> dict[str, Any]:
    arguments = encode_json(block.get("input") or {}).decode()
    function = {"name": wire_name(str(block.get("name") or "unknown")), "arguments": arguments}
    return {"id": block.get("id"), "type": "function", "function": function}


def _user_messages(content: Iterable[Block]) -> list[ChatMessage]:
    """Tool results first, each its own message, as the chat API wants it; then all the rest as one user message."""
    results, parts = [], []
    pictures: list[dict[str, Any]] = []
    for block in content:
        if block.get("type") == "tool_result":
            results.append(_result_message(block, pictures))
        else:
            parts.append(_part(block))
    parts = [*pictures, *(part for part in parts if part.get("text") != "")]
    return [*results, {"role": "user", "content": _joined_if_text(parts)}] if parts else results


def _joined_if_text(parts: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Text alone as a plain string: not every server takes a list."""
    texts = [part["text"] for part in parts if part["type"] == "text"]
    return "\n\n".join(texts) if len(texts) == len(parts) else parts


def _part(block: Block) -> dict[str, Any]:
    url = _image_url(block)
    return _text_part(_in_words(block)) if url is None else {"type": "image_url", "image_url": {"url": url}}


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image_url(block: Block) -> str | None:
    source = block.get("source")
    if block.get("type") != "image" or not isinstance(source, Mapping):
        return None
    if source.get("type") == "base64":
        return f"data:{source.get('media_type') or 'image/png'};base64,{source.get('data') or ''}"
    return str(source["url"]) if source.get("type") == "url" and source.get("url") else None


def _result_message(block: Block, pictures: list[dict[str, Any]]) -> ChatMessage:
    """A tool message holds text only: pictures go into the user message behind, and both places say so."""
    call_id = str(block.get("tool_use_id") or "")
    texts = [_result_text(part, call_id, pictures) for part in _blocks(block.get("content"))]
    text = "\n".join(text for text in texts if text) or "(no output)"
    if block.get("is_error") and not text.lower().startswith("error"):
        text = f"Error: {text}"
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def _result_text(part: Block, call_id: str, pictures: list[dict[str, Any]]) -> str:
    url = _image_url(part)
    if url is None:
        return _in_words(part)
    number = 1 + sum(picture["type"] == "image_url" for picture in pictures)
    pictures.append(_text_part(f"Image {number}, from the result of tool call {call_id}:"))
    pictures.append({"type": "image_url", "image_url": {"url": url}})
    return f"[Image {number} is in the user message that follows.]"


def _blocks(content: Any) -> list[Block]:
    if isinstance(content, str):
        return [_text_part(content)]
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def _in_words(block: Block) -> str:
    kind = str(block.get("type") or "unknown")
    if kind == "text":
        return str(block.get("text") or "")
    if kind == "document":
        return _document_in_words(block)
    return f"[A block of type {kind!r} stood here; this model's API cannot receive it.]"


def _document_in_words(block: Block) -> str:
    found = block.get("source")
    source: Block = found if isinstance(found, Mapping) else {}
    name = f' "{block["title"]}"' if block.get("title") else ""
    match source.get("type"):
        case "text":
            return f"[Document{name}]\n{source.get('data') or ''}\n[End of document]"
        case "content":
            text = "\n".join(_in_words(part) for part in _blocks(source.get("content")))
            return f"[Document{name}]\n{text}\n[End of document]"
        case "url":
            return f"[Document{name} at {source.get('url')}; this model's API cannot receive the document itself.]"
    size = len(str(source.get("data") or "")) * 3 // 4
    kind = source.get("media_type") or "unknown type"
    return f"[Document{name} ({kind}, about {size} bytes) stood here; this model's API cannot receive it.]"
