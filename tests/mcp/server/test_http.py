"""Our MCP server over HTTP: sessions, tokens, Host and Origin, streams, misbehaving clients. Real sockets on loopback."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
import pytest

from support_serving import MODERN, OTHER_TOKEN, TOKEN, Site, call, hello, modern, note, over_http, request

pytestmark = pytest.mark.anyio

BEARER = {"authorization": f"Bearer {TOKEN}"}


async def session_of(site: Site, *, can: Any = None, **headers: str) -> str:
    answer = await site.post(hello(capabilities=can), **headers)
    assert answer.status == 200, answer.body
    return answer.headers["mcp-session-id"]


def routed(method: str, name: str | None = None) -> dict[str, str]:
    return {"mcp-protocol-version": MODERN, "mcp-method": method} | ({} if name is None else {"mcp-name": name})


async def test_a_client_gets_a_session_and_calls_tools_in_it() -> None:
    async with over_http() as site:
        session = await session_of(site)
        assert len(session) >= 43, "from secrets, not a counter"
        assert (await site.post(note("notifications/initialized"), mcp_session_id=session)).status == 202
        answer = await site.post(call(1, "echo", {"a": "ü\u2028"}), mcp_session_id=session)
        assert answer.headers["content-type"] == "application/json"
        assert answer.json["result"]["content"][0]["text"] == '{"a":"ü\u2028"}'


async def test_what_is_said_before_the_answer_makes_it_an_event_stream() -> None:
    async with over_http() as site:
        session = await session_of(site)
        answer = await site.post(call(1, "tell", _meta={"progressToken": 5}), mcp_session_id=session)
        assert answer.headers["content-type"] == "text/event-stream"
        assert [event.get("method") for event in answer.events] == ["notifications/progress", "notifications/progress", None]


async def test_a_question_comes_on_the_calls_stream_and_is_answered_by_another_post() -> None:
    async with over_http() as site, site.visit() as visit:
        session = await session_of(site, can={"elicitation": {}})
        await visit.begin(call(1, "ask"), mcp_session_id=session)
        await visit.head()
        question = await visit.first_event()
        reply = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}}
        assert (await site.post(reply, mcp_session_id=session)).status == 202
        assert b"said accept" in await visit.rest()


async def test_one_connection_carries_many_requests() -> None:
    async with over_http() as site, site.visit() as visit:
        session = (await visit.post(hello())).headers["mcp-session-id"]
        for number in range(20):
            assert (await visit.post(request(number, "ping"), mcp_session_id=session)).json["id"] == number


async def test_a_session_that_ended_is_gone() -> None:
    async with over_http() as site, site.visit() as visit:
        session = await session_of(site)
        assert (await visit.post(b"", method="DELETE", mcp_session_id=session)).status == 204
        assert site.offers[0].closed
        assert (await site.post(request(1, "ping"), mcp_session_id=session)).status == 404


async def test_requests_without_a_session_are_refused() -> None:
    async with over_http() as site:
        assert (await site.post(request(1, "tools/list"))).status == 400
        assert (await site.post(request(1, "tools/list"), mcp_session_id="guess")).status == 404


async def test_an_initialize_that_is_refused_leaves_no_session() -> None:
    async with over_http() as site:
        answer = await site.post(request(1, "initialize", {}))
        session = answer.headers["mcp-session-id"]
        assert answer.json["error"]["code"] == -32602
        assert (await site.post(request(1, "ping"), mcp_session_id=session)).status == 404


# without a handshake


async def test_a_request_without_a_handshake_needs_no_session() -> None:
    async with over_http() as site:
        answer = await site.post(modern(call(1, "echo")), **routed("tools/call", "echo"))
        assert (answer.status, answer.json["result"]["resultType"]) == (200, "complete")
        assert "mcp-session-id" not in answer.headers
        unknown = await site.post(modern(request(1, "no/such")), **routed("no/such"))
        assert (unknown.status, unknown.json["error"]["code"]) == (404, -32601)


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        (routed("tools/list", "echo"), -32020),
        (routed("tools/call", "other"), -32020),
        (routed("tools/call"), -32020),
        (routed("tools/call", "=?base64?b3RoZXI=?="), -32020),
        ({**routed("tools/call", "echo"), "mcp-protocol-version": "2025-11-25"}, -32020),
    ],
)
async def test_headers_that_say_something_else_than_the_body_are_refused(headers: dict[str, str], code: int) -> None:
    async with over_http() as site:
        answer = await site.post(modern(call(1, "echo")), **headers)
        assert (answer.status, answer.json["error"]["code"]) == (400, code)


async def test_a_name_in_base64_is_the_name() -> None:
    async with over_http() as site:
        assert (await site.post(modern(call(1, "echo")), **routed("tools/call", "=?base64?ZWNobw==?="))).status == 200


async def test_a_version_of_the_future_is_refused_with_those_we_speak() -> None:
    async with over_http() as site:
        headers = {**routed("tools/list"), "mcp-protocol-version": "2031-01-01"}
        answer = await site.post(modern(request(1, "tools/list"), version="2031-01-01"), **headers)
        assert (answer.status, answer.json["error"]["code"]) == (400, -32022)


async def test_closing_the_stream_cancels_a_call_without_a_handshake() -> None:
    async with over_http() as site:
        async with site.visit() as visit:
            await visit.begin(modern(call(1, "wait")), **routed("tools/call", "wait"))
            with anyio.fail_after(30):
                while not site.offers:
                    await anyio.sleep(0.01)
                await site.offers[0].started.wait()
        with anyio.fail_after(30):
            await site.offers[0].cancelled.wait()


async def test_a_client_with_a_session_that_drops_its_connection_has_not_cancelled() -> None:
    async with over_http() as site:
        session = await session_of(site)
        async with site.visit() as visit:
            await visit.begin(call(1, "wait"), mcp_session_id=session)
            with anyio.fail_after(30):
                await site.offers[0].started.wait()
        busy = await site.post(request(1, "ping"), mcp_session_id=session)
        assert busy.json["error"]["code"] == -32600, "the call with this id still runs"
        await site.post(note("notifications/cancelled", {"requestId": 1}), mcp_session_id=session)
        with anyio.fail_after(30):
            await site.offers[0].cancelled.wait()


# who may come in


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer wrong-token-wrong-token", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN} x", "Bearer \xff"],
)
async def test_without_the_token_nothing_is_served(authorization: str) -> None:
    async with over_http(TOKEN) as site:
        answer = await site.post(hello(), authorization=authorization)
        assert answer.status == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert not site.offers


async def test_a_stranger_cannot_make_us_keep_a_large_body() -> None:
    async with over_http(TOKEN) as site, site.visit() as visit:
        head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nContent-Length: 1000000\r\n\r\n"
        await visit.stream.send(head.encode())
        assert (await visit.answer()).status == 413
        assert (await site.post(b"x" * 200_000, **BEARER)).status == 400, "somebody we know may send that much"


async def test_another_principal_cannot_use_a_session_by_its_id() -> None:
    async with over_http(TOKEN, OTHER_TOKEN) as site:
        session = await session_of(site, **BEARER)
        other = {"authorization": f"Bearer {OTHER_TOKEN}", "mcp-session-id": session}
        assert (await site.post(request(1, "tools/list"), **other)).status == 404
        async with site.visit() as visit:
            assert (await visit.post(b"", method="DELETE", **other)).status == 404
        assert (await site.post(request(1, "ping"), mcp_session_id=session, **BEARER)).status == 200


@pytest.mark.parametrize(
    "host", ["evil.test", "evil.test:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil.test:{port}", ""]
)
async def test_a_host_that_is_not_ours_is_turned_away(host: str) -> None:
    async with over_http(TOKEN) as site:
        answer = await site.post(hello(), host=host.format(port=site.port), **BEARER)
        assert answer.status == 421
        assert not site.offers


@pytest.mark.parametrize("host", ["localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
async def test_every_name_of_loopback_is_ours(host: str) -> None:
    async with over_http(TOKEN) as site:
        assert (await site.post(hello(), host=host.format(port=site.port), **BEARER)).status == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.test", "null", "http://localhost:1", "file://", "http://[", "http://localhost.evil.test"]
)
async def test_a_web_page_of_another_origin_is_turned_away(origin: str) -> None:
    async with over_http(TOKEN) as site:
        assert (await site.post(hello(), origin=origin, **BEARER)).status == 403
        assert not site.offers


async def test_a_page_of_this_server_itself_may_ask() -> None:
    async with over_http(TOKEN) as site:
        assert (await site.post(hello(), origin=f"http://localhost:{site.port}", **BEARER)).status == 200


# HTTP


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"accept": "application/json"}, 406),
        ({"path": "/other"}, 404),
        ({"method": "GET"}, 405),
        ({"method": "PUT"}, 405),
    ],
)
async def test_what_is_not_a_message_for_us_gets_the_status_that_says_so(change: dict[str, str], status: int) -> None:
    async with over_http() as site:
        assert (await site.post(hello(), **change)).status == status


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b"\xff", b"[" * 50_000, b'{"jsonrpc":"2.0","id":{},"method":"x"}'])
async def test_a_body_that_is_no_message_is_a_bad_request(body: bytes) -> None:
    async with over_http() as site:
        answer = await site.post(body)
        assert (answer.status, answer.json["id"]) == (400, None)


HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nAccept: */*\r\n"


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"\r\n\r\n\r\n", None),
        (b"GARBAGE\r\n\r\n", 400),
        (b"GET http://evil.test/ HTTP/1.1\r\n\r\n", 400),
        (b"POST /mcp HTTP/2.0\r\n\r\n", 400),
        (b"POST /mcp HTTP/1.1\r\n\r\n", 400),
        (HEAD + b"Content-Length: -1\r\n\r\n", 400),
        (HEAD + b"Content-Length: 99999999999\r\n\r\n", 413),
        (HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
        (HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", 400),
        (HEAD + b"Transfer-Encoding: gzip\r\n\r\n", 400),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffff\r\n", 413),
        (HEAD + b" folded: x\r\n\r\n", 400),
        (HEAD + b"Host: second\r\n\r\n", 400),
        (HEAD + b"A: " + b"a" * 40_000 + b"\r\n\r\n", 431),
        (HEAD + b"".join(b"A%d: a\r\n" % n for n in range(200)) + b"\r\n", 431),
        (HEAD + b"Content-Length: 9\r\n\r\n{}", 400),
    ],
)
async def test_malformed_http_ends_its_own_connection_and_no_other(raw: bytes, status: int | None) -> None:
    async with over_http() as site:
        async with site.visit() as visit:
            await visit.stream.send(raw % site.port if b"%d" in raw else raw)
            await visit.stream.send_eof()
            if status is not None:
                assert (await visit.answer()).status == status
        assert (await site.post(hello())).status == 200


async def test_a_body_in_chunks_is_read() -> None:
    async with over_http() as site, site.visit() as visit:
        body = msgspec.json.encode(hello())
        parts = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:10], body[10:]))
        await visit.stream.send(HEAD % site.port + b"Transfer-Encoding: chunked\r\n\r\n" + parts + b"0\r\n\r\n")
        assert (await visit.answer()).json["result"]


async def test_two_clients_over_http_get_their_own_answers_in_a_thousand_interleaved_calls() -> None:
    async with over_http(TOKEN, OTHER_TOKEN) as site:

        async def converse(token: str) -> None:
            headers = {"authorization": f"Bearer {token}"}
            session = await session_of(site, **headers)
            async with anyio.create_task_group() as group:
                for lane in range(5):
                    group.start_soon(ask, headers | {"mcp-session-id": session}, token, lane)

        async def ask(headers: dict[str, str], token: str, lane: int) -> None:
            async with site.visit(**headers) as visit:
                for number in range(100):
                    tool = "tell" if number % 10 == 0 else "echo"
                    identity = lane * 100 + number
                    made = call(identity, tool, {"token": token, "n": identity}, _meta={"progressToken": f"{token}{identity}"})
                    answer = await visit.post(made)
                    *early, last = answer.events or [answer.json]
                    assert all(event["params"]["progressToken"] == f"{token}{identity}" for event in early)
                    told = msgspec.json.decode(last["result"]["content"][0]["text"])
                    assert (last["id"], told) == (identity, {"token": token, "n": identity})

        async with anyio.create_task_group() as group:
            group.start_soon(converse, TOKEN)
            group.start_soon(converse, OTHER_TOKEN)
