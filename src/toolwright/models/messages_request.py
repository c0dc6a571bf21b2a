"""A `ModelRequest` as the JSON body of the Messages API, put together from bytes that were encoded before.

Each message, each set of tools and each system prompt is encoded once; the body is those bytes joined. Prompt-cache
breakpoints are placed at the end of the tools, of the system prompt and of the last two user messages, so that every
request of a growing conversation finds the prefix that the one before it left in the cache. Only fields that the API knows are
sent. This module does no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from toolwright.models.base import History, HistoryMessage, ModelError, ModelRequest, ToolSpec
from toolwright.models.prices import limits

CACHE_KEY = "anthropic"
MARK = b',"cache_control":{"type":"ephemeral"}'
DEFAULT_MAX_TOKENS = 32_000
ROOM_BESIDE_THINKING = 8_000
MAX_CACHED_TOOLSETS = 64

BLOCK_FIELDS: dict[str, tuple[str, ...]] = {
    "text": ("text", "citations"),
    "image": ("source",),
    "document": ("source", "title", "context", "citations"),
    "search_result": ("source", "title", "content", "citations"),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "tool_use": ("id", "name", "input", "caller"),
    "tool_result": ("tool_use_id", "content", "is_error"),
    "server_tool_use": ("id", "name", "input", "caller"),
    "mcp_tool_use": ("id", "name", "server_name", "input"),
    "mcp_tool_result": ("tool_use_id", "content", "is_error"),
    "container_upload": ("file_id",),
    "compaction": ("content",),
}
SERVER_RESULT_FIELDS = ("tool_use_id", "content", "caller")
ANY_FIELD = tuple(sorted({name for names in BLOCK_FIELDS.values() for name in names}))
"""For a type that this list does not know (the API grows): what any type may have, and nothing private."""

_encode = msgspec.json.Encoder().encode


def request_body(request: ModelRequest) -> bytes:
    prefix = encode_tools(request.tools) + encode_system(request.system)
    return b"".join((_head(request)[:-1], prefix, b',"messages":[', _encode_messages(request.messages), b"]}"))


def _encode_messages(messages: Sequence[HistoryMessage]) -> bytes:
    """All messages, with breakpoints in the last two of the user's. What stands before those is only joined once."""
    marked = _last_user_messages(messages)
    settled = min(marked, default=len(messages))
    beginning = _joined(messages, settled)
    rest = [
        _marked(encoded) if position in marked else encoded for position, encoded in _encoded(messages, settled, len(messages))
    ]
    return b",".join([beginning, *rest] if beginning else rest)


def _last_user_messages(messages: Sequence[HistoryMessage]) -> list[int]:
    found: list[int] = []
    for position in range(len(messages) - 1, -1, -1):
        if messages[position].role == "user" and encode_message(messages[position]):
            found.append(position)
            if len(found) == 2:
                break
    return found


def _joined(messages: Sequence[HistoryMessage], count: int) -> bytes:
    """The first `count` messages. A `History` remembers how far it has been joined."""
    if not isinstance(messages, History):
        return b",".join([encoded for _, encoded in _encoded(messages, 0, count)])
    known, beginning = messages.joined.get(CACHE_KEY, (0, b""))
    if known < count:
        parts = [encoded for _, encoded in _encoded(messages, known, count)]
        beginning = b",".join([beginning, *parts] if beginning else parts)
        messages.joined[CACHE_KEY] = (count, beginning)
    return beginning


def _encoded(messages: Sequence[HistoryMessage], start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """The messages from `start` to before `end` that have something to send."""
    for position in range(start, end):
        if encoded := encode_message(messages[position]):
            yield position, encoded


def _marked(encoded: bytes) -> bytes:
    """With a breakpoint on the last block: the last three bytes are the `}]}` after it."""
    return encoded[:-3] + MARK + encoded[-3:]


def encode_message(message: HistoryMessage) -> bytes:
    """The message's bytes; empty if there is nothing in it that can be sent."""
    encoded = message.encoded.get(CACHE_KEY)
    if encoded is None:
        content = [cleaned for block in message.content if (cleaned := clean_block(block))]
        encoded = _encode_safely({"role": message.role, "content": content}) if content else b""
        message.encoded[CACHE_KEY] = encoded
    return encoded


def clean_block(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """The block with the API's fields only; None for what the API would refuse: empty text, thinking without its signature."""
    kind = block.get("type", "")
    if kind == "text" and not str(block.get("text") or "").strip():
        return None
    if kind == "thinking" and not block.get("signature"):
        return None
    names = BLOCK_FIELDS.get(kind) or (SERVER_RESULT_FIELDS if kind.endswith("_tool_result") else ANY_FIELD)
    cleaned: dict[str, Any] = {"type": kind}
    cleaned.update((name, block[name]) for name in names if block.get(name) is not None)
    if kind == "tool_result" and isinstance(cleaned.get("content"), list):
        cleaned["content"] = _clean_blocks(cleaned["content"]) or ""
    return cleaned


def _clean_blocks(blocks: Iterable[Any]) -> list[dict[str, Any]]:
    return [cleaned for block in blocks if isinstance(block, Mapping) and (cleaned := clean_block(block))]


def _head(request: ModelRequest) -> bytes:
    head: dict[str, Any] = {"model": request.model, "max_tokens": _max_tokens(request), "stream": True}
    if request.thinking is not None:
        head["thinking"] = {key: value for key, value in request.thinking.items() if value is not None}
    if request.effort is not None:
        head["output_config"] = {"effort": request.effort}
    return _encode_safely(head)


def _max_tokens(request: ModelRequest) -> int:
    if request.max_tokens is not None:
        return request.max_tokens
    known = _limits(request.model)
    most = known.max_output if known is not None and known.max_output else DEFAULT_MAX_TOKENS
    wanted = min(DEFAULT_MAX_TOKENS, most)
    budget = (request.thinking or {}).get("budget_tokens") or 0
    return max(wanted, min(budget + ROOM_BESIDE_THINKING, max(most, budget + 1)))  # the API wants more than the budget


_limits = lru_cache(maxsize=64)(limits)

_toolsets: dict[int, tuple[tuple[ToolSpec, ...], bytes]] = {}


def encode_tools(tools: tuple[ToolSpec, ...]) -> bytes:
    """`,"tools":[…]`, from the cache that all sessions share: found by identity, then by equality."""
    if not tools:
        return b""
    found = _toolsets.get(id(tools))
    if found is not None and found[0] is tools:
        return found[1]
    for known, encoded in list(_toolsets.values()):
        if known == tools:
            return encoded
    encoded = _encode_tools(tools)
    while len(_toolsets) >= MAX_CACHED_TOOLSETS:
        _toolsets.pop(next(iter(_toolsets)), None)
    _toolsets[id(tools)] = (tools, encoded)  # holds the tuple, so its id cannot be given to another
    return encoded


def _encode_tools(tools: tuple[ToolSpec, ...]) -> bytes:
    listed = [{"name": tool.name, "description": tool.description, "input_schema": tool.input_schema} for tool in tools]
    return b',"tools":' + _encode_safely(listed)[:-2] + MARK + b"}]"


@lru_cache(maxsize=64)
def encode_system(system: str) -> bytes:
    if not system.strip():
        return b""
    return b',"system":' + _encode_safely([{"type": "text", "text": system}])[:-2] + MARK + b"}]"


def _encode_safely(value: Any) -> bytes:
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _encode(_without_surrogates(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelError(f"The conversation holds something that is not JSON: {error}", kind="invalid_request") from error


def _without_surrogates(value: Any) -> Any:
    """Half a UTF-16 pair (a file name, a cut string) has no UTF-8: it becomes U+FFFD; a whole pair becomes its character."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(item) for item in value]
    return value
