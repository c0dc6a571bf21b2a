"""Published MCP programs as our peers: npm's example servers as servers for us, the inspector as a client of ours."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import npm_peers
import pytest

from toolwright import ClaudeAgentOptions, ToolResultBlock, UserMessage, query
from toolwright.mcp.client.configs import ServerConfig, parse_config
from toolwright.mcp.client.connections import ServerContext, external_server
from toolwright.mcp.client.server_connection import ExternalServer
from toolwright.mcp.rpc import ToolServerError
from toolwright.models.scripted import Call, Say, ScriptedModel

pytestmark = pytest.mark.anyio
SECONDS = 300


@pytest.fixture
def no_settings_from_outside() -> None:
    """The programs here read no settings, and the published SDK is not needed."""


def peer(package: str, folder: Path, *arguments: str) -> ExternalServer:
    command, *rest = npm_peers.script(package)
    config = ServerConfig("peer", "stdio", command=command, args=(*rest, *arguments))
    return external_server(config, ServerContext(str(folder), {}, lambda: {}, lambda: (str(folder),)))


async def test_the_example_server_with_everything(tmp_path: Path) -> None:
    server = peer("@modelcontextprotocol/server-everything", tmp_path, "stdio")
    try:
        names = {tool.name for tool in await server.list_tools()}
        assert "echo" in names
        result = await server.call_tool("echo", {"message": "hello"})
        assert result["content"][0]["text"] == "Echo: hello"
    finally:
        await server.aclose()


EVERYTHING: list[tuple[str, dict[str, Any], str]] = [
    ("get-sum", {"a": 2, "b": 3}, "The sum of 2 and 3 is 5."),
    ("get-sum", {"a": "two"}, "Input validation error"),
    ("get-tiny-image", {}, "Image saved to"),
    ("get-structured-content", {"location": "New York"}, '"temperature":'),
    ("get-annotated-message", {"messageType": "error", "includeImage": True}, "Operation failed"),
    ("get-resource-links", {"count": 3}, "[Resource link: demo://resource/dynamic/"),
    ("get-resource-reference", {"resourceType": "Text", "resourceId": 1}, "[Resource demo://resource/dynamic/text/1]"),
    ("trigger-long-running-operation", {"duration": 1, "steps": 3}, "operation completed"),
    ("get-roots-list", {}, "Current MCP Roots (1 total)"),
    ("gzip-file-as-resource", {"name": "a.gz", "data": "data:text/plain;base64,aGVsbG8=", "outputType": "resource"}, "gzip"),
]
RESOURCES = [
    ("ListMcpResourcesTool", {}, "demo://resource/static/document/features.md"),
    ("ReadMcpResourceTool", {"server": "all", "uri": "demo://resource/static/document/features.md"}, "# Everything Server"),
    ("ReadMcpResourceTool", {"server": "all", "uri": "demo://resource/dynamic/blob/1"}, "saved to"),
    ("ReadMcpResourceTool", {"server": "all", "uri": "demo://nothing"}, "Resource not found"),
]


async def test_a_session_uses_everything_that_the_example_server_has(tmp_path: Path) -> None:
    command, *arguments = npm_peers.script("@modelcontextprotocol/server-everything")
    calls = [(f"mcp__all__{name}", given, said) for name, given, said in EVERYTHING] + RESOURCES
    options = ClaudeAgentOptions(
        model=ScriptedModel([*(Call(name, given) for name, given, _ in calls), Say("done")]),  # type: ignore[arg-type]
        mcp_servers={"all": {"command": command, "args": [*arguments, "stdio"]}},
        allowed_tools=["mcp__all__*", "ReadMcpResourceTool"],
        tools=[],
        env={"CLAUDE_CONFIG_DIR": str(tmp_path / "config"), "TOOLWRIGHT_MCP_WAIT": "60000", "MCP_TIMEOUT": "60000"},
        cwd=tmp_path,
    )
    heard = [message async for message in query(prompt="go", options=options)]
    results = [
        block
        for message in heard
        if isinstance(message, UserMessage)
        for block in message.content
        if isinstance(block, ToolResultBlock)
    ]
    assert len(results) == len(calls)
    for (name, given, said), result in zip(calls, results, strict=True):
        assert said in json.dumps(result.content).replace('\\\\"', '"').replace('\\"', '"'), (name, given)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(("transport", "kind", "path"), [("streamableHttp", "http", "mcp"), ("sse", "sse", "sse")])
async def test_the_example_server_over_http(tmp_path: Path, transport: str, kind: str, path: str) -> None:
    port = free_port()
    command = [*npm_peers.script("@modelcontextprotocol/server-everything"), transport]
    config = parse_config("peer", {"type": kind, "url": f"http://127.0.0.1:{port}/{path}"})
    with subprocess.Popen(
        command, env={**os.environ, "PORT": str(port)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        server = external_server(config, ServerContext(str(tmp_path), {}, lambda: {}, lambda: (str(tmp_path),)))
        try:
            with anyio.fail_after(SECONDS):
                while server.status != "connected":
                    with suppress(ToolServerError):
                        await server.connect()
                    await anyio.sleep(0.1)
            assert (await server.call_tool("echo", {"message": "hello"}))["content"][0]["text"] == "Echo: hello"
        finally:
            await server.aclose()
            process.terminate()


async def test_the_example_server_for_files(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("a note")
    server = peer("@modelcontextprotocol/server-filesystem", tmp_path, str(tmp_path))
    try:
        tools = {tool.name: tool for tool in await server.list_tools()}
        assert tools["read_text_file"].annotations.get("readOnlyHint") is True
        result = await server.call_tool("read_text_file", {"path": str(tmp_path / "note.txt")})
        assert result["content"][0]["text"] == "a note"
        outside = await server.call_tool("read_text_file", {"path": "/etc/hostname"})
        assert outside["isError"] is True
    finally:
        await server.aclose()


def inspect(folder: Path, *arguments: str) -> dict[str, object]:
    serve = [sys.executable, "-m", "toolwright.cli", "mcp", "serve", "--cwd", str(folder)]
    command = [*npm_peers.script("@modelcontextprotocol/inspector", "cli/build/cli.js"), "--cli", *serve, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def test_the_inspector_lists_and_calls_our_tools(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("a note")
    tools = inspect(tmp_path, "--method", "tools/list")["tools"]
    assert isinstance(tools, list)
    assert {"Read", "Bash"} <= {tool["name"] for tool in tools}
    result = inspect(tmp_path, "--method", "tools/call", "--tool-name", "Read", "--tool-arg", "file_path=note.txt")
    assert "a note" in json.dumps(result)
