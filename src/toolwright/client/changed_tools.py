"""Tools in this process that changed since the other side listed them: it is told, as an MCP client would be.

Nothing listens: the lists are compared whenever something is written anyway. Who is told lists anew before it answers, so that
the next request to the model has the new tools. A side that knows no such message says so, and is none the worse for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from toolwright.protocol.lines import Frame
from toolwright.types import ClaudeSDKError

if TYPE_CHECKING:
    from toolwright.mcp.base import ToolServer

LIST_CHANGED = "notifications/tools/list_changed"
SECONDS = 10.0
"""How long the other side may take to list the tools again."""


class ChangedTools:
    """What the other side knows of the tools of servers here."""

    __slots__ = ("_ask", "_known", "_servers")

    def __init__(self, servers: Mapping[str, ToolServer], ask: Callable[[Frame, float], Awaitable[Frame]]) -> None:
        self._servers = servers
        self._ask = ask
        self._known: dict[str, Any] = {}

    def listed(self, request: Frame) -> None:
        """A request was answered: if it asked for a list, that list is known now."""
        name, message = str(request.get("server_name")), request.get("message")
        if name in self._servers and isinstance(message, dict) and message.get("method") == "tools/list":
            self._known[name] = _tools(self._servers[name])

    async def tell(self) -> None:
        for name in [name for name, known in self._known.items() if _tools(self._servers[name]) != known]:
            self._known[name] = _tools(self._servers[name])
            message = {"jsonrpc": "2.0", "method": LIST_CHANGED}
            with suppress(ClaudeSDKError):
                await self._ask({"subtype": "mcp_message", "server_name": name, "message": message}, SECONDS)


def _tools(server: ToolServer) -> Any:
    """A server's list as it stands; None of one that only tells when it is asked."""
    return getattr(server, "tools", None)
