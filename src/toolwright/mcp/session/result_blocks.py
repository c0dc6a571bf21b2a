"""MCP's `CallToolResult` as a `ToolOutput`: content blocks of the Messages API that a model's API will accept.

Text and images pass; what a model cannot take (audio, binary resources, other images) is described in a text, never dropped
silently. Knows both shapes; calls nothing.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from typing import Any

import msgspec

from toolwright.mcp.results import clean_text
from toolwright.tools.base import ToolOutput

Block = dict[str, Any]

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The image types that the models' APIs take."""


def tool_output(result: Any, *, saved: Mapping[int, str] | None = None, structured_first: bool = False) -> ToolOutput:
    """The output for one call. A result that is none is an error that says so.

    `saved` tells where the binary content at a place of the list was put. With `structured_first`, structured content stands
    in place of the texts, which only repeat it.
    """
    content = result.get("content") if isinstance(result, Mapping) else None
    if not isinstance(content, list):
        return ToolOutput("The MCP server's answer is not a tool result: it has no content list.", is_error=True)
    is_error = result.get("isError") is True
    structured = result.get("structuredContent")
    if structured_first and structured is not None and not is_error:
        content = [{"type": "text", "text": msgspec.json.encode(structured).decode()}, *(i for i in content if not _is_text(i))]
        saved = None if saved is None else _moved(saved, result["content"])
    blocks = [block for index, item in enumerate(content) for block in _blocks(item, (saved or {}).get(index), is_error)]
    return ToolOutput(blocks or [_text(_instead_of_nothing(structured))], structured, True if is_error else None)


def _instead_of_nothing(structured: Any) -> str:
    """An empty result is not allowed by the API: what else there is, or that there is nothing."""
    return "The tool returned no content." if structured is None else msgspec.json.encode(structured).decode()


def _is_text(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("type") == "text"


def _moved(saved: Mapping[int, str], content: list[Any]) -> dict[int, str]:
    """Where the saved ones stand once the texts are gone and one has been put in front."""
    kept = [index for index, item in enumerate(content) if not _is_text(item)]
    return {place: saved[index] for place, index in enumerate(kept, start=1) if index in saved}


def _blocks(item: Any, path: str | None, is_error: bool) -> list[Block]:
    block = _block(item, text_only=is_error)
    blocks = [] if block is None else [block]
    return blocks if path is None else [*blocks, _text(f"[{item['type'].capitalize()} saved to {path}]")]


def binaries(result: Any) -> dict[int, tuple[bytes, str]]:
    """The binary content of a result: its place in the list → the bytes and their media type."""
    content = result.get("content") if isinstance(result, Mapping) else None
    found = {}
    for index, item in enumerate(content if isinstance(content, list) else ()):
        kind = item.get("type") if isinstance(item, Mapping) else None
        holder = item.get("resource") if kind == "resource" else item if kind in ("image", "audio") else None
        data = holder.get("blob" if kind == "resource" else "data") if isinstance(holder, Mapping) else None
        if isinstance(holder, Mapping) and isinstance(data, str) and _is_base64(joined := "".join(data.split())):
            found[index] = (binascii.a2b_base64(joined), _media_type(holder))
    return found


def _block(item: Any, *, text_only: bool) -> Block | None:
    """One content block. None for an empty text, which the API refuses. An error's content may only be text."""
    kind = item.get("type") if isinstance(item, Mapping) else None
    match kind:
        case "text":
            text = _string(item, "text")
            return _text(text) if text.strip() else None
        case "image":
            return _text(_described("image", item)) if text_only else _image(item)
        case "audio":
            return _text(_described("audio", item))
        case "resource":
            return _resource(item.get("resource"))
        case "resource_link":
            return _text(_link(item))
    return _text(f"[A content block of type {str(kind)[:100]!r} was left out: this type is not supported.]")


def _image(item: Mapping[str, Any]) -> Block:
    media_type = _media_type(item)
    data = "".join(_string(item, "data").split())  # line breaks are no part of it
    if media_type not in IMAGE_TYPES or not _is_base64(data):
        return _text(_described("image", item))
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def _resource(resource: Any) -> Block:
    if not isinstance(resource, Mapping):
        return _text("[A resource without content was left out.]")
    uri = _string(resource, "uri")
    if isinstance(resource.get("text"), str):
        return _text(f"[Resource {uri}]\n{resource['text']}")
    return _text(_described(f"resource {uri}", {"data": resource.get("blob"), "mimeType": resource.get("mimeType")}))


def _link(item: Mapping[str, Any]) -> str:
    words = [_string(item, "title") or _string(item, "name"), _string(item, "description")]
    return " ".join(filter(None, [f"[Resource link: {_string(item, 'uri')}]", *words]))


def _described(what: str, item: Mapping[str, Any]) -> str:
    """What stands in place of content that is not shown: what it is and how big."""
    data = _string(item, "data")
    size = f"about {len(data) * 3 // 4:,} bytes" if _is_base64(data) else "not valid base64"
    return f"[{what}: {_media_type(item) or 'type not given'}, {size}; not shown to the model]"


def _media_type(item: Mapping[str, Any]) -> str:
    """Without parameters: handlers often pass on a whole Content-Type header."""
    media_type = _string(item, "mimeType").partition(";")[0].strip().lower()
    return "image/jpeg" if media_type == "image/jpg" else media_type


def _is_base64(data: str) -> bool:
    try:
        return bool(data) and bool(binascii.a2b_base64(data.encode("ascii"), strict_mode=True))
    except ValueError:
        return False


def _string(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    return value if isinstance(value, str) else ""


def _text(text: str) -> Block:
    return {"type": "text", "text": clean_text(text)}
