"""The `mcp` package on the other side: its server objects as instances, its servers as programs, in both eras."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp.types as types
import pytest
from mcp.server.mcpserver import MCPServer

from mcp.server import Server
from support_mcp import TIMEOUT, around, eventually, server_for, text_of
from support_runtime import play, results
from support_runtime import text_of as result_text
from toolwright import ClaudeAgentOptions, UserMessage, query
from toolwright.mcp.author.server import tool_server_of
from toolwright.mcp.client.server_connection import ExternalServer
from toolwright.mcp.rpc import ToolServerError
from toolwright.models.scripted import Call, Say, ScriptedModel

pytestmark = pytest.mark.anyio

REAL = str(Path(__file__).parents[2] / "support_mcp_real.py")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def addresses() -> Iterator[dict[str, str]]:
    """Servers of the package over HTTP: the transport → its URL."""
    found: dict[str, str] = {}
    running = []
    for kind, transport, path in (("http", "streamable-http", "mcp"), ("sse", "sse", "sse")):
        port = free_port()
        arguments = [sys.executable, REAL, transport, str(port)]
        running.append(subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        found[kind] = f"http://127.0.0.1:{port}/{path}"
    yield found
    for process in running:
        process.kill()
        process.wait()


async def connected(server: ExternalServer) -> None:
    """Connect as soon as the program listens."""
    with anyio.fail_after(TIMEOUT):
        while True:
            try:
                await server.connect()
                return
            except ToolServerError:
                await anyio.sleep(0.05)


def friendly() -> MCPServer:
    server = MCPServer("friendly", version="1.2")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return server


def low_level() -> Server[Any]:
    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="shout", description="Shout", input_schema={"type": "object"})])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(type="text", text=str(params.arguments).upper())])

    return Server("low", version="0.1", on_list_tools=list_tools, on_call_tool=call_tool)


async def test_a_server_object_of_the_package_is_an_instance() -> None:
    server = tool_server_of("calc", {"type": "sdk", "name": "calc", "instance": friendly()})
    assert isinstance(server, ExternalServer)
    try:
        (listed,) = await server.list_tools()
        assert (listed.name, listed.description, server.version) == ("add", "Add two numbers.", "1.2")
        answer = await server.call_tool("add", {"a": 1, "b": 2})
        assert (text_of(answer), answer["structuredContent"]) == ("3", {"result": 3})
        assert (await server.call_tool("add", {"a": "one"}))["isError"] is True
    finally:
        await server.aclose()


async def test_a_low_level_server_is_an_instance() -> None:
    server = tool_server_of("low", {"type": "sdk", "name": "low", "instance": low_level()})
    assert isinstance(server, ExternalServer)
    try:
        assert text_of(await server.call_tool("shout", {"a": "b"})) == "{'A': 'B'}"
    finally:
        await server.aclose()


async def test_a_session_uses_a_server_object_like_any_other(tmp_path: Path) -> None:
    model = ScriptedModel([Call("mcp__calc__add", {"a": 20, "b": 22}), Say("done")])
    servers = {"calc": {"type": "sdk", "name": "calc", "instance": friendly()}}
    frames = await play(tmp_path, model, mcp_servers=servers, allowed_tools=["mcp__calc__*"])
    assert frames[0]["mcp_servers"] == [{"name": "calc", "status": "connected", "source": "sdk"}]
    assert result_text(results(frames)[0]) == "42"


@pytest.mark.parametrize(("anyio_backend", "version"), [("asyncio", "2025-11-25"), ("trio", "2026-07-28")])
async def test_a_program_made_with_the_package_speaks_both_eras_with_us(tmp_path: Path, version: str) -> None:
    config = {"command": sys.executable, "args": [REAL], "protocolVersion": version}
    async with server_for(tmp_path, config) as server:
        await server.connect()
        assert server.introduction.protocol_version == version
        assert (server.introduction.name, server.version) == ("real", "2.0")
        assert text_of(await server.call_tool("add", {"a": 1, "b": 2})) == "3"
        failed = await server.call_tool("fail", {})
        assert failed["isError"] is True
        assert "fail" in text_of(failed)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the package takes long to start
async def test_a_standing_subscription_does_not_keep_an_idle_server(tmp_path: Path) -> None:
    config = {"command": sys.executable, "args": [REAL], "protocolVersion": "2026-07-28"}
    async with server_for(tmp_path, config, surroundings=around(tmp_path, idle_seconds=0.3)) as server:
        await server.connect()
        assert server.introduction.capabilities["tools"] == {"listChanged": True}
        await eventually(lambda: str(server.status) == "pending")


@pytest.mark.parametrize(("kind", "version"), [("http", "2025-11-25"), ("http", "2026-07-28"), ("sse", "2025-11-25")])
async def test_the_package_over_http(tmp_path: Path, addresses: dict[str, str], kind: str, version: str) -> None:
    config = {"type": kind, "url": addresses[kind], "protocolVersion": version}
    async with server_for(tmp_path, config) as server:
        await connected(server)
        assert server.introduction.protocol_version == version
        assert text_of(await server.call_tool("add", {"a": 1, "b": 2})) == "3"
        assert (await server.call_tool("fail", {}))["isError"] is True


async def test_a_program_behind_the_wire_uses_a_server_object_of_the_host(tmp_path: Path) -> None:
    steps = [{"tool": "mcp__calc__add", "input": {"a": 20, "b": 22}}, {"text": "done"}]
    (tmp_path / "script.json").write_text(json.dumps({"steps": steps}))
    options = ClaudeAgentOptions(
        model=f"scripted:{tmp_path / 'script.json'}",
        mcp_servers={"calc": {"type": "sdk", "name": "calc", "instance": friendly()}},
        allowed_tools=["mcp__calc__*"],
        cli_path=Path(sys.executable).with_name("toolwright"),
        env={"CLAUDE_CONFIG_DIR": str(tmp_path / "config")},
        cwd=tmp_path,
    )
    heard = [message async for message in query(prompt="go", options=options)]
    (answer,) = [message.tool_use_result for message in heard if isinstance(message, UserMessage)]
    assert "42" in str(answer)
