"""Servers over streamable HTTP: sessions, streams that break, refusals; and the headers of both eras."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from support_mcp import around, eventually, server_for, text_of
from support_mcp_http import Handler, Message, Script, http_server, reply
from toolwright.mcp.client.server_events import Audience
from toolwright.mcp.client.streamable_http import header_text
from toolwright.mcp.rpc import ToolServerError

pytestmark = pytest.mark.anyio


@pytest.fixture
def http() -> Iterator[Script]:
    with http_server() as script:
        yield script


def entry(http: Script, **more: Any) -> dict[str, Any]:
    return {"type": "http", "url": f"{http.url}/mcp?team=1", "headers": {"Authorization": "Bearer t0ken"}, **more}


async def test_a_session_begins_carries_its_headers_and_is_ended(tmp_path: Path, http: Script) -> None:
    async with server_for(tmp_path, entry(http)) as server:
        assert text_of(await server.call_tool("echo", {"a": 1})) == '{"a": 1}'
    (first,) = http.seen("POST", "initialize")
    assert first["authorization"] == "Bearer t0ken"
    assert first["accept"] == "application/json, text/event-stream"
    assert "mcp-session-id" not in first
    (call,) = http.seen("POST", "tools/call")
    assert (call["mcp-session-id"], call["mcp-protocol-version"]) == ("session-1", "2025-11-25")
    assert [headers["mcp-session-id"] for headers in http.seen("DELETE")] == ["session-1"]
    assert {path for _, path, _, _ in http.requests} == {"/mcp?team=1"}


async def test_an_answer_may_come_as_a_stream_with_other_things_before_it(tmp_path: Path, http: Script) -> None:
    def respond(handler: Handler, message: Message) -> bool:
        if message.get("method") != "tools/call":
            return False
        token = message["params"]["_meta"]["progressToken"]
        handler.stream()
        handler.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
        handler.event({"jsonrpc": "2.0", "id": 999, "result": {}})
        handler.event(reply(message))
        return True

    http.respond = respond
    steps: list[Any] = []
    async with server_for(tmp_path, entry(http), audience=Audience(progress=lambda *step: steps.append(step))) as server:
        assert text_of(await server.call_tool("echo", {"a": 1})) == '{"a": 1}'
    assert len(steps) == 1


async def test_a_stream_that_breaks_is_taken_up_where_it_stood(tmp_path: Path, http: Script) -> None:
    pending: list[Message] = []

    def respond(handler: Handler, message: Message) -> bool:
        if message.get("method") != "tools/call":
            return False
        pending.append(message)
        handler.stream()
        handler.event(None, id="ev-1", retry=10)
        return True

    def resume(handler: Handler) -> None:
        if "last-event-id" not in handler.headers:
            handler.status(405)
            return
        handler.stream()
        handler.event(reply(pending[0]), id="ev-2")

    http.respond, http.on_get = respond, resume
    async with server_for(tmp_path, entry(http)) as server:
        assert text_of(await server.call_tool("echo", {"a": 2})) == '{"a": 2}'
    resumed = [headers for headers in http.seen("GET") if "last-event-id" in headers]
    assert [headers["last-event-id"] for headers in resumed] == ["ev-1"]


async def test_a_stream_that_breaks_without_ids_is_an_error_result(tmp_path: Path, http: Script) -> None:
    def respond(handler: Handler, message: Message) -> bool:
        if message.get("method") == "tools/call":
            handler.stream()
            handler.event(None)
        return message.get("method") == "tools/call"

    http.respond = respond
    async with server_for(tmp_path, entry(http)) as server:
        answer = await server.call_tool("echo", {})
        assert answer["isError"] is True
        assert "ended before it was complete" in text_of(answer)


async def test_a_forgotten_session_is_begun_again_and_the_call_made(tmp_path: Path, http: Script) -> None:
    def respond(handler: Handler, message: Message) -> bool:
        if message.get("method") == "tools/call" and handler.headers["mcp-session-id"] == "session-1":
            http.session_id = "session-2"
            handler.status(404)
            return True
        return False

    http.respond = respond
    async with server_for(tmp_path, entry(http)) as server:
        assert text_of(await server.call_tool("echo", {"a": 3})) == '{"a": 3}'
        assert server.status == "connected"
    assert len(http.seen("POST", "initialize")) == 2


async def test_new_tools_are_heard_on_the_standing_stream(tmp_path: Path, http: Script) -> None:
    def listen(handler: Handler) -> None:
        http.tools.append("later")
        handler.stream()
        handler.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        http.ended.wait(30)

    http.on_get = listen
    async with server_for(tmp_path, entry(http)) as server:
        await server.connect()
        await eventually(lambda: [tool.name for tool in server.tools] == ["echo", "later"])


async def test_a_server_that_wants_a_login_says_so_in_its_status(tmp_path: Path, http: Script) -> None:
    def respond(handler: Handler, message: Message) -> bool:
        handler.status(401, {"www-authenticate": 'Bearer resource_metadata="https://x/.well-known"'})
        return True

    http.respond = respond
    async with server_for(tmp_path, entry(http)) as server:
        with pytest.raises(ToolServerError, match="wants authorization"):
            await server.connect()
        assert server.status == "needs-auth"
        assert "resource_metadata" in server.challenge


@pytest.mark.parametrize(
    ("status", "headers", "said"),
    [
        (307, {"location": "http://127.0.0.1:1/steal"}, "redirects are not followed"),
        (500, {}, "it answered HTTP 500: oops"),
        (200, {"content-type": "application/json"}, "no JSON"),
    ],
)
async def test_other_answers_are_said(tmp_path: Path, http: Script, status: int, headers: dict[str, str], said: str) -> None:
    def respond(handler: Handler, message: Message) -> bool:
        handler.status(status, headers, b"oops")
        return True

    http.respond = respond
    async with server_for(tmp_path, entry(http)) as server:
        with pytest.raises(ToolServerError, match=said):
            await server.connect()


async def test_a_server_that_is_not_there_is_said(tmp_path: Path) -> None:
    async with server_for(tmp_path, {"type": "http", "url": "http://127.0.0.1:1/mcp"}) as server:
        with pytest.raises(ToolServerError, match=r"'test': it at http://127\.0\.0\.1:1 cannot be reached"):
            await server.connect()


async def test_a_session_id_that_would_inject_a_header_is_refused(tmp_path: Path, http: Script) -> None:
    http.session_id = "a b\tc"
    async with server_for(tmp_path, entry(http)) as server:
        with pytest.raises(ToolServerError, match="session id with characters that are not allowed"):
            await server.connect()


async def test_an_interrupted_call_is_withdrawn(tmp_path: Path, http: Script) -> None:
    def respond(handler: Handler, message: Message) -> bool:
        if message.get("method") == "tools/call":
            http.ended.wait(30)
        return False

    http.respond = respond
    async with server_for(tmp_path, entry(http)) as server:
        await server.connect()
        async with anyio.create_task_group() as group:
            group.start_soon(server.call_tool, "echo", {})
            await eventually(lambda: bool(http.seen("POST", "tools/call")))
            group.cancel_scope.cancel()
        assert len(http.seen("POST", "notifications/cancelled")) == 1


async def test_a_server_without_a_handshake_is_spoken_to_in_its_own_way(tmp_path: Path, http: Script) -> None:
    def respond(handler: Handler, message: Message) -> bool:
        error = {"code": -32022, "message": "unsupported", "data": {"supported": ["2026-07-28"], "requested": "2025-11-25"}}
        match message.get("method"):
            case "initialize":
                handler.json({"jsonrpc": "2.0", "id": message["id"], "error": error}, 400)
                return True
            case "server/discover":
                stamp = {"io.modelcontextprotocol/serverInfo": {"name": "modern", "version": "3"}}
                result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "_meta": stamp}
                handler.json({"jsonrpc": "2.0", "id": message["id"], "result": result})
                return True
        return False

    http.respond, http.session_id = respond, None
    async with server_for(tmp_path, entry(http)) as server:
        assert text_of(await server.call_tool("écho", {"a": 1})) == '{"a": 1}'
        assert (server.introduction.protocol_version, server.introduction.name) == ("2026-07-28", "modern")
    (call,) = http.seen("POST", "tools/call")
    assert (call["mcp-protocol-version"], call["mcp-method"]) == ("2026-07-28", "tools/call")
    assert call["mcp-name"] == "=?base64?w6ljaG8=?="
    body = next(body for _, _, _, body in http.requests if isinstance(body, dict) and body["method"] == "tools/call")
    meta = body["params"]["_meta"]
    assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "toolwright"
    assert http.seen("DELETE") == []


async def test_a_result_that_wants_more_input_is_answered_and_the_call_repeated(tmp_path: Path, http: Script) -> None:
    def respond(handler: Handler, message: Message) -> bool:
        if message.get("method") == "server/discover":
            result: Any = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        elif message.get("method") == "tools/call" and "inputResponses" not in message["params"]:
            asked = {"where": {"method": "roots/list", "params": {}}}
            result = {"resultType": "input_required", "inputRequests": asked, "requestState": "opaque"}
        elif message.get("method") == "tools/call":
            params = message["params"]
            said = f"{params['inputResponses']['where']['roots'][0]['name']} {params['requestState']}"
            result = {"content": [{"type": "text", "text": said}]}
        else:
            return False
        handler.json({"jsonrpc": "2.0", "id": message["id"], "result": result})
        return True

    http.respond, http.session_id = respond, None
    async with server_for(tmp_path, entry(http, protocolVersion="2026-07-28"), surroundings=around(tmp_path)) as server:
        assert text_of(await server.call_tool("echo", {})) == f"{tmp_path} opaque"


@pytest.mark.parametrize(
    ("value", "sent"),
    [("plain", "plain"), ("a b", "a b"), (" a", "=?base64?IGE=?="), ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?=")],
)
def test_names_travel_in_headers_unharmed(value: str, sent: str) -> None:
    assert header_text(value) == sent
