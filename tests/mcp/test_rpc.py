"""Both ends of the JSON-RPC bridge, each alone and against each other."""

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.mcp.author.annotations import ToolAnnotations
from toolwright.mcp.author.server import InProcessServer
from toolwright.mcp.author.tool import SdkMcpTool, tool
from toolwright.mcp.rpc import PROTOCOL_VERSIONS, TOOL_USE_META, RpcToolServer, ToolServerError, answer
from toolwright.mcp.tool_server import ServedTool, ToolServer

pytestmark = pytest.mark.anyio


@tool("echo", "Say it again", {"value": Any}, annotations=ToolAnnotations(readOnlyHint=True, maxResultSizeChars=5))
async def echo(args: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": repr(args["value"])}], "structuredContent": {"value": args["value"]}}


@tool("fail", "Always fails", {})
async def fail(args: dict[str, Any]) -> dict[str, Any]:
    raise ValueError("as always")


SERVER = InProcessServer("far", "3.1", [echo, fail])


def linked(server: ToolServer) -> RpcToolServer:
    """A server seen through both ends of the bridge."""

    async def send(message: dict[str, Any]) -> dict[str, Any]:
        return await answer(server, message) or {"jsonrpc": "2.0", "result": {}}

    return RpcToolServer("far", send)


def answering(*answers: Any) -> RpcToolServer:
    """A server that gives these answers, one after another, the last one for ever."""
    left = list(answers)

    async def send(message: dict[str, Any]) -> Any:
        given = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(given, Exception):
            raise given
        return given

    return RpcToolServer("far", send)


async def ask(method: str, params: Any = None) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": 7, "method": method} | ({} if params is None else {"params": params})
    reply = await answer(SERVER, message)
    assert reply is not None
    assert (reply["jsonrpc"], reply["id"]) == ("2.0", 7)
    return reply


@pytest.mark.parametrize(
    ("wanted", "spoken"), [*zip(PROTOCOL_VERSIONS, PROTOCOL_VERSIONS, strict=True), ("1999-01-01", "2025-11-25")]
)
async def test_initialize_agrees_on_a_version(wanted: str, spoken: str) -> None:
    reply = await ask(
        "initialize", {"protocolVersion": wanted, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    )
    assert reply["result"] == {
        "protocolVersion": spoken,
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "far", "version": "3.1"},
    }


async def test_a_server_without_tools_declares_none() -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": PROTOCOL_VERSIONS[0]}}
    reply = await answer(InProcessServer("bare"), request)
    assert reply is not None
    assert reply["result"]["capabilities"] == {}


async def test_ping_and_listing() -> None:
    assert (await ask("ping"))["result"] == {}
    first, second = (await ask("tools/list", {}))["result"]["tools"]
    assert first == {
        "name": "echo",
        "description": "Say it again",
        "inputSchema": {"type": "object", "properties": {"value": {}}, "required": ["value"]},
        "annotations": {"readOnlyHint": True},
        "_meta": {"anthropic/maxResultSizeChars": 5},
    }
    assert set(second) == {"name", "description", "inputSchema"}


async def test_calls_and_failing_calls_are_results() -> None:
    assert (await ask("tools/call", {"name": "echo", "arguments": {"value": 1}}))["result"]["content"][0]["text"] == "1"
    assert (await ask("tools/call", {"name": "fail"}))["result"]["isError"] is True
    assert (await ask("tools/call", {"name": "fail", "arguments": None}))["result"]["content"][0]["text"] == "as always"
    assert (await ask("tools/call", {"name": "none", "arguments": {}}))["result"]["isError"] is True
    assert (await ask("tools/call", {"name": "echo", "arguments": {}}))["result"]["isError"] is True


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "method": "unheard/of"},
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "fail"}},
        {"jsonrpc": "2.0", "id": 3, "result": {}},
        {"jsonrpc": "2.0", "id": 3, "error": {"code": 1, "message": "m"}},
    ],
)
async def test_notifications_and_answers_want_no_answer(message: dict[str, Any]) -> None:
    assert await answer(SERVER, message) is None


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (None, -32600),
        ([], -32600),
        ("text", -32600),
        ({}, -32600),
        ({"id": 1, "method": "ping"}, -32600),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, -32600),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "resources/list"}, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "initialize"}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "x"}}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": []}}, -32602),
    ],
)
async def test_malformed_messages_get_their_code(message: Any, code: int) -> None:
    reply = await answer(SERVER, message)
    assert reply is not None
    assert reply["error"]["code"] == code
    assert reply["error"]["message"]


async def test_a_server_that_raises_is_an_internal_error() -> None:
    class Broken(InProcessServer):
        async def list_tools(self) -> list[ServedTool]:
            raise OSError("disk gone")

    reply = await answer(Broken("b"), {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert reply == {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "OSError: disk gone"}}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
methods = st.sampled_from(["initialize", "ping", "tools/list", "tools/call", "notifications/x", "?"]) | json_values
messages = json_values | st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | json_values,
        "id": json_values,
        "method": methods,
        "params": json_values
        | st.fixed_dictionaries(
            {},
            optional={"name": st.sampled_from(["echo", "fail"]) | json_values, "arguments": json_values, "_meta": json_values},
        ),
        "result": json_values,
        "error": json_values,
    },
)


@given(messages)
def test_any_message_gets_a_valid_answer_or_none(message: Any) -> None:
    reply = anyio.run(answer, SERVER, message)
    if reply is not None:
        assert reply["jsonrpc"] == "2.0"
        assert ("result" in reply) != ("error" in reply)
        assert isinstance(reply["id"], (str, int, type(None)))


@given(json_values)
def test_a_call_gives_the_same_through_the_bridge_as_directly(value: Any) -> None:
    async def compare() -> None:
        direct = await SERVER.call_tool("echo", {"value": value})
        assert await linked(SERVER).call_tool("echo", {"value": value}, tool_use_id="t1") == direct

    anyio.run(compare)


names = st.text(min_size=1, max_size=10)


@given(
    st.lists(
        st.builds(
            SdkMcpTool,
            names,
            st.text(max_size=10),
            st.dictionaries(names, st.sampled_from([int, str, float])),
            st.just(echo.handler),
        ),
        unique_by=lambda made: made.name,
        max_size=5,
    )
)
def test_a_listing_survives_the_bridge(tools: list[SdkMcpTool[Any]]) -> None:
    async def compare() -> None:
        server = InProcessServer("any", "1", tools)
        assert await linked(server).list_tools() == await server.list_tools()

    anyio.run(compare)


async def test_connecting_learns_the_version() -> None:
    server = linked(SERVER)
    await server.connect()
    assert (server.name, server.version, server.protocol_version) == ("far", "3.1", "2025-11-25")


async def test_connecting_says_initialize_and_then_initialized() -> None:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> dict[str, Any]:
        sent.append(message)
        return await answer(SERVER, message) or {"jsonrpc": "2.0", "result": {}}

    await RpcToolServer("far", send).connect()
    assert [message["method"] for message in sent] == ["initialize", "notifications/initialized"]
    assert sent[0]["params"]["protocolVersion"] == "2025-11-25"
    assert "id" not in sent[1]


async def test_a_call_carries_the_tool_use_id_and_a_progress_token() -> None:
    sent: list[dict[str, Any]] = []
    seen: list[str] = []

    class Watching(InProcessServer):
        async def call_tool(self, name: str, arguments: dict[str, Any], *, tool_use_id: str = "") -> dict[str, Any]:
            seen.append(tool_use_id)
            return await super().call_tool(name, arguments, tool_use_id=tool_use_id)

    watching = Watching("far", tools=[echo])

    async def send(message: dict[str, Any]) -> Any:
        sent.append(message)
        return await answer(watching, message)

    await RpcToolServer("far", send).call_tool("echo", {"value": 1}, tool_use_id="toolu_1")
    assert sent[0]["params"] == {
        "name": "echo",
        "arguments": {"value": 1},
        "_meta": {TOOL_USE_META: "toolu_1", "progressToken": 1},
    }
    assert seen == ["toolu_1"]


def page(number: int, cursor: Any) -> dict[str, Any]:
    tools = [{"name": f"tool{number}", "inputSchema": {"type": "object"}}]
    return {"jsonrpc": "2.0", "result": {"tools": tools} | ({"nextCursor": cursor} if cursor else {})}


async def test_every_page_of_a_list_is_read() -> None:
    listed = await answering(page(1, "a"), page(2, "b"), page(3, None)).list_tools()
    assert [listed_tool.name for listed_tool in listed] == ["tool1", "tool2", "tool3"]


async def test_a_list_that_goes_round_or_never_ends_is_an_error() -> None:
    with pytest.raises(ToolServerError, match="'far': its list of tools does not end"):
        await answering(page(1, "a")).list_tools()
    endless = (page(number, f"c{number}") for number in range(1000))
    with pytest.raises(ToolServerError, match="does not end"):
        await answering(*endless).list_tools()
    with pytest.raises(ToolServerError, match="does not end"):
        await answering(page(1, 5)).list_tools()


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (None, "is not an answer"),
        ({"jsonrpc": "2.0", "id": 99, "result": {}}, "is not an answer to that request"),
        ({"jsonrpc": "2.0"}, "has no result"),
        ({"jsonrpc": "2.0", "result": []}, "has no result"),
        ({"jsonrpc": "2.0", "error": {"code": -32601, "message": "no such method"}}, r"no such method \(code -32601\)"),
        ({"jsonrpc": "2.0", "error": "plain"}, "plain"),
        ({"jsonrpc": "2.0", "result": {}}, 'its list has no "tools"'),
        ({"jsonrpc": "2.0", "result": {"tools": [{"name": "x"}]}}, "no name or no inputSchema"),
        ({"jsonrpc": "2.0", "result": {"tools": [5]}}, "no name or no inputSchema"),
        (ConnectionError("gone"), "cannot be reached: gone"),
        (TimeoutError(), "cannot be reached: TimeoutError"),
    ],
)
async def test_a_server_off_the_protocol_is_a_named_error(reply: Any, message: str) -> None:
    with pytest.raises(ToolServerError, match=message):
        await answering(reply).list_tools()


@pytest.mark.parametrize(
    "reply",
    [
        None,
        {"jsonrpc": "2.0", "error": {"code": -32603, "message": "broke"}},
        {"jsonrpc": "2.0", "result": {}},
        {"jsonrpc": "2.0", "result": {"content": "text"}},
        ConnectionError("gone"),
    ],
)
async def test_a_call_that_cannot_be_made_is_an_error_result(reply: Any) -> None:
    result = await answering(reply).call_tool("echo", {})
    assert result["isError"] is True
    assert "MCP server 'far'" in result["content"][0]["text"]


async def test_a_version_we_do_not_speak_is_refused() -> None:
    with pytest.raises(ToolServerError, match="speaks protocol version '1999'"):
        await answering({"jsonrpc": "2.0", "result": {"protocolVersion": "1999"}}).connect()


async def test_interleaved_calls_are_not_mixed_up() -> None:
    server = linked(SERVER)
    answers: dict[int, Any] = {}

    async def one(number: int) -> None:
        await anyio.lowlevel.checkpoint()
        answers[number] = (await server.call_tool("echo", {"value": number}))["structuredContent"]

    async with anyio.create_task_group() as group:
        for number in range(500):
            group.start_soon(one, number)
    assert answers == {number: {"value": number} for number in range(500)}


async def test_a_call_that_is_given_up_is_withdrawn_at_the_server() -> None:
    sent: list[dict[str, Any]] = []
    called = anyio.Event()

    async def send(message: dict[str, Any]) -> dict[str, Any]:
        sent.append(message)
        if message["method"] == "tools/call":
            called.set()
            await anyio.sleep_forever()
        return {}

    async with anyio.create_task_group() as group:
        group.start_soon(RpcToolServer("x", send).call_tool, "hang", {})
        await called.wait()
        group.cancel_scope.cancel()
    assert [message["method"] for message in sent] == ["tools/call", "notifications/cancelled"]
    assert sent[1]["params"]["requestId"] == sent[0]["id"]
