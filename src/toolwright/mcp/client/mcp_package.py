"""Server objects of the `mcp` package, in this process, as tool servers: low-level `Server`, `MCPServer`, `FastMCP`.

The object runs in a task of its own, over streams in memory, and is spoken to like any other server. The package is never
imported before somebody brings such an object, and then it is there already. Versions 1 and 2 of it are understood.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import Any

import anyio

from toolwright.base.concurrency import OwnedTask, spawn
from toolwright.mcp.client.server_connection import ExternalServer
from toolwright.mcp.client.transport import Inbox, LinkLost, Message, Waiting, is_answer

_INNER = ("_lowlevel_server", "_mcp_server")
"""Where the friendly classes keep the low-level server."""


def low_level_server(instance: Any) -> Any | None:
    """The low-level server that `instance` is or holds; None if it is no server of that package."""
    for candidate in (instance, *(getattr(instance, name, None) for name in _INNER)):
        of_package = type(candidate).__module__.partition(".")[0] == "mcp" or _inherits(candidate)
        if of_package and hasattr(candidate, "create_initialization_options") and hasattr(candidate, "run"):
            return candidate
    return None


def _inherits(candidate: Any) -> bool:
    return any(base.__module__.partition(".")[0] == "mcp" for base in type(candidate).__mro__)


def instance_server(name: str, server: Any) -> ExternalServer:
    """The low-level `server` as a tool server. It is run when first used."""
    return ExternalServer(name, lambda: InstanceLink(server))


class InstanceLink:
    """A link to a server object. Implements `Link`."""

    def __init__(self, server: Any) -> None:
        self.inbox: Inbox | None = None
        self._server = server
        self._waiting = Waiting()
        self._tasks: list[OwnedTask] = []
        self._streams: list[Any] = []
        self._closing = False

    async def open(self) -> None:
        to_server, server_reads = anyio.create_memory_object_stream[Any](64)
        server_writes, from_server = anyio.create_memory_object_stream[Any](64)
        self._streams = [to_server, server_reads, server_writes, from_server]
        self._to_server = to_server

        async def run() -> None:
            try:
                await self._server.run(server_reads, server_writes, self._server.create_initialization_options())
                self._ended("the server object has stopped")
            except Exception as error:  # noqa: BLE001 — the boundary to somebody else's server: its failure is a lost connection
                self._ended(f"the server object failed: {type(error).__name__}: {error}")

        async def listen() -> None:
            async for message in from_server:
                self._take(message.message.model_dump(mode="json", by_alias=True, exclude_none=True))

        self._tasks = [spawn(run, name="mcp server object"), spawn(listen, name="mcp server object's messages")]

    async def exchange(self, message: Message) -> Message:
        return await self._waiting.exchange(message, self.send)

    async def send(self, message: Message) -> None:
        try:
            await self._to_server.send(self._wrapped(message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise LinkLost("the server object has stopped") from None

    async def ready(self, protocol_version: str, *, listen: bool) -> None:
        """Nothing to do: it talks whenever it likes."""

    async def close(self) -> None:
        self._closing = True
        with anyio.CancelScope(shield=True):
            for task in self._tasks:
                task.cancel()
            for task in self._tasks:
                await task.wait()
            for stream in self._streams:
                with suppress(anyio.ClosedResourceError):
                    stream.close()

    def _wrapped(self, message: Message) -> Any:
        from mcp.shared.message import SessionMessage  # there already: somebody made an object of it

        return SessionMessage(self._adapter.validate_python(message))

    @cached_property
    def _adapter(self) -> Any:
        from mcp.types import JSONRPCMessage
        from pydantic import TypeAdapter

        adapter: Any = TypeAdapter(JSONRPCMessage)
        return adapter

    def _take(self, message: Message) -> None:
        if is_answer(message):
            self._waiting.deliver(message)
        elif self.inbox is not None:
            self.inbox.received(message)

    def _ended(self, reason: str) -> None:
        self._waiting.lose(reason)
        if self.inbox is not None and not self._closing:
            self.inbox.lost(reason)
