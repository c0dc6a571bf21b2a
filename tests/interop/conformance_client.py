"""Our client as the official conformance suite drives it: `python conformance_client.py [--stateless] URL`.

Connects, lists the tools and calls each once, with arguments made up from its schema; a tool that wants a `schema` gets the one
of another tool as we have read it. Questions are accepted with the defaults of their schema.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import anyio

from toolwright.mcp.configs import ServerConfig
from toolwright.mcp.connections import Surroundings, external_server
from toolwright.mcp.questions import Answering
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
    around = Surroundings(os.getcwd(), {}, lambda: {}, lambda: (), answering=Answering(elicit=accept))
    server = external_server(ServerConfig("suite", "http", url=url, protocol=protocol), around)
    try:
        tools = await server.list_tools()
        for tool in tools:
            arguments = arguments_for(tool.input_schema)
            if tool.name == "json_schema_echo":
                arguments["schema"] = next(other.input_schema for other in tools if other is not tool)
            await server.call_tool(tool.name, arguments)
    except ToolServerError as error:  # some scenarios refuse us: what they checked by then is what counts
        print(error, file=sys.stderr)
    finally:
        await server.aclose()
    return 0


if __name__ == "__main__":
    sys.exit(anyio.run(main, sys.argv[-1], "2026-07-28" if "--stateless" in sys.argv else None))
