"""In-process servers: every way a call can go."""

import threading
import time
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.to_thread
import pytest

from toolwright.mcp.author.annotations import RESULT_SIZE_META, ToolAnnotations
from toolwright.mcp.author.server import InProcessServer, create_sdk_mcp_server, tool_server_of
from toolwright.mcp.author.tool import SdkMcpTool, tool
from toolwright.mcp.tool_server import ServedTool, ToolServer

pytestmark = pytest.mark.anyio


@dataclass
class Point:
    x: int
    y: int = 0


def content(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


@tool("add", "Add two numbers", {"a": float, "b": float}, annotations=ToolAnnotations(readOnlyHint=True, maxResultSizeChars=99))
async def add(args: dict[str, Any]) -> dict[str, Any]:
    return content(f"{args['a'] + args['b']}")


def serve(*tools: Any) -> InProcessServer:
    return InProcessServer("test", tools=tools)


async def call(handler: Any, arguments: dict[str, Any] | None = None, *, schema: Any = None) -> tuple[str, bool]:
    made = SdkMcpTool("it", "", schema if schema is not None else {}, handler)
    result = await serve(made).call_tool("it", arguments or {})
    return result["content"][0]["text"], result["isError"]


async def test_the_config_holds_a_server() -> None:
    config = create_sdk_mcp_server(name="calculator", version="2.0.0", tools=[add])
    assert (config["type"], config["name"]) == ("sdk", "calculator")
    server: ToolServer = tool_server_of("calc", config)
    assert (server.name, server.version) == ("calculator", "2.0.0")
    assert create_sdk_mcp_server("x")["instance"].version == "1.0.0"
    assert await create_sdk_mcp_server("x")["instance"].list_tools() == []


async def test_tools_are_listed_as_mcp_describes_them() -> None:
    (listed,) = await serve(add).list_tools()
    assert listed == ServedTool(
        name="add",
        description="Add two numbers",
        input_schema={
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        },
        annotations={"readOnlyHint": True},
        meta={RESULT_SIZE_META: 99},
    )


async def test_a_call_goes_to_the_handler() -> None:
    assert await serve(add).call_tool("add", {"a": 1, "b": 2.5}) == content("3.5") | {"isError": False}


async def test_plain_functions_are_served_too() -> None:
    def shout(text: str) -> str:
        return text.upper()

    server = serve(add, shout)
    assert [listed.name for listed in await server.list_tools()] == ["add", "shout"]
    assert await server.call_tool("shout", {"text": "hey"}) == content("HEY") | {"isError": False}


async def test_an_unknown_tool_is_an_error_result() -> None:
    result = await serve(add).call_tool("subtract", {})
    assert result["isError"] is True
    assert result["content"][0]["text"] == "Unknown tool: subtract. This server has: add."


@pytest.mark.parametrize("arguments", [{}, {"a": 1}, {"a": "1", "b": 2}, {"a": None, "b": 2}, [1, 2], "text", None])
async def test_arguments_that_do_not_fit_never_reach_the_handler(arguments: Any) -> None:
    result = await serve(add).call_tool("add", arguments)
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("Input validation error: ")


async def test_an_argument_that_the_function_does_not_have_is_refused() -> None:
    def shout(text: str) -> str:
        return text

    result = await serve(shout).call_tool("shout", {"text": "a", "volume": 3})
    assert "volume" in result["content"][0]["text"]
    assert result["isError"] is True


class Failing:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def __call__(self, args: dict[str, Any]) -> dict[str, Any]:
        raise self.error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no such city"), "no such city"),
        (KeyError("city"), "KeyError: 'city'"),
        (RuntimeError(), "RuntimeError"),
        (TimeoutError("too slow"), "too slow"),
        (ExceptionGroup("g", [ValueError("one"), OSError("two")]), "one; two"),
    ],
)
async def test_an_exception_is_an_error_result(error: Exception, text: str) -> None:
    assert await call(Failing(error)) == (text, True)


async def test_an_exception_in_a_sync_handler_is_an_error_result() -> None:
    def handler(args: dict[str, Any]) -> dict[str, Any]:
        raise ValueError("no")

    assert await call(handler) == ("no", True)


async def test_a_sync_handler_may_block_or_give_an_awaitable() -> None:
    def blocking(args: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0)
        return content("slow")

    async def inner() -> dict[str, Any]:
        return content("inner")

    assert await call(blocking) == ("slow", False)
    assert await call(lambda args: inner()) == ("inner", False)


async def test_a_malformed_return_is_an_error_that_says_what_was_expected() -> None:
    async def handler(args: dict[str, Any]) -> Any:
        return "just text"

    text, is_error = await call(handler)
    assert is_error
    assert "gave no usable result" in text
    assert '{"content": [{"type": "text", "text": "..."}, ...]}' in text


async def test_a_broken_schema_is_an_error_result() -> None:
    async def handler(args: dict[str, Any]) -> Any:
        return content("ran")

    text, is_error = await call(handler, schema={"type": "object", "properties": {"a": {"type": "objekt"}}}, arguments={"a": 1})
    assert is_error
    assert "its input schema is not valid JSON Schema" in text


async def test_a_dataclass_as_schema_gives_the_handler_an_instance() -> None:
    async def handler(point: Point) -> dict[str, Any]:
        return content(repr(point))

    assert await call(handler, {"x": 1}, schema=Point) == ("Point(x=1, y=0)", False)
    text, is_error = await call(handler, {"x": "1"}, schema=Point)
    assert is_error
    assert text.startswith("Input validation error")


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two tools named 'add'"):
        serve(add, add)


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_server_needs_a_name(name: Any) -> None:
    with pytest.raises(TypeError, match="a server's name"):
        create_sdk_mcp_server(name)


def test_a_wrong_schema_names_its_tool() -> None:
    with pytest.raises(TypeError, match="tool 'it': input_schema must be"):
        serve(SdkMcpTool("it", "", int, add.handler))


@pytest.mark.parametrize("config", [{}, {"instance": None}, {"instance": object()}])
def test_an_instance_that_is_no_server_is_refused(config: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"mcp_servers\['x'\]: 'instance' must be"):
        tool_server_of("x", config)


async def test_any_object_with_the_two_methods_is_a_server() -> None:
    class Own:
        name, version = "own", "1"

        async def list_tools(self) -> list[ServedTool]:
            return []

        async def call_tool(self, name: str, arguments: dict[str, Any], *, tool_use_id: str = "") -> dict[str, Any]:
            return content(name)

    own = Own()
    assert tool_server_of("x", {"type": "sdk", "instance": own}) is own


async def test_a_thousand_calls_at_once_each_get_their_own_answer() -> None:
    answers: dict[int, str] = {}
    server = serve(add)

    async def one(number: int) -> None:
        result = await server.call_tool("add", {"a": number, "b": 0.5})
        answers[number] = result["content"][0]["text"]

    async with anyio.create_task_group() as group:
        for number in range(1000):
            group.start_soon(one, number)
    assert answers == {number: f"{number + 0.5}" for number in range(1000)}


async def test_many_sync_calls_at_once_each_get_their_own_answer() -> None:
    answers: dict[int, str] = {}

    def negate(a: int) -> int:
        return -a

    server = serve(negate)

    async def one(number: int) -> None:
        answers[number] = (await server.call_tool("negate", {"a": number}))["content"][0]["text"]

    async with anyio.create_task_group() as group:
        for number in range(200):
            group.start_soon(one, number)
    assert answers == {number: str(-number) for number in range(200)}


async def test_cancellation_passes_through_and_stops_the_handler() -> None:
    started, ended = anyio.Event(), anyio.Event()

    async def handler(args: dict[str, Any]) -> dict[str, Any]:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return content("never")

    finished = False

    async def run() -> None:
        nonlocal finished
        await call(handler)
        finished = True

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await started.wait()
        group.cancel_scope.cancel()
    assert ended.is_set()
    assert not finished


async def test_cancelling_does_not_wait_for_a_blocked_thread() -> None:
    entered, release = threading.Event(), threading.Event()

    def block() -> str:
        entered.set()
        release.wait(30)
        return "late"

    server = serve(block)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(server.call_tool, "block", {})
            await anyio.to_thread.run_sync(entered.wait)
            group.cancel_scope.cancel()
        assert not release.is_set()
    finally:
        release.set()
