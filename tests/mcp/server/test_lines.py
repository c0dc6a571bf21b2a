"""Our MCP server on standard streams: handshakes of both eras, calls, questions, cancellation, and any other line."""

from __future__ import annotations

import json
from typing import Any

import anyio
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_serving import META, MODERN, VERSION, call, hello, modern, note, on_lines, request

pytestmark = pytest.mark.anyio

ASKABLE: dict[str, Any] = {"elicitation": {}}


async def test_a_client_shakes_hands_lists_tools_and_calls_one() -> None:
    async with on_lines() as wire:
        answer = await wire.ask(hello())
        assert answer["result"]["protocolVersion"] == VERSION
        assert answer["result"]["serverInfo"] == {"name": "small", "version": "1.0"}
        assert "tools" in answer["result"]["capabilities"]
        listed = await wire.ask(note("notifications/initialized"), request(1, "tools/list"))
        assert listed["result"]["tools"][0]["annotations"] == {"title": "echo", "readOnlyHint": True}
        answer = await wire.ask(call("x", "echo", {"a": 1}))
        assert (answer["id"], answer["result"]["content"][0]["text"]) == ("x", '{"a":1}')


@pytest.mark.parametrize(("wanted", "spoken"), [("2025-03-26", "2025-03-26"), ("1999-01-01", VERSION)])
async def test_the_version_is_the_clients_if_we_speak_it_and_else_our_newest(wanted: str, spoken: str) -> None:
    async with on_lines() as wire:
        assert (await wire.ask(hello(version=wanted)))["result"]["protocolVersion"] == spoken


async def test_nothing_but_ping_is_served_before_the_handshake() -> None:
    async with on_lines() as wire:
        assert (await wire.ask(request(1, "ping")))["result"] == {}
        assert (await wire.ask(request(2, "tools/list")))["error"]["code"] == -32600


async def test_a_client_without_a_handshake_says_who_it_is_with_each_request() -> None:
    async with on_lines() as wire:
        found = (await wire.ask(modern(request(1, "server/discover"))))["result"]
        assert MODERN in found["supportedVersions"]
        assert found["_meta"][f"{META}serverInfo"]["name"] == "small"
        listed = (await wire.ask(modern(request(2, "tools/list"))))["result"]
        assert (listed["resultType"], listed["ttlMs"], listed["cacheScope"]) == ("complete", 0, "private")
        done = (await wire.ask(modern(call(3, "echo"))))["result"]
        assert done["resultType"] == "complete"


@pytest.mark.parametrize(("version", "code"), [("2031-01-01", -32022), (7, -32602)])
async def test_a_version_that_we_do_not_speak_is_refused_with_those_we_do(version: object, code: int) -> None:
    async with on_lines() as wire:
        error = (await wire.ask(modern(request(1, "tools/list"), version=version)))["error"]
        assert error["code"] == code
        assert code != -32022 or error["data"]["supported"] == [MODERN]


async def test_a_standing_stream_is_acknowledged() -> None:
    async with on_lines() as wire:
        told = await wire.ask(modern(request(9, "subscriptions/listen", {"notifications": {"toolsListChanged": True}})))
        assert told["method"] == "notifications/subscriptions/acknowledged"
        await wire.send(note("notifications/cancelled", {"requestId": 9}))


async def test_a_client_that_can_be_asked_is_asked_and_its_answer_is_used() -> None:
    async with on_lines() as wire:
        await wire.ask(hello(capabilities=ASKABLE))
        question = await wire.ask(call(1, "ask"))
        assert (question["method"], question["params"]["message"]) == ("elicitation/create", "Sure?")
        answer = await wire.ask({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}})
        assert answer["result"]["content"][0]["text"] == "said accept"


async def test_a_client_that_cannot_be_asked_or_refuses_gets_the_reason() -> None:
    async with on_lines() as wire:
        await wire.ask(hello())
        assert "does not support" in (await wire.ask(call(1, "ask")))["result"]["content"][0]["text"]
    async with on_lines() as wire:
        await wire.ask(hello(capabilities=ASKABLE))
        question = await wire.ask(call(1, "ask"))
        answer = await wire.ask({"jsonrpc": "2.0", "id": question["id"], "error": {"code": 1, "message": "no screen"}})
        assert "no screen" in answer["result"]["content"][0]["text"]


async def test_without_a_handshake_the_question_is_the_result_and_the_answer_comes_with_the_same_call() -> None:
    async with on_lines() as wire:
        wanted = (await wire.ask(modern(call(1, "ask", {"n": 1}), ASKABLE)))["result"]
        assert wanted["resultType"] == "input_required"
        (key, question) = next(iter(wanted["inputRequests"].items()))
        assert question["method"] == "elicitation/create"
        more = {"inputResponses": {key: {"action": "accept"}}, "requestState": wanted["requestState"]}
        done = (await wire.ask(modern(call(2, "ask", {"n": 1}, **more), ASKABLE)))["result"]
        assert done["content"][0]["text"] == "said accept"
        other = await wire.ask(modern(call(3, "ask", {"n": 2}, **more), ASKABLE))
        assert other["error"]["code"] == -32602, "an answer to one call must not answer another"
        state = wanted["requestState"]
        for forged in ("x", "", state[:-1], state[1:], "é" + state, 7):
            tried = await wire.ask(modern(call(4, "ask", {"n": 1}, **{**more, "requestState": forged}), ASKABLE))
            assert tried["error"]["code"] == -32602


async def test_progress_is_told_to_those_who_want_it_and_only_grows() -> None:
    async with on_lines() as wire:
        await wire.ask(hello())
        await wire.send(call(1, "tell", _meta={"progressToken": "t"}))
        told = [await wire.receive() for _ in range(3)]
        assert [message.get("params", {}).get("progress") for message in told] == [1, 2, None]
        assert told[0]["params"] == {"progressToken": "t", "progress": 1, "total": 2, "message": "half"}
        assert (await wire.ask(call(2, "tell")))["id"] == 2


async def test_log_lines_keep_to_the_level_that_was_set() -> None:
    async with on_lines() as wire:
        await wire.ask(hello())
        assert (await wire.ask(call(1, "log")))["params"]["data"] == "big"
        await wire.receive()
        await wire.ask(request(2, "logging/setLevel", {"level": "debug"}))
        assert (await wire.ask(call(3, "log")))["params"]["data"] == "small"
        assert (await wire.receive())["params"]["data"] == "big"
        await wire.receive()
        assert (await wire.ask(request(4, "logging/setLevel", {"level": "loud"})))["error"]["code"] == -32602


async def test_a_withdrawn_call_is_cancelled_and_gets_no_answer() -> None:
    async with on_lines() as wire:
        await wire.ask(hello())
        await wire.send(call(1, "wait"))
        with anyio.fail_after(30):
            await wire.offer.started.wait()
            await wire.send(note("notifications/cancelled", {"requestId": 1}))
            await wire.offer.cancelled.wait()
        assert (await wire.ask(request(2, "ping")))["id"] == 2


async def test_an_id_in_use_is_refused_and_a_used_one_may_come_again() -> None:
    async with on_lines() as wire:
        await wire.ask(hello())
        await wire.send(call(1, "wait"))
        with anyio.fail_after(30):
            await wire.offer.started.wait()
        assert (await wire.ask(request(1, "ping")))["error"]["code"] == -32600
        assert (await wire.ask(request("1", "ping")))["result"] == {}, '1 and "1" are two ids'
        wire.offer.released.set()
        assert (await wire.receive())["result"]["content"]
        assert (await wire.ask(call(1, "echo")))["result"]["content"]


async def test_what_is_running_when_the_input_ends_is_still_answered() -> None:
    async with on_lines() as wire:
        await wire.ask(hello())
        await wire.send(call(1, "wait"))
        with anyio.fail_after(30):
            await wire.offer.started.wait()
        await wire.end()
        wire.offer.released.set()
        assert (await wire.receive())["id"] == 1
    assert wire.offer.closed


async def test_a_tool_that_raises_is_an_error_without_its_details() -> None:
    async with on_lines() as wire:
        await wire.ask(hello())
        error = (await wire.ask(call(1, "explode")))["error"]
        assert error["code"] == -32603
        assert "secret" not in error["message"]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"', -32700),
        (b'"ping"', -32600),
        (b"[]", -32600),
        (b"null", -32600),
        ({"id": 1, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, -32600),
        ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": "x" * 5000, "method": "ping"}, -32600),
        (b'{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}', -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}, -32602),
        (request(1, "no/such"), -32601),
        (request(1, "resources/list"), -32601),
        (request(1, "tools/call"), -32602),
        (request(1, "tools/call", {"name": "none"}), -32602),
        (request(1, "tools/call", {"name": "echo", "arguments": []}), -32602),
        (request(1, "tools/list", {"cursor": "x"}), -32602),
        (hello(), -32600),
    ],
)
async def test_a_message_that_makes_no_sense_gets_the_right_error_and_the_server_goes_on(message: object, code: int) -> None:
    async with on_lines() as wire:
        await wire.ask(hello())
        assert (await wire.ask(message))["error"]["code"] == code
        assert (await wire.ask(request(2, "ping")))["result"] == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
METHODS = ["initialize", "ping", "tools/list", "tools/call", "logging/setLevel", "server/discover", "notifications/cancelled"]
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON,
        "id": st.integers(0, 3) | JSON,
        "method": st.sampled_from(METHODS) | st.text(max_size=10),
        "params": JSON
        | st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["echo", "tell", "log"]) | JSON,
                "arguments": JSON,
                "_meta": JSON
                | st.fixed_dictionaries(
                    {},
                    optional={
                        "progressToken": JSON,
                        f"{META}protocolVersion": st.just(MODERN) | JSON,
                        f"{META}clientCapabilities": st.just({}) | JSON,
                    },
                ),
                "protocolVersion": st.just(VERSION) | JSON,
                "capabilities": JSON,
                "requestId": JSON,
                "level": JSON,
            },
        ),
        "result": JSON,
        "error": JSON,
    },
)
EDGES = [
    b"",
    b" ",
    b"\x00",
    b"{}" * 2,
    b'{"a":1e999}',
    b'{"a":"\\ud800"}',
    b"\xef\xbb\xbf{}",
    b"NaN",
    b'{"jsonrpc":"2.0","jsonrpc":1}',
]
LINES = (MESSAGES | JSON).map(lambda value: json.dumps(value).encode()) | st.binary(max_size=60) | st.sampled_from(EDGES)


@settings(max_examples=60)
@given(lines=st.lists(LINES, max_size=12))
def test_no_sequence_of_lines_ends_the_server(lines: list[bytes]) -> None:
    async def converse() -> None:
        async with on_lines() as wire:
            await wire.send(*(line.replace(b"\n", b" ") for line in lines))
            await wire.send(request("the-last-one", "ping"))
            while (await wire.receive()).get("id") != "the-last-one":
                pass

    anyio.run(converse)


async def test_two_clients_with_the_same_ids_get_their_own_answers_in_a_thousand_interleaved_calls() -> None:
    async def converse(client: int) -> None:
        async with on_lines() as wire:
            await wire.ask(hello())
            for start in range(0, 500, 50):
                await wire.send(*(call(n, "echo", {"client": client, "n": n}) for n in range(start, start + 50)))
                for _ in range(50):
                    answer = await wire.receive()
                    told = msgspec.json.decode(answer["result"]["content"][0]["text"])
                    assert told == {"client": client, "n": answer["id"]}

    async with anyio.create_task_group() as group:
        group.start_soon(converse, 1)
        group.start_soon(converse, 2)


async def test_a_flood_of_requests_is_answered_with_refusals_beyond_the_limit() -> None:
    async with on_lines() as wire:
        await wire.ask(hello())
        await wire.send(*(call(number, "wait") for number in range(100)))
        refused = [await wire.receive() for _ in range(36)]
        assert {answer["error"]["code"] for answer in refused} == {-32000}
        wire.offer.released.set()
        assert len({(await wire.receive())["id"] for _ in range(64)}) == 64
