"""Ids and times, as frames and transcripts write them. Both are made many times a turn, so they are made cheaply."""

from __future__ import annotations

import os
import time
from functools import lru_cache


def new_uuid() -> str:
    """A random UUID (version 4) as text; three times as fast as making the object first."""
    raw = bytearray(os.urandom(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def timestamp() -> str:
    """Now, in UTC: `2026-01-31T12:00:00.000Z`."""
    seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1000)
    return f"{_second(seconds)}.{milliseconds:03d}Z"


@lru_cache(maxsize=2)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
