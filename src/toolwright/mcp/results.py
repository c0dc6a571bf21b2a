"""What a handler returns, made into MCP's `CallToolResult`: checked block by block, or refused with what was expected.

Text, images, audio, resources and resource links pass. A block of any other type is replaced by a text that says so. Knows the
shapes of MCP content; knows no tool and no model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

Block = dict[str, Any]
CallResult = dict[str, Any]

_REQUIRED = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource": ("resource",),
    "resource_link": ("uri",),
}
"""Block type → the keys that must be there, all strings except `resource`, an object."""

_EXPECTED = 'a tool must return {"content": [{"type": "text", "text": "..."}, ...]} and perhaps "is_error": True'


class MalformedResult(Exception):
    """A handler returned something that is no tool result; the text says what was expected and what came."""


def text_result(text: str) -> CallResult:
    return {"content": [{"type": "text", "text": clean_text(text)}], "isError": False}


def error_result(text: str) -> CallResult:
    return {"content": [{"type": "text", "text": clean_text(text)}], "isError": True}


def call_result(returned: Any) -> CallResult:
    """The `CallToolResult` for what a handler returned. Raises `MalformedResult`."""
    if not isinstance(returned, Mapping):
        raise MalformedResult(f"{_EXPECTED}; this one returned {_named(returned)}")
    content = returned.get("content", [] if "structuredContent" in returned else None)
    if not isinstance(content, (list, tuple)):
        raise MalformedResult(f'{_EXPECTED}; in what this one returned, "content" is {_named(content)}')
    result: CallResult = {
        "content": [_checked_block(block, f"content[{index}]") for index, block in enumerate(content)],
        "isError": bool(returned.get("is_error", returned.get("isError", False))),
    }
    for key in ("structuredContent", "_meta"):
        if returned.get(key) is not None:
            result[key] = _json_like(returned[key], key)
    return result


def clean_text(text: str) -> str:
    """Text that can be sent: half of a surrogate pair has no UTF-8 form and would break the whole request."""
    try:
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _checked_block(block: Any, place: str) -> Block:
    if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
        raise MalformedResult(f'{_EXPECTED}; {place} is {_named(block)}, not an object with a "type"')
    kind = block["type"]
    if kind not in _REQUIRED:
        return {"type": "text", "text": f"[A content block of type {kind[:100]!r} was left out: this type is not supported.]"}
    for key in _REQUIRED[kind]:
        expected = Mapping if key == "resource" else str
        if not isinstance(block.get(key), expected):
            raise MalformedResult(f"{place}: {kind!r} needs {key!r}, {_kind(expected)}; it is {_named(block.get(key))}")
    if kind == "resource":
        _check_resource(block["resource"], place)
    return _cleaned(block, place)


def _check_resource(resource: Mapping[str, Any], place: str) -> None:
    has_content = isinstance(resource.get("text"), str) or isinstance(resource.get("blob"), str)
    if not isinstance(resource.get("uri"), str) or not has_content:
        raise MalformedResult(f'{place}: "resource" needs a "uri" and either "text" or "blob" (base64), all strings')


def _cleaned(block: Mapping[str, Any], place: str) -> Block:
    copy = _with_clean_text(block)
    if "resource" in copy:
        copy["resource"] = _with_clean_text(copy["resource"])
    return copy if copy.keys() == {"type", "text"} else _json_like(copy, place)


def _with_clean_text(source: Mapping[str, Any]) -> dict[str, Any]:
    text = source.get("text")
    return {**source, "text": clean_text(text)} if isinstance(text, str) else dict(source)


def _json_like(value: Mapping[str, Any], place: str) -> dict[str, Any]:
    """A copy of plain JSON types only: there and back, so that nothing later fails to write it."""
    try:
        plain = msgspec.json.decode(msgspec.json.encode(value))
    except (TypeError, ValueError) as error:
        raise MalformedResult(f"{place} cannot be written as JSON: {error}") from None
    if not isinstance(plain, dict):
        raise MalformedResult(f"{place} must be an object, not {_named(value)}")
    return plain


def _kind(expected: type) -> str:
    return "a string" if expected is str else "an object"


def _named(value: Any) -> str:
    return "missing or None" if value is None else f"a {type(value).__name__}"
