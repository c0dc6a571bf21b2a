"""Tools of an in-process server that change while it runs, and results that must fit a schema."""

from typing import Any

import pytest

from toolwright.mcp.server import InProcessServer
from toolwright.mcp.tool import SdkMcpTool

pytestmark = pytest.mark.anyio

SUM = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def double(args: dict[str, Any]) -> dict[str, Any]:
    return {"content": [], "structuredContent": {"sum": args["a"] * 2}}


async def text_of(server: InProcessServer, name: str, arguments: dict[str, Any]) -> str:
    return "".join(block["text"] for block in (await server.call_tool(name, arguments))["content"])


async def test_a_tool_is_registered_disabled_enabled_updated_and_removed() -> None:
    heard: list[list[str]] = []
    server = InProcessServer("calc")
    stop = server.on_change(lambda: heard.append([tool.name for tool in server.tools]))
    handle = server.register(add)
    assert await text_of(server, "add", {"a": 1, "b": 2}) == "3"
    handle.disable()
    assert (handle.enabled, await text_of(server, "add", {})) == (False, "Tool add is disabled.")
    handle.enable()
    handle.enable()
    handle.update(name="plus", description="Sum")
    assert (handle.name, server.tools[0].description) == ("plus", "Sum")
    assert "Unknown tool: add. This server has: plus." in await text_of(server, "add", {})
    handle.remove()
    assert heard == [["add"], [], ["add"], ["plus"], []]
    stop()
    server.register(add)
    assert len(heard) == 5


async def test_a_handle_of_a_tool_that_is_gone_says_so() -> None:
    server = InProcessServer("calc", tools=[add])
    handle = server.registered("add")
    handle.remove()
    with pytest.raises(ValueError, match="'add' is no longer on server 'calc'"):
        handle.disable()
    with pytest.raises(KeyError):
        server.registered("add")


async def test_two_tools_cannot_have_one_name() -> None:
    server = InProcessServer("calc", tools=[add, SdkMcpTool("double", "", {"a": int}, double)])
    with pytest.raises(ValueError, match="two tools named 'add'"):
        server.register(add)
    with pytest.raises(ValueError, match="already has a tool named 'add'"):
        server.registered("double").update(name="add")


async def test_a_result_must_fit_the_output_schema() -> None:
    server = InProcessServer("calc", tools=[SdkMcpTool("double", "", {"a": int}, double, output_schema=SUM)])
    assert (await server.call_tool("double", {"a": 2}))["structuredContent"] == {"sum": 4}
    assert server.tools[0].output_schema == SUM
    server.registered("double").update(output_schema={**SUM, "required": ["product"]})
    refused = await server.call_tool("double", {"a": 2})
    assert refused["isError"] is True
    assert "Output validation error" in refused["content"][0]["text"]
