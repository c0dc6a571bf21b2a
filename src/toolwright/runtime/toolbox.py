"""The tools of one session: the built-in ones it was given, plain functions, and those of its tool servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import anyio

from toolwright.mcp.base import ServedTool, ToolServer
from toolwright.mcp.rpc import RpcToolServer
from toolwright.mcp.server import InProcessServer
from toolwright.models.base import ToolSpec
from toolwright.runtime.served_tools import adapt_tools, check_prefixes
from toolwright.tools.base import Tool
from toolwright.types import ControlError


@dataclass(slots=True)
class Connection:
    """A tool server as the session knows it."""

    server: ToolServer
    served: list[ServedTool] = field(default_factory=list)
    tools: list[Tool] = field(default_factory=list)
    enabled: bool = True
    error: str | None = None

    @property
    def status(self) -> str:
        if not self.enabled:
            return "disabled"
        return "connected" if self.error is None else "failed"


class Toolbox:
    """Tools by name, in a stable order: the order is part of the prompt prefix that a provider caches."""

    __slots__ = ("_own", "connections", "specs", "tools")

    def __init__(self, own: tuple[Tool, ...], servers: Mapping[str, ToolServer]) -> None:
        check_prefixes(servers)
        self._own = own
        self.connections = {name: Connection(server) for name, server in servers.items()}
        self._refresh()

    async def connect(self) -> None:
        """Ask every server for its tools, all at the same time."""
        async with anyio.create_task_group() as group:
            for name in self.connections:
                group.start_soon(self._connect, name)
        self._refresh()

    async def reconnect(self, name: str) -> None:
        self._connection(name)
        await self._connect(name)
        self._refresh()

    def toggle(self, name: str, *, enabled: bool) -> None:
        self._connection(name).enabled = enabled
        self._refresh()

    def _connection(self, name: str) -> Connection:
        if name not in self.connections:
            raise ControlError(f"Server not found: {name}")
        return self.connections[name]

    async def _connect(self, name: str) -> None:
        connection = self.connections[name]
        try:
            if isinstance(connection.server, RpcToolServer):
                await connection.server.connect()
            connection.served = await connection.server.list_tools()
            connection.tools = adapted(name, connection.server, connection.served)
            connection.error = None
        except Exception as error:  # noqa: BLE001 — the server's boundary: one bad server never breaks the others
            connection.served, connection.tools, connection.error = [], [], str(error) or type(error).__name__

    def _refresh(self) -> None:
        served = [tool for connection in self.connections.values() if connection.enabled for tool in connection.tools]
        self.tools: dict[str, Tool] = {tool.name: tool for tool in (*self._own, *served)}
        self.specs = specs_of(tuple(self.tools.values()))

    def init_rows(self) -> list[dict[str, Any]]:
        return [{"name": name, "status": c.status, "source": "sdk"} for name, c in self.connections.items()]

    def status(self) -> list[dict[str, Any]]:
        """The `mcpServers` of a status answer."""
        return [self._status_row(name, connection) for name, connection in self.connections.items()]

    def _status_row(self, name: str, connection: Connection) -> dict[str, Any]:
        row: dict[str, Any] = {
            "name": name,
            "status": connection.status,
            "config": {"type": "sdk", "name": name},
            "scope": "dynamic",
        }
        if connection.error is not None:
            return {**row, "error": connection.error}
        row["serverInfo"] = {"name": connection.server.name, "version": connection.server.version}
        row["tools"] = [tool_row(tool) for tool in connection.served]
        return row


def adapted(name: str, server: ToolServer, served: list[ServedTool]) -> list[Tool]:
    if isinstance(server, InProcessServer):
        return server.once(f"tools of {name}", lambda: list(adapt_tools(name, server, served)))
    return list(adapt_tools(name, server, served))


@lru_cache(maxsize=64)
def specs_of(tools: tuple[Tool, ...]) -> tuple[ToolSpec, ...]:
    """Sessions with the same tools share one tuple: providers keep its encoded form by identity."""
    return tuple(ToolSpec(tool.name, tool.description, tool.input_schema) for tool in tools)


def tool_row(tool: ServedTool) -> dict[str, Any]:
    hints = {"readOnly": "readOnlyHint", "destructive": "destructiveHint", "openWorld": "openWorldHint"}
    annotations = {key: tool.annotations[hint] for key, hint in hints.items() if hint in tool.annotations}
    return {"name": tool.name, "description": tool.description, "annotations": annotations}
