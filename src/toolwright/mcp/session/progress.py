"""Progress of running calls as `tool_progress` frames: at most one a second for each call, however much a server sends."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolwright.base.ids import new_uuid
from toolwright.mcp.session.tool_adapter import tool_name

if TYPE_CHECKING:
    from toolwright.protocol.frames import Frame
    from toolwright.runtime.session import LocalSession

SECONDS_BETWEEN = 1.0
_MAX_CALLS = 256
_MAX_MESSAGE_LENGTH = 500


class ProgressFrames:
    """Makes frames of what one server says about its calls."""

    __slots__ = ("_begun", "_last", "_send", "_server_name", "_session_id")

    def __init__(self, server_name: str, session_id: Callable[[], str], send: Callable[[Frame], None]) -> None:
        self._server_name = server_name
        self._session_id = session_id
        self._send = send
        self._begun: dict[str, float] = {}
        self._last: dict[str, float] = {}

    def heard(self, tool_use_id: str, tool: str, progress: dict[str, Any]) -> None:
        now = time.monotonic()
        if len(self._begun) > _MAX_CALLS:  # calls that ended without our knowing
            self._begun.clear()
            self._last.clear()
        begun = self._begun.setdefault(tool_use_id, now)
        if now - self._last.get(tool_use_id, -SECONDS_BETWEEN) < SECONDS_BETWEEN:
            return
        self._last[tool_use_id] = now
        self._send(self._frame(tool_use_id, tool, progress) | {"elapsed_time_seconds": round(now - begun, 3)})

    def _frame(self, tool_use_id: str, tool: str, progress: dict[str, Any]) -> Frame:
        from toolwright.mcp.client.listing import presentable  # only servers tell of progress

        numbers = {key: progress[key] for key in ("progress", "total") if isinstance(progress.get(key), int | float)}
        message = progress.get("message")
        return {
            "type": "tool_progress",
            "tool_use_id": tool_use_id,
            "tool_name": tool_name(self._server_name, tool),
            "parent_tool_use_id": None,
            **numbers,
            **({"message": presentable(message, _MAX_MESSAGE_LENGTH)} if isinstance(message, str) else {}),
            "session_id": self._session_id(),
            "uuid": new_uuid(),
        }


def progress_frames(server_name: str, session: LocalSession) -> Callable[[str, str, dict[str, Any]], None]:
    """For one server: what hears its progress and makes frames of the session of it."""
    return ProgressFrames(server_name, lambda: session.started.conversation.session_id, session.put_now).heard
