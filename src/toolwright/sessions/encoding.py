"""One entry as one line of JSON, whatever is in it.

What JSON cannot say is written as near as it goes: lone surrogates as U+FFFD, foreign objects as their text, nesting beyond all
measure as a note. A transcript must never be the reason that a turn fails.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

MAX_DEPTH = 200

_encoder = msgspec.json.Encoder(enc_hook=str)


def encode_line(entry: dict[str, Any]) -> bytes:
    """The entry and a newline; there is no other newline in it."""
    try:
        return _encoder.encode(entry) + b"\n"
    except (ValueError, TypeError, OverflowError, RecursionError):
        plain = _plain(entry, MAX_DEPTH)
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _plain(value: Any, levels: int) -> Any:
    if isinstance(value, str):
        return without_surrogates(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None  # infinities and NaN have no JSON
    if levels == 0:
        return f"(nested more than {MAX_DEPTH} levels deep)"
    if isinstance(value, dict):
        return {without_surrogates(str(key)): _plain(item, levels - 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, levels - 1) for item in value]
    return without_surrogates(str(value))


def without_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
