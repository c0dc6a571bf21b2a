"""Our client as the official conformance suite drives it: `python conformance_client.py [--stateless] URL`.

Connects, lists the tools and calls each once, with arguments made up from its schema; a tool that wants a `schema` gets the one
of another tool as we have read it. Calls that the suite names are made instead, with its arguments. Questions are accepted with
the defaults of their schema.
"""

from __future__ import annotations

import json
import os
import sys
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from toolwright.mcp.client.configs import ServerConfig
from toolwright.mcp.client.connections import ServerContext, external_server
from toolwright.mcp.client.oauth.addresses import LoginError
from toolwright.mcp.client.oauth.login import KnownClient, log_in
from toolwright.mcp.client.oauth.store import TokenStore
from toolwright.mcp.client.server_connection import ExternalServer
from toolwright.mcp.client.server_requests import Answering
from toolwright.mcp.rpc import ToolServerError

EXAMPLES: dict[str, Any] = {"string": "text", "number": 2.5, "integer": 3, "boolean": True, "array": [], "object": {}}


def example(schema: dict[str, Any]) -> Any:
    kind = schema.get("type", "string")
    return schema.get("default", (schema.get("enum") or [EXAMPLES.get(kind, "text")])[0])


def arguments_for(schema: dict[str, Any]) -> dict[str, Any]:
    return {name: example(inner) for name, inner in schema.get("properties", {}).items()}


async def accept(server: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"action": "accept", "content": arguments_for(params.get("requestedSchema") or {})}


async def main(url: str, protocol: str | None) -> int:
    with TemporaryDirectory() as folder:
        return await visit(url, protocol, folder)


async def browse(url: str) -> None:
    """Be the person with the browser: go where the login leads."""
    import httpx2

    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        await browser.get(url)


async def logged_in(server: ExternalServer, url: str, folder: str) -> None:
    """Connect; if the server wants a login, log in and connect again."""
    try:
        await server.connect()
    except ToolServerError:
        if server.status != "needs-auth":
            raise
        given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
        known = KnownClient(given["client_id"], given.get("client_secret")) if "client_id" in given else None
        login = await log_in(url, server.challenge, env={}, open_browser=browse, client=known)
        TokenStore(folder).put(url, login)
        await server.reconnect()


async def visit(url: str, protocol: str | None, folder: str) -> int:
    around = ServerContext(folder, {}, lambda: {}, lambda: (), answering=Answering(elicit=accept), tokens=folder)
    server = external_server(ServerConfig("suite", "http", url=url, protocol=protocol), around)
    try:
        await logged_in(server, url, folder)
        tools = await server.list_tools()
        calls = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}").get("toolCalls", [])
        for call in calls:
            await server.call_tool(call["name"], call["arguments"])
        for tool in () if calls else tools:
            arguments = arguments_for(tool.input_schema)
            if tool.name == "json_schema_echo":
                arguments["schema"] = next(other.input_schema for other in tools if other is not tool)
            await server.call_tool(tool.name, arguments)
    except (ToolServerError, LoginError) as error:  # some scenarios refuse us: what they checked by then is what counts
        print(error, file=sys.stderr)
    finally:
        await server.aclose()
    return 0


if __name__ == "__main__":
    sys.exit(anyio.run(main, sys.argv[-1], "2026-07-28" if "--stateless" in sys.argv else None))
