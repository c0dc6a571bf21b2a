"""What the outputs of a notebook's cell are to a model: words and pictures. Knows one output at a time, and no files."""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from toolwright.tools.notebooks import joined

_TERMINAL_CODES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_WORDS = ("text/plain", "text/markdown", "text/latex", "text/html", "application/json", "image/svg+xml")
_PLACEHOLDER = re.compile(r"<[\w.]+(?: [\w.]+)* object[^<>\n]*>")
"""What Python prints for an object without a text of its own: any other form says more."""


class Picture(Struct, frozen=True):
    """A picture in an output: what it claims to be, and its bytes."""

    claimed: str
    data: bytes


def plain(text: str) -> str:
    """Text without colours and cursor movements, and without halves of surrogate pairs, which no request can carry."""
    if "\x1b" in text:
        text = _TERMINAL_CODES.sub("", text)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def output_pieces(output: Any) -> Iterator[str | Picture]:
    """The words and pictures of one output."""
    match output:
        case {"output_type": "stream"}:
            yield plain(joined(output.get("text")))
        case {"output_type": "error"}:
            yield _error(output)
        case {"data": dict(data)}:
            yield from bundle_pieces(data)
        case _:
            yield "[an output of an unknown kind]"


def _error(output: dict[str, Any]) -> str:
    traceback = output.get("traceback")
    lines = [line for line in traceback if isinstance(line, str)] if isinstance(traceback, list) else []
    return plain("\n".join(lines) or f"{output.get('ename', 'Error')}: {output.get('evalue', '')}")


def bundle_pieces(data: dict[str, Any]) -> Iterator[str | Picture]:
    """The one form of a value that a model can make most of, out of all that the notebook keeps."""
    picture = next((kind for kind in _PICTURES if joined(data.get(kind))), None)
    if picture is not None:
        yield _picture(picture, joined(data[picture]))
        return
    words = [kind for kind in _WORDS if data.get(kind)]
    if len(words) > 1 and words[0] == "text/plain" and _PLACEHOLDER.fullmatch(joined(data["text/plain"]).strip()):
        words.pop(0)
    if words:
        yield plain(_text(data[words[0]]))
    elif data:
        yield f"[{', '.join(map(str, data))}: nothing that can be shown here]"


def _picture(claimed: str, encoded: str) -> str | Picture:
    try:
        return Picture(claimed, binascii.a2b_base64("".join(encoded.split()), strict_mode=True))
    except (binascii.Error, ValueError):
        return f"[{claimed}: damaged, its base64 cannot be read]"


def _text(value: Any) -> str:
    if isinstance(value, str) or (isinstance(value, list) and all(isinstance(line, str) for line in value)):
        return joined(value)
    return json.dumps(value, ensure_ascii=False, indent=1)
