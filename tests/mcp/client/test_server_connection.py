"""What an external server does about failures and time, whatever carries its messages."""

import re
from pathlib import Path

import pytest

from support_mcp import entry, server_for, text_of
from toolwright.mcp.client.configs import parse_config
from toolwright.mcp.client.connections import ServerContext, external_server
from toolwright.mcp.rpc import ToolServerError

pytestmark = pytest.mark.anyio


async def test_a_server_that_keeps_failing_is_tried_less_and_less_often(tmp_path: Path) -> None:
    """Twice as long each time, up to half a minute; a person who asks for it is not kept waiting."""
    config = parse_config("gone", {"command": str(tmp_path / "no-such-program")})
    server = external_server(config, ServerContext(str(tmp_path), {}, lambda: {"PATH": "/"}, lambda: ()))
    pauses = []
    for failures in range(1, 8):
        with pytest.raises(ToolServerError, match="no-such-program"):
            await server.reconnect()
        told = re.search(
            r"It failed (\d) times?; the next attempt is made in (\d+) seconds", text_of(await server.call_tool("x", {}))
        )
        if failures > 4:  # shorter pauses may be over on a slow machine
            assert told is not None
            assert int(told[1]) == failures
            pauses.append(int(told[2]))
    await server.aclose()
    assert [8 < pauses[0] <= 16, 16 < pauses[1] <= 30, 16 < pauses[2] <= 30] == [True] * 3


async def test_a_servers_own_time_for_calls_and_that_of_one_tool(tmp_path: Path) -> None:
    async with server_for(tmp_path, entry(timeout=200, toolTimeouts={"late": 100})) as server:
        await server.connect()
        assert "slow was given up: no answer within 0.2 seconds" in text_of(await server.call_tool("slow", {}))
        assert "late was given up: no answer within 0.1 seconds" in text_of(await server.call_tool("late", {}))
