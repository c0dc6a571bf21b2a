"""Tools of an in-process server that change while it runs, and results that must fit a schema."""

from typing import Any

import pytest

from toolwright.mcp.author.annotations import ToolAnnotations
from toolwright.mcp.author.registered import CallContext, RegisteredTool
from toolwright.mcp.author.server import InProcessServer
from toolwright.mcp.author.tool import SdkMcpTool, tool

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


async def test_the_handle_shows_what_the_tool_is() -> None:
    server = InProcessServer("calc")
    made = tool("double", "Twice as much", {"a": int}, ToolAnnotations(title="Double"), output_schema=SUM)(double)
    handle = server.register(made)
    assert (handle.title, handle.description, handle.output_schema) == ("Double", "Twice as much", SUM)
    assert handle.input_schema["properties"]["a"]["type"] == "integer"
    assert handle.annotations is made.annotations
    assert handle.handler is double
    assert server.register(add).title is None


async def test_a_result_must_fit_the_schema_given_to_the_decorator() -> None:
    @tool("broken", "No sum", {"a": int}, output_schema=SUM)
    async def broken(args: dict[str, Any]) -> dict[str, Any]:
        return {"content": [], "structuredContent": {"product": 1}}

    assert "does not fit" in await text_of(InProcessServer("calc", tools=[broken]), "broken", {"a": 1})


async def test_a_handler_may_take_the_context_of_its_call() -> None:
    seen: list[CallContext] = []

    @tool("told", "", {"a": int})
    async def told(args: dict[str, Any], extra: CallContext) -> dict[str, Any]:
        seen.append(extra)
        return {"content": []}

    @tool("cached", "", {"a": int})
    async def cached(args: dict[str, Any], cache: str = "own") -> dict[str, Any]:
        return {"content": [{"type": "text", "text": cache}]}

    server = InProcessServer("calc", tools=[told, cached])
    await server.call_tool("told", {"a": 1}, tool_use_id="toolu_1")
    assert seen == [CallContext("toolu_1", "told", "calc")]
    assert await text_of(server, "cached", {"a": 1}) == "own"


async def test_a_server_has_tools_in_the_spelling_of_other_libraries_too() -> None:
    server = InProcessServer("calc")
    handle = server.tool("double", "Twice", {"a": int}, double)

    async def triple(args: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": str(args["a"] * 3)}]}

    assert server.tool("triple", "Thrice", {"a": int})(triple).name == "triple"  # as a decorator
    assert isinstance(server.tool(add), RegisteredTool)
    assert (handle.name, [each.name for each in server.tools]) == ("double", ["double", "triple", "add"])
    assert await text_of(server, "triple", {"a": 2}) == "6"


async def test_defaults_of_the_schema_are_there_before_the_handler_runs() -> None:
    inner = {"type": "object", "properties": {"deep": {"type": "integer", "default": 2}}}
    schema = {"type": "object", "properties": {"n": {"type": "integer", "default": 1}, "list": {"default": []}, "inner": inner}}
    seen: list[dict[str, Any]] = []

    async def keep(args: dict[str, Any]) -> dict[str, Any]:
        seen.append(args)
        args["list"].append("changed by the handler")
        return {"content": []}

    server = InProcessServer("calc", tools=[SdkMcpTool("keep", "", schema, keep)])
    given: dict[str, Any] = {"inner": {}}
    await server.call_tool("keep", given)
    await server.call_tool("keep", {"n": 5})
    assert given == {"inner": {}}
    assert [(args["n"], len(args["list"]), args.get("inner")) for args in seen] == [(1, 1, {"deep": 2}), (5, 1, None)]


def test_events_are_heard_by_name_until_the_listener_goes() -> None:
    heard: list[str] = []
    server = InProcessServer("calc")
    stop = server.on_event(heard.append)
    server.register(add)
    server.resources_changed()
    server.prompts_changed()
    stop()
    server.prompts_changed()
    assert heard == ["ToolListChanged", "ResourceListChanged", "PromptListChanged"]
    assert server.changes == {"ToolListChanged": 1, "ResourceListChanged": 1, "PromptListChanged": 2}
