"""Published MCP programs as our peers: npm's example servers as servers for us, the inspector as a client of ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import npm_peers
import pytest

from toolwright.mcp.configs import ServerConfig
from toolwright.mcp.connections import Surroundings, external_server
from toolwright.mcp.external import ExternalServer

pytestmark = pytest.mark.anyio
SECONDS = 300


@pytest.fixture
def no_settings_from_outside() -> None:
    """The programs here read no settings, and the published SDK is not needed."""


def peer(package: str, folder: Path, *arguments: str) -> ExternalServer:
    command, *rest = npm_peers.script(package)
    config = ServerConfig("peer", "stdio", command=command, args=(*rest, *arguments))
    return external_server(config, Surroundings(str(folder), {}, lambda: {}, lambda: (str(folder),)))


async def test_the_example_server_with_everything(tmp_path: Path) -> None:
    server = peer("@modelcontextprotocol/server-everything", tmp_path, "stdio")
    try:
        names = {tool.name for tool in await server.list_tools()}
        assert "echo" in names
        result = await server.call_tool("echo", {"message": "hello"})
        assert result["content"][0]["text"] == "Echo: hello"
    finally:
        await server.aclose()


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
