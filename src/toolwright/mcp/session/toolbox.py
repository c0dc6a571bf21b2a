"""The tools of one session: the built-in ones it was given, plain functions, and those of its tool servers.

Servers in this process or behind the wire are asked when the session starts. External ones connect in the background: `settle`
waits a moment for them before the first turn, and whatever comes later is there for the next request to the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import anyio
from msgspec import Struct, field

from toolwright.mcp.changes import NOTIFICATIONS, TOOLS
from toolwright.mcp.rpc import RpcToolServer, ToolServerError
from toolwright.mcp.session.tool_adapter import (
    adapt_tools,
    earlier_with_its_prefix,
    external_of,
    first_of_each_name,
    no_rule_of_its_own,
)
from toolwright.models.base import ToolSpec
from toolwright.types import ControlError

if TYPE_CHECKING:
    from toolwright.mcp.author.server import InProcessServer
    from toolwright.mcp.client.server_connection import ExternalServer
    from toolwright.mcp.session.resources import ServerResources
    from toolwright.mcp.session.tool_search import WaitingTools
    from toolwright.mcp.tool_server import ServedTool, ToolServer
    from toolwright.tools.base import Tool

SETTLE_SECONDS = 5.0
"""How long the first turn waits for external servers that are still connecting."""


class SessionServer(Struct):
    """A tool server as the session knows it."""

    server: ToolServer
    served: list[ServedTool] = field(default_factory=list)
    tools: list[Tool] = field(default_factory=list)
    enabled: bool = True
    failure: str | None = None
    stop_listening: Callable[[], None] | None = None

    @property
    def external(self) -> ExternalServer | None:
        return external_of(self.server)

    @property
    def in_process(self) -> InProcessServer | None:
        return in_process(self.server)

    @property
    def has_resources(self) -> bool:
        return self.enabled and self.external is not None and "resources" in self.external.introduction.capabilities

    @property
    def is_configured(self) -> bool:
        """Whether it is a server outside of this process, started or dialled because of a configuration."""
        return self.external is not None and self.external.config is not None

    @property
    def error(self) -> str | None:
        return self.failure or (self.external.error if self.external is not None else None)

    @property
    def status(self) -> str:
        if not self.enabled:
            return "disabled"
        if self.failure is None and self.external is not None:
            return self.external.status
        return "connected" if self.failure is None else "failed"

    @property
    def source(self) -> str:
        return self.external.config.scope if self.external is not None and self.external.config is not None else "sdk"


class Toolbox:
    """Tools by name, in a stable order: the order is part of the prompt prefix that a provider caches."""

    __slots__ = (
        *("_events", "_own", "_patience", "_refusals", "_resources", "_settled", "_shelf", "_tell", "_waiting"),
        *("aliases", "connections", "specs", "tools"),
    )

    def __init__(
        self,
        own: tuple[Tool, ...],
        servers: Mapping[str, ToolServer],
        *,
        patience: float = SETTLE_SECONDS,
        waiting: WaitingTools | None = None,
        tell: Callable[[str], None] | None = None,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        """`tell` hears, once each, of tools that cannot be had because another has their name.

        `aliases` redirect calls by name, in one step; a name whose target is missing means no tool.
        """
        self.aliases = aliases or {}
        self._tell = tell
        self._events: dict[tuple[str, str], None] = {}
        self._refusals: set[str] = set()
        self._patience = patience
        self._own = own
        self._settled = False
        self._resources: tuple[Tool, ...] = ()
        self._shelf: ServerResources | None = None
        self._waiting = waiting
        if waiting is not None:
            waiting.changed = self._refresh
        self.connections = {name: connection_of(server) for name, server in servers.items()}
        self._refresh()

    # connecting

    async def connect(self) -> None:
        """Ask every server here for its tools, all at the same time; external ones begin to connect."""
        async with anyio.create_task_group() as group:
            for name, connection in self.connections.items():
                self._listen(name, connection)
                if not connection.is_configured:
                    group.start_soon(self._connect, name)
                elif connection.enabled and connection.external is not None:
                    connection.external.start()
        self._refresh()

    async def settle(self, seconds: float | None = None) -> list[str]:
        """Once, before the first turn: wait a moment for external servers. The names of those that are still connecting."""
        if self._settled:
            return []
        self._settled = True
        waiting = [c.external for c in self.connections.values() if c.is_configured and c.enabled and c.external is not None]
        with anyio.move_on_after(self._patience if seconds is None else seconds):
            for server in waiting:
                await server.attempted.wait()
        late = [server for server in waiting if not server.attempted.is_set()]
        for server in late:
            server.audience.tell(
                f"MCP server {server.name!r}: it is still connecting; its tools will be there when it is ready"
            )
        return [server.name for server in late]

    async def reconnect(self, name: str) -> None:
        connection = self._connection(name)
        if connection.external is not None:
            await self._reconnect_external(connection.external)
        else:
            await self._connect(name)
        self._refresh()

    async def toggle(self, name: str, *, enabled: bool) -> None:
        """Turn a server off (an external one is ended) or on again (it begins to connect)."""
        connection = self._connection(name)
        connection.enabled = enabled
        if connection.is_configured and connection.external is not None:
            await (connection.external.revive() if enabled else connection.external.aclose())
        self._refresh()

    async def told(self, name: str, message: Any) -> None:
        """A server behind the wire says that a list of its has changed; if it is that of its tools, they are listed again."""
        connection = self._connection(name)
        method = message.get("method") if isinstance(message, dict) else None
        event = NOTIFICATIONS.get(str(method))
        if event is None or not isinstance(connection.server, RpcToolServer):
            return
        self._events[name, event] = None
        if event == TOOLS:
            with suppress(ToolServerError):  # then what was listed before stands
                self._take(name, await connection.server.list_tools())
            self._refresh()

    async def set_servers(self, servers: Mapping[str, ExternalServer]) -> tuple[list[str], list[str]]:
        """Have exactly these servers beside those of this process and of settings; the names that came and that went."""
        old = {name: c for name, c in self.connections.items() if c.is_configured and c.source == "dynamic"}
        same = {name for name, server in servers.items() if name in old and config_of(old[name].server) == server.config}
        for name in old.keys() - same:
            await self._close(self.connections.pop(name))
        for name in servers.keys() - same:
            connection = self.connections[name] = connection_of(servers[name])
            self._listen(name, connection)
            if connection.enabled:
                servers[name].start()
        self._refresh()
        return sorted(servers.keys() - old.keys()), sorted(old.keys() - servers.keys())

    async def close(self) -> None:
        """Give every server back, all at the same time."""
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as group:
                for connection in self.connections.values():
                    group.start_soon(self._close, connection)

    async def _close(self, connection: SessionServer) -> None:
        if connection.stop_listening is not None:
            connection.stop_listening()
        if connection.external is not None:
            connection.external.audience.changed = nothing
            await connection.external.aclose()

    def _listen(self, name: str, connection: SessionServer) -> None:
        if connection.external is not None:
            connection.external.audience.changed = partial(self._changed, name)
            connection.external.audience.said = partial(self._said, name)
        elif connection.in_process is not None and connection.stop_listening is None:
            connection.stop_listening = connection.in_process.on_event(partial(self._list_changed, name))

    def _connection(self, name: str) -> SessionServer:
        if name not in self.connections:
            raise ControlError(f"Server not found: {name}")
        return self.connections[name]

    async def _connect(self, name: str) -> None:
        connection = self.connections[name]
        try:
            if isinstance(connection.server, RpcToolServer):
                await connection.server.connect()
            self._take(name, await connection.server.list_tools())
        except Exception as error:  # noqa: BLE001 — the server's boundary: one bad server never breaks the others
            connection.served, connection.tools, connection.failure = [], [], str(error) or type(error).__name__

    async def _reconnect_external(self, server: ExternalServer) -> None:
        try:
            await server.reconnect()
        except ToolServerError as error:
            raise ControlError(str(error)) from None

    # what servers have

    def _changed(self, name: str) -> None:
        connection = self.connections.get(name)
        if connection is None:
            return
        server = connection.external or connection.in_process
        listed = server.tools if server is not None else None
        if listed is not None and listed != connection.served:
            self._events |= {(name, TOOLS): None} if connection.served else {}
            self._take(name, listed)
            self._refresh()
        elif not self._resources and connection.has_resources:
            self._refresh()

    def _list_changed(self, name: str, event: str) -> None:
        """A server in this process says so."""
        if event == TOOLS:
            self._changed(name)
        else:
            self._events[name, event] = None

    def take_events(self) -> list[tuple[str, str]]:
        """Server and event for each list that has changed since; however often it did, it is told once."""
        events, self._events = self._events, {}
        return list(events)

    def _said(self, name: str, method: str, params: Any) -> None:
        if method in NOTIFICATIONS:
            self._events[name, NOTIFICATIONS[method]] = None
        if method == "notifications/resources/updated" and self._shelf is not None:
            self._shelf.updated(name, params)

    def take_news(self) -> list[str]:
        """What the model is to be told of its servers with the next request; each text is given once."""
        return [] if self._shelf is None else self._shelf.take_news()

    def _take(self, name: str, served: list[ServedTool]) -> None:
        connection = self.connections[name]
        try:
            connection.tools = adapted(name, connection.server, served, has_rule=self._has_rule(name))
            connection.served, connection.failure = list(served), None
        except ValueError as error:
            connection.served, connection.tools, connection.failure = [], [], str(error)

    def _has_rule(self, name: str) -> bool:
        """Whether a rule about a whole server can be about this one; whoever has the name in rules first has it."""
        earlier = earlier_with_its_prefix(name, self.connections)
        if earlier is not None:
            self._refuse(no_rule_of_its_own(name, earlier))
        return earlier is None

    def _refresh(self) -> None:
        served = self._served_tools()
        first, loaded = (served, []) if self._waiting is None else self._waiting.sorted_out(served)
        asking = self._asking_tools()
        self.tools: dict[str, Tool] = {tool.name: tool for tool in (*self._own, *asking, *served)}
        self.specs = specs_of((*self._own, *first)) if not asking else fresh_specs((*self._own, *asking, *first, *loaded))

    def _served_tools(self) -> list[Tool]:
        """The tools of all servers, in the servers' order, without those whose name is taken."""
        served = (tool for connection in self.connections.values() if connection.enabled for tool in connection.tools)
        return first_of_each_name(served, self._refuse, taken=self._own)

    def _refuse(self, sentence: str) -> None:
        if sentence not in self._refusals:
            self._refusals.add(sentence)
            if self._tell is not None:
                self._tell(sentence)

    def _asking_tools(self) -> tuple[Tool, ...]:
        """The tools about servers that are there only when there is something to ask for."""
        if not self._resources and any(connection.has_resources for connection in self.connections.values()):
            from toolwright.mcp.session.resources import ServerResources, resource_tools  # few servers have any

            self._shelf = ServerResources(lambda: self.connections)
            self._resources = resource_tools(self._shelf)
        return (*((self._waiting.tool,) if self._waiting is not None and self._waiting.is_on else ()), *self._resources)

    # how they stand

    def init_rows(self) -> list[dict[str, Any]]:
        return [{"name": name, "status": c.status, "source": c.source} for name, c in self.connections.items()]

    def status(self) -> list[dict[str, Any]]:
        """The `mcpServers` of a status answer."""
        return [status_row(name, connection) for name, connection in self.connections.items()]


def nothing() -> None:
    """For a server whose session has ended."""


def connection_of(server: ToolServer) -> SessionServer:
    config = config_of(server)
    return SessionServer(server, enabled=config is None or not config.disabled)


def config_of(server: ToolServer) -> Any:
    external = external_of(server)
    return external.config if external is not None else None


def in_process(server: ToolServer) -> InProcessServer | None:
    from toolwright.mcp.author.server import InProcessServer  # only sessions that have servers come here

    return server if isinstance(server, InProcessServer) else None


def status_row(name: str, connection: SessionServer) -> dict[str, Any]:
    config = config_of(connection.server)
    row: dict[str, Any] = {
        "name": name,
        "status": connection.status,
        "config": {"type": "sdk", "name": name} if config is None else config.shown(),
        "scope": "dynamic" if config is None else config.scope,
    }
    if connection.error is not None and connection.enabled:
        row["error"] = connection.error
    if connection.status == "connected" or (connection.external is None and connection.failure is None):
        external = connection.external
        own = (external.introduction.name or external.name) if external is not None else connection.server.name
        row["serverInfo"] = {"name": own, "version": connection.server.version}
        row["tools"] = [tool_row(tool) for tool in connection.served]
    return row


def adapted(name: str, server: ToolServer, served: list[ServedTool], *, has_rule: bool) -> list[Tool]:
    here = in_process(server)
    if here is not None:
        return here.once(f"tools of {name}, {has_rule}", lambda: list(adapt_tools(name, here, served, has_rule=has_rule)))
    return list(adapt_tools(name, server, served, has_rule=has_rule))


def fresh_specs(tools: tuple[Tool, ...]) -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(tool.name, tool.description, tool.input_schema) for tool in tools)


@lru_cache(maxsize=64)
def specs_of(tools: tuple[Tool, ...]) -> tuple[ToolSpec, ...]:
    """Sessions with the same tools share one tuple: providers keep its encoded form by identity."""
    return fresh_specs(tools)


def tool_row(tool: ServedTool) -> dict[str, Any]:
    hints = {"readOnly": "readOnlyHint", "destructive": "destructiveHint", "openWorld": "openWorldHint"}
    annotations = {key: tool.annotations[hint] for key, hint in hints.items() if hint in tool.annotations}
    return {"name": tool.name, "description": tool.description, "annotations": annotations}
