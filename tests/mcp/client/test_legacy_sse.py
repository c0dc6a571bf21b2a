"""Servers over the older HTTP transport: one stream for everything, and a URL to post to."""

import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support_mcp import eventually, server_for, text_of
from support_mcp_http import Handler, Message, Script, http_server
from toolwright.mcp.rpc import ToolServerError

pytestmark = pytest.mark.anyio


class OldServer:
    """The answers of a scripted server, put on its stream."""

    def __init__(self, http: Script, endpoint: str = "/post?session=7") -> None:
        self.events: queue.Queue[Any] = queue.Queue()
        self._endpoint = endpoint
        http.respond, http.on_get = self.respond, self.listen

    def listen(self, handler: Handler) -> None:
        handler.stream()
        handler.event(self._endpoint, event="endpoint")
        while (event := self.events.get(timeout=30)) is not None:
            handler.event(event)

    def respond(self, handler: Handler, message: Message) -> bool:
        handler.status(202)
        if "id" in message:
            self.events.put({"jsonrpc": "2.0", "id": message["id"], "result": handler.result(message)})
        return True


@pytest.fixture
def http() -> Iterator[Script]:
    with http_server() as script:
        yield script


async def test_calls_go_out_by_post_and_come_back_on_the_stream(tmp_path: Path, http: Script) -> None:
    old = OldServer(http)
    config = {"type": "sse", "url": f"{http.url}/sse", "headers": {"X-Key": "k"}}
    async with server_for(tmp_path, config) as server:
        assert text_of(await server.call_tool("echo", {"a": 1})) == '{"a": 1}'
        http.tools.append("later")
        old.events.put({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await eventually(lambda: len(server.tools) == 2)
        old.events.put(None)
        await eventually(lambda: str(server.status) == "pending")
        assert text_of(await server.call_tool("echo", {"a": 2})) == '{"a": 2}'
        old.events.put(None)
    posts = [(path, headers) for verb, path, headers, _ in http.requests if verb == "POST"]
    assert {path for path, _ in posts} == {"/post?session=7"}
    assert all(headers["x-key"] == "k" for _, headers in posts)


@pytest.mark.parametrize("endpoint", ["http://evil.test/post", "//evil.test/post", "https://127.0.0.1/post"])
async def test_messages_are_not_posted_to_another_origin(tmp_path: Path, http: Script, endpoint: str) -> None:
    OldServer(http, endpoint)
    async with server_for(tmp_path, {"type": "sse", "url": f"{http.url}/sse"}) as server:
        with pytest.raises(ToolServerError, match="which is not on http://127"):
            await server.connect()


async def test_a_stream_that_is_refused_or_ends_at_once_is_said(tmp_path: Path, http: Script) -> None:
    async with server_for(tmp_path, {"type": "sse", "url": f"{http.url}/sse"}) as server:
        with pytest.raises(ToolServerError, match="HTTP 405"):
            await server.connect()
        http.on_get = lambda handler: handler.stream()
        with pytest.raises(ToolServerError, match="ended before it named a URL"):
            await server.connect()
