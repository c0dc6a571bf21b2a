"""A session shows a kept login to its HTTP server, and says when one is missing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from support_runtime import play, results, session_for, text_of
from support_serving import TOKEN, over_http
from toolwright.mcp.client.oauth.store import Login, TokenStore
from toolwright.models.scripted import Call, Say, ScriptedModel, Turn

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def guarded_server() -> AsyncIterator[str]:
    """The URL of a server that wants a token."""
    async with over_http(TOKEN) as site:
        yield f"http://127.0.0.1:{site.port}/mcp"


async def test_a_login_that_is_kept_is_shown_to_its_server(tmp_path: Path) -> None:
    async with guarded_server() as url:
        TokenStore(str(tmp_path / "config")).put(url, Login(TOKEN, "https://a.test/token", "id", url))
        model = ScriptedModel([Turn([Call("mcp__guarded__echo", {"a": 1})]), Turn([Say("done")])])
        servers = {"guarded": {"type": "http", "url": url}}
        frames = await play(tmp_path, model, mcp_servers=servers, allowed_tools=["mcp__guarded"])
        assert text_of(results(frames)[0]) == '{"a":1}'


async def test_without_a_login_the_server_is_said_to_want_one(tmp_path: Path) -> None:
    async with guarded_server() as url:
        model = ScriptedModel([Turn([Say("done")])])
        async with session_for(tmp_path, model, mcp_servers={"guarded": {"type": "http", "url": url}}) as session:
            with anyio.fail_after(30):
                while (row := (await session.control({"subtype": "mcp_status"}))["mcpServers"][0])["status"] == "pending":
                    await anyio.sleep(0.01)
            assert row["status"] == "needs-auth"
