"""Connections that say nothing, or not enough, or do not read: whoever has something to say is heard all the same."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import anyio
import pytest

from support_serving import TOKEN, Site, Visit, call, hello, over_http, request
from toolwright.mcp.server import http_messages, http_server
from toolwright.mcp.server.connection_limits import MAX_CONNECTIONS, Places

pytestmark = pytest.mark.anyio

BEARER = {"authorization": f"Bearer {TOKEN}"}
BEGINNINGS = {
    "silent": b"",
    "half a line": b"POST /mcp HT",
    "half a head": b"POST /mcp HTTP/1.1\r\nhost: x\r\nx-a: ",
    "half a body": b"POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-length: 5000\r\n\r\n{",
    "half a chunk": b"POST /mcp HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{",
}


@asynccontextmanager
async def half_open(site: Site, beginning: bytes, number: int) -> AsyncIterator[list[anyio.abc.SocketStream]]:
    async with AsyncExitStack() as open_now:
        streams = []
        for _ in range(number):
            stream = await open_now.enter_async_context(await anyio.connect_tcp("127.0.0.1", site.port))
            if beginning:
                await stream.send(beginning)
            streams.append(stream)
        yield streams


async def ended(stream: anyio.abc.SocketStream, seconds: float = 10) -> bytes:
    """What still comes, until the server has closed the connection."""
    came = b""
    with anyio.fail_after(seconds):
        while True:
            try:
                came += await stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return came


@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=list(BEGINNINGS))
async def test_half_open_connections_keep_nobody_out(beginning: bytes) -> None:
    async with over_http(TOKEN) as site, half_open(site, beginning, MAX_CONNECTIONS + 50):
        with anyio.fail_after(5):
            for _ in range(5):
                session = (await site.post(hello(), **BEARER)).headers["mcp-session-id"]
                answer = await site.post(call(1, "echo", {"a": 1}), mcp_session_id=session, **BEARER)
                assert answer.json["result"]["content"][0]["text"] == '{"a":1}'


async def test_half_open_connections_do_not_end_a_call_that_runs() -> None:
    async with over_http() as site, site.visit() as visit:
        session = (await visit.post(hello())).headers["mcp-session-id"]
        await visit.begin(call(1, "wait"), mcp_session_id=session)
        await site.offers[0].started.wait()
        async with half_open(site, b"POST /", MAX_CONNECTIONS + 50):
            site.offers[0].released.set()
            assert (await visit.answer()).status == 200


async def test_a_client_that_was_served_keeps_its_connection_before_strangers() -> None:
    async with over_http() as site, site.visit() as visit:
        session = (await visit.post(hello())).headers["mcp-session-id"]
        async with half_open(site, b"POST /", MAX_CONNECTIONS + 50):
            assert (await visit.post(request(2, "ping"), mcp_session_id=session)).json["id"] == 2


async def test_a_stranger_does_not_keep_a_connection() -> None:
    async with over_http(TOKEN) as site, site.visit() as visit:
        answer = await visit.post(hello())
        assert (answer.status, answer.headers["connection"]) == (401, "close")
        assert await ended(visit.stream) == b""


@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=list(BEGINNINGS))
async def test_what_does_not_arrive_in_time_ends_its_connection(beginning: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(http_server, "BODY_SECONDS", 0.2)
    async with over_http() as site, half_open(site, beginning, 1) as (stream,):
        came = await ended(stream)
    assert came.startswith(b"HTTP/1.1 408 " if beginning else b"")


async def test_a_head_that_trickles_in_has_no_more_time_than_one_that_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "HEAD_SECONDS", 0.5)
    async with over_http() as site, half_open(site, b"POST /mcp HTTP/1.1\r\n", 1) as (stream,):
        with anyio.fail_after(5), suppress(anyio.BrokenResourceError, OSError):
            while True:
                await stream.send(b"x-a: b\r\n")
                await anyio.sleep(0.05)


async def test_an_idle_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "IDLE_SECONDS", 0.2)
    async with over_http() as site, site.visit() as visit:
        await visit.post(hello())
        assert await ended(visit.stream) == b""


async def test_a_client_that_does_not_read_its_answer_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_messages, "STALL_SECONDS", 0.3)
    async with over_http() as site:
        session = (await site.post(hello())).headers["mcp-session-id"]
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", site.port))
        with raw:
            body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":"%s"}}}' % (
                b"x" * 20_000_000
            )
            head = f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{site.port}\r\nmcp-session-id: {session}\r\n"
            head += "content-type: application/json\r\naccept: application/json, text/event-stream\r\n"
            await anyio.to_thread.run_sync(raw.sendall, f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
            await anyio.sleep(1.5)

            def read_all() -> int:
                raw.settimeout(10)
                return sum(len(piece) for piece in iter(lambda: _received(raw), b""))

            assert await anyio.to_thread.run_sync(read_all) < len(body)


def _received(raw: socket.socket) -> bytes:
    try:
        return raw.recv(1 << 20)
    except ConnectionError:
        return b""


# places


async def test_the_one_that_has_waited_longest_without_a_request_gives_way() -> None:
    places = Places(most=3)
    async with anyio.create_task_group():
        with places.one("a") as served, places.one("a") as first, places.one("a") as second:
            assert served is not None
            assert first is not None
            assert second is not None
            with served.at_work():
                pass
            with places.one("a") as newcomer:
                assert newcomer is not None
                taken = [place.scope.cancel_called for place in (served, first, second)]
                assert taken == [False, True, False]


async def test_one_address_cannot_take_the_places_of_another() -> None:
    places = Places(most=10, most_of_one=2)
    with places.one("b") as other, places.one("a") as first, places.one("a"), places.one("a") as third:
        assert other is not None
        assert first is not None
        assert third is not None
        assert not other.scope.cancel_called
        assert first.scope.cancel_called


async def test_a_newcomer_is_refused_when_all_are_at_work() -> None:
    places = Places(most=1)
    with places.one("a") as place:
        assert place is not None
        with place.at_work(), places.one("b") as newcomer:
            assert newcomer is None
        assert not place.scope.cancel_called


async def test_who_is_refused_is_told_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "Places", lambda: Places(most=1))
    async with over_http() as site, site.visit() as visit:
        session = (await visit.post(hello())).headers["mcp-session-id"]
        await visit.begin(call(1, "wait"), mcp_session_id=session)
        await site.offers[0].started.wait()
        async with await anyio.connect_tcp("127.0.0.1", site.port) as stream:
            refused = await Visit(stream, {}).answer()
        assert (refused.status, b"try again later" in refused.body) == (503, True)
        site.offers[0].released.set()
        assert (await visit.answer()).status == 200
