"""What a session gives to its external servers: how long they may take, and who is told what happens to them. Values only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

CONNECT_SECONDS = 30.0
CALL_SECONDS = 100_000.0
REQUEST_SECONDS = 60.0


class Timing(Struct, frozen=True):
    """In seconds: until a server must be connected, until a call must be answered, until any other request must be."""

    connect: float = CONNECT_SECONDS
    call: float = CALL_SECONDS
    request: float = REQUEST_SECONDS


class Audience(Struct):
    """Who is told what happens to a server. None of these may block."""

    changed: Callable[[], None] = lambda: None
    """The state or the tools have changed."""
    progress: Callable[[str, str, dict[str, Any]], None] = lambda tool_use_id, tool, progress: None
    tell: Callable[[str], None] = lambda line: None
    """A line of diagnostics."""
    said: Callable[[str, Any], None] = lambda method, params: None
    """Any other notification: resources or prompts that changed, and the like."""
