"""Lists of servers in this process that changed since the other side knew them: it is told, as an MCP client would be.

Nothing listens: the lists are compared whenever something is written anyway. Who is told lists anew before it answers, so that
the next request to the model has the new tools. A side that knows no such message says so, and is none the worse for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from toolwright.mcp.changes import METHODS, TOOLS
from toolwright.protocol.lines import Frame
from toolwright.types import ClaudeSDKError

if TYPE_CHECKING:
    from toolwright.mcp.tool_server import ToolServer

SECONDS = 10.0
"""How long the other side may take to list the tools again."""


class ChangedTools:
    """What the other side knows of the tools of servers here, and of what else they said has changed."""

    __slots__ = ("_ask", "_known", "_servers", "_told")

    def __init__(self, servers: Mapping[str, ToolServer], ask: Callable[[Frame, float], Awaitable[Frame]]) -> None:
        self._servers = servers
        self._ask = ask
        self._known: dict[str, Any] = {}
        self._told = {name: _changes(server) for name, server in servers.items()}

    def listed(self, request: Frame) -> None:
        """A request was answered: if it asked for a list, that list is known now."""
        name, message = str(request.get("server_name")), request.get("message")
        if name in self._servers and isinstance(message, dict) and message.get("method") == "tools/list":
            self._known[name] = _tools(self._servers[name])

    async def tell(self) -> None:
        for name in [name for name, known in self._known.items() if _tools(self._servers[name]) != known]:
            self._known[name] = _tools(self._servers[name])
            await self._notify(name, TOOLS)
        for name, server in self._servers.items():
            told, self._told[name] = self._told[name], _changes(server)
            for event in [event for event, times in self._told[name].items() if times != told.get(event)]:
                await self._notify(name, event)

    async def _notify(self, name: str, event: str) -> None:
        message = {"jsonrpc": "2.0", "method": METHODS[event]}
        with suppress(ClaudeSDKError):
            await self._ask({"subtype": "mcp_message", "server_name": name, "message": message}, SECONDS)


def _tools(server: ToolServer) -> Any:
    """A server's list as it stands; None of one that only tells when it is asked."""
    return getattr(server, "tools", None)


def _changes(server: ToolServer) -> dict[str, int]:
    """How often the lists have changed that are not compared; none of a server that does not count."""
    return {event: times for event, times in getattr(server, "changes", {}).items() if event != TOOLS}
