"""The resources of a session's tool servers, for the tools that list and read them. One bad server hides no other."""

from __future__ import annotations

import binascii
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio

from toolwright.mcp.client.client import McpClient, ServerRefused
from toolwright.mcp.client.listing import presentable
from toolwright.mcp.client.transport import NeedsAuthorization
from toolwright.mcp.rpc import INVALID_PARAMS, ToolServerError
from toolwright.tools.base import Tool, ToolFailure

if TYPE_CHECKING:
    from toolwright.mcp.client.server_connection import ExternalServer
    from toolwright.mcp.session.toolbox import SessionServer
    from toolwright.tools.mcp_resources import Resource, ResourcePart

NOT_FOUND = -32002
MAX_PAGES = 20
MAX_RESOURCES = 1000
MAX_LENGTH = 1000
MAX_WATCHED = 100
UPDATED = "The resource {uri} of the MCP server {server!r} has changed since you read it."

Connections = Callable[[], Mapping[str, "SessionServer"]]


def resource_tools(resources: ServerResources) -> tuple[Tool, ...]:
    from toolwright.tools.list_mcp_resources import ListMcpResources  # few servers have resources
    from toolwright.tools.read_mcp_resource import ReadMcpResource

    return ListMcpResources(resources), ReadMcpResource(resources)


class ServerResources:
    """Implements the `Resources` seam of the tools. What the model has read is watched, where the server tells of changes."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._watched: dict[tuple[str, str], McpClient | None] = {}
        self._updated: dict[tuple[str, str], None] = {}

    def updated(self, server: str, params: Any) -> None:
        """The server says that a resource is not what it was."""
        uri = params.get("uri") if isinstance(params, dict) else None
        if isinstance(uri, str) and (server, uri) in self._watched:
            self._updated[server, uri] = None

    def take_news(self) -> list[str]:
        """What the model is to be told; each text is given once."""
        updated, self._updated = self._updated, {}
        return [UPDATED.format(uri=presentable(uri, MAX_LENGTH), server=server) for server, uri in updated]

    async def _watch(self, name: str, uri: str) -> None:
        server, key = self._server(name), (name, uri)
        self._updated.pop(key, None)
        able = server.introduction.capabilities.get("resources")
        subscribed = key in self._watched and self._watched[key] is server.client
        if subscribed or not isinstance(able, dict) or able.get("subscribe") is not True or len(self._watched) >= MAX_WATCHED:
            return
        self._watched[key] = server.client
        with suppress(ToolServerError):  # then nothing is heard of changes, as with servers that cannot tell
            await server.request("resources/subscribe", {"uri": uri})

    async def listed(self, server: str | None) -> tuple[list[Resource], list[str]]:
        names = [server] if server is not None else [name for name, c in self._connections().items() if c.has_resources]
        servers = {name: self._server(name) for name in names}
        found: dict[str, list[Resource]] = {}
        problems: dict[str, str] = {}

        async def ask(name: str) -> None:
            try:
                found[name] = await _list(name, servers[name])
            except ToolServerError as error:
                problems[name] = f"[{error}]"

        async with anyio.create_task_group() as group:
            for name in names:
                group.start_soon(ask, name)
        return [one for name in names for one in found.get(name, ())], [problems[name] for name in names if name in problems]

    async def read(self, server: str, uri: str) -> list[ResourcePart]:
        try:
            result = await self._server(server).request("resources/read", {"uri": uri})
        except ToolServerError as error:
            raise ToolFailure(_reworded(error, server, uri)) from None
        contents = result.get("contents")
        if not isinstance(contents, list):
            raise ToolFailure(f"MCP server {server!r}: its answer to resources/read has no contents")
        await self._watch(server, uri)
        return [_content(entry, uri) for entry in contents if isinstance(entry, dict)]

    def _server(self, name: str) -> ExternalServer:
        connections = self._connections()
        connection = connections.get(name)
        if connection is not None and connection.external is not None and connection.enabled:
            return connection.external
        known = ", ".join(other for other, c in connections.items() if c.has_resources) or "none"
        raise ToolFailure(f"There is no MCP server {name!r} with resources; those that have some: {known}")


async def _list(name: str, server: ExternalServer) -> list[Resource]:
    found: list[Resource] = []
    cursor: Any = None
    for _ in range(MAX_PAGES):
        page = await server.request("resources/list", {} if cursor is None else {"cursor": cursor})
        listed = page.get("resources")
        found += [_resource(entry, name) for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or not cursor or len(found) >= MAX_RESOURCES:
            break
    return found[:MAX_RESOURCES]


def _resource(entry: dict[str, Any], server: str) -> Resource:
    from toolwright.tools.mcp_resources import Resource

    uri, name, media_type, description = (
        presentable(value, MAX_LENGTH) if isinstance(value := entry.get(key), str) else ""
        for key in ("uri", "name", "mimeType", "description")
    )
    return Resource(uri, name, server, media_type, description)


def _content(entry: dict[str, Any], uri: str) -> ResourcePart:
    from toolwright.tools.mcp_resources import ResourcePart

    own, media_type, blob = entry.get("uri"), entry.get("mimeType"), entry.get("blob")
    place, kind = (own if isinstance(own, str) else uri), (media_type if isinstance(media_type, str) else "")
    if isinstance(blob, str):
        try:
            return ResourcePart(place, kind, data=binascii.a2b_base64(blob))
        except binascii.Error:
            return ResourcePart(place, kind, text=f"[{place}: its content is not valid base64]")
    text = entry.get("text")
    return ResourcePart(place, kind, text=text if isinstance(text, str) else "")


def _reworded(error: ToolServerError, server: str, uri: str) -> str:
    """What is not there, and what we may not see, are told apart from other failures."""
    cause = error.__context__
    if isinstance(cause, ServerRefused) and cause.code in (NOT_FOUND, INVALID_PARAMS):
        return f"Resource not found: MCP server {server!r} has no {uri} ({cause})"
    if isinstance(cause, NeedsAuthorization) or (isinstance(cause, ServerRefused) and cause.code in (-32001, 401, 403)):
        return f"Not authorized: MCP server {server!r} does not let us read {uri} ({cause})"
    return str(error)
