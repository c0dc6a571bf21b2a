"""The faults RL-06 … RL-10: a model server that fails in every way, and what comes of it.

Each test asks the Messages API provider, with retries around it, over a real socket.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing

import anyio
import pytest

from support_models import ask, drain, open_sockets, text_of
from toolwright.models.anthropic import AnthropicModel
from toolwright.models.assembler import MessageAssembler
from toolwright.models.base import Model
from toolwright.models.http import Timeouts
from toolwright.models.retry import RetryPolicy, with_retries
from toolwright.testing import ModelServer, Pause, Raw, Reset, Status, Step, ToolCall, answer
from toolwright.testing import messages_dialect as dialect
from toolwright.testing.steps import Action

pytestmark = pytest.mark.anyio

GOOD = answer("all is well")
CALL = ToolCall("Bash", {"command": "rm -rf everything", "description": "a long text, so that there are many pieces"})


class Waits(list[float]):
    async def sleep(self, seconds: float) -> None:
        self.append(seconds)
        await anyio.sleep(0)


def connect(server: ModelServer, *, waits: Waits | None = None, idle: float = 20.0, retries: int = 10) -> Model:
    inner = AnthropicModel(base_url=server.url, api_key="key", timeouts=Timeouts(idle=idle))
    return with_retries(inner, RetryPolicy(max_retries=retries), sleep=(waits if waits is not None else Waits()).sleep)


# RL-06: refusals


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504, 529])
async def test_passing_refusals_are_tried_again(code: int) -> None:
    with ModelServer([Status(code), Status(code), GOOD]) as server:
        model = connect(server)
        events, retries, error = await drain(model, ask("one question"))
        assert error is None
        assert text_of(events) == "all is well"
        assert [(retry.attempt, retry.error.status) for retry in retries] == [(1, code), (2, code)]
        assert [request.json["messages"] for request in server.requests] == [server.requests[0].json["messages"]] * 3
        await model.aclose()


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (400, "invalid_request"),
        (401, "authentication_failed"),
        (402, "billing_error"),
        (403, "authentication_failed"),
        (404, "model_not_found"),
        (413, "prompt_too_long"),
    ],
)
async def test_lasting_refusals_are_not_tried_again(code: int, kind: str) -> None:
    with ModelServer([Status(code, {"request-id": "req_1"}), GOOD]) as server:
        model = connect(server)
        events, retries, error = await drain(model, ask())
        assert error is not None
        assert (events, retries, error.kind, error.status, error.request_id) == ([], [], kind, code, "req_1")
        assert len(server.requests) == 1
        await model.aclose()


@pytest.mark.parametrize("headers", [{"retry-after": "7"}, {"retry-after-ms": "7000"}, {"retry-after": "soon"}])
async def test_retry_after_is_honoured(headers: dict[str, str]) -> None:
    waits = Waits()
    with ModelServer([Status(429, headers), GOOD]) as server:
        model = connect(server, waits=waits)
        _, _, error = await drain(model, ask())
        assert error is None
        assert (7.0 <= waits[0] <= 7.5) == ("soon" not in headers.values())
        await model.aclose()


async def test_a_retry_after_of_an_hour_surfaces_at_once() -> None:
    waits = Waits()
    with ModelServer([Status(429, {"retry-after": "3600"}), GOOD]) as server:
        model = connect(server, waits=waits)
        _, _, error = await drain(model, ask())
        assert error is not None
        assert (error.kind, error.retry_after, waits) == ("rate_limit", 3600.0, [])
        await model.aclose()


async def test_a_server_that_never_recovers_ends_with_its_last_error() -> None:
    with ModelServer(Status(529)) as server:
        model = connect(server, retries=4)
        _, retries, error = await drain(model, ask())
        assert error is not None
        assert (error.kind, len(retries), len(server.requests)) == ("overloaded", 4, 5)
        await model.aclose()


# RL-07: an error event in a stream that began well


@pytest.mark.parametrize(
    ("name", "kind"), [("overloaded_error", "overloaded"), ("api_error", "server_error"), ("rate_limit_error", "rate_limit")]
)
async def test_an_error_event_before_content_is_tried_again(name: str, kind: str) -> None:
    with ModelServer([dialect.error_inside(name), GOOD]) as server:
        model = connect(server)
        events, retries, error = await drain(model, ask())
        assert error is None
        assert [retry.error.kind for retry in retries] == [kind]
        assert [event["type"] for event in events].count("message_start") == 1
        await model.aclose()


async def test_an_error_event_of_a_lasting_kind_is_not_tried_again() -> None:
    with ModelServer([dialect.error_inside("invalid_request_error", "prompt is too long: 250000 tokens"), GOOD]) as server:
        model = connect(server)
        _, retries, error = await drain(model, ask())
        assert error is not None
        assert (error.kind, retries) == ("prompt_too_long", [])
        await model.aclose()


async def test_an_error_event_after_content_surfaces_and_the_text_before_it_is_there() -> None:
    with ModelServer([dialect.error_inside(after="half of"), GOOD]) as server:
        model = connect(server)
        events, retries, error = await drain(model, ask())
        assert error is not None
        assert (error.kind, retries, text_of(events)) == ("overloaded", [], "half of")
        await model.aclose()


async def test_an_error_event_in_one_piece_with_text_still_gives_the_text() -> None:
    step = dialect.error_inside(after="half of")
    with ModelServer([Raw([b"".join(chunk for chunk in step.chunks if isinstance(chunk, bytes))])]) as server:
        model = connect(server)
        events, _, error = await drain(model, ask())
        assert error is not None
        assert text_of(events) == "half of"
        await model.aclose()


# RL-08: the network breaks


@pytest.mark.parametrize("fault", [dialect.reset_mid_stream, dialect.cut_mid_chunk])
async def test_a_connection_that_breaks_in_the_middle_is_an_error_and_its_call_never_whole(fault: Callable[..., Raw]) -> None:
    before = open_sockets()
    with ModelServer([fault("some text", call=CALL), GOOD]) as server:
        model = connect(server)
        events, retries, error = await drain(model, ask())
        assert error is not None
        assert (error.kind, retries) == ("connection", [])
        assembler = MessageAssembler()
        finished = [block for event in events if (block := assembler.feed(event))]
        assert [block["type"] for block in finished] in ([], ["text"])
        assert [block["type"] for block in assembler.partial_blocks()] in ([], ["text"])
        await model.aclose()
    assert open_sockets() == before


@pytest.mark.parametrize("chunks", [[Reset()], [b": nothing yet\n\n", Reset()]])
async def test_a_connection_that_breaks_before_any_event_is_tried_again(chunks: list[bytes | Reset]) -> None:
    with ModelServer([Raw(chunks), GOOD]) as server:
        model = connect(server)
        events, retries, error = await drain(model, ask())
        assert error is None
        assert text_of(events) == "all is well"
        assert [retry.error.kind for retry in retries] == ["connection"]
        await model.aclose()


async def test_a_server_that_stalls_is_a_timeout() -> None:
    with ModelServer([dialect.stall("half")]) as server:
        model = connect(server, idle=0.1)
        events, _, error = await drain(model, ask())
        assert error is not None
        assert (error.kind, error.retryable, text_of(events)) == ("timeout", True, "half")
        await model.aclose()


async def test_a_server_that_never_begins_its_answer_is_a_timeout_and_tried_again() -> None:
    def silence(_: object) -> Step:
        return Raw([Pause(60)], {"content-type": "text/event-stream"})

    with ModelServer([silence, GOOD]) as server:
        model = connect(server, idle=0.1)
        _, retries, error = await drain(model, ask())
        assert error is None
        assert [retry.error.kind for retry in retries] == ["timeout"]
        await model.aclose()


async def test_pings_do_not_keep_a_dead_stream_alive() -> None:
    with ModelServer([dialect.only_pings(1000, every=0.02)]) as server:
        model = connect(server, idle=0.2, retries=0)
        events, _, error = await drain(model, ask())
        assert error is not None
        assert (error.kind, error.retryable) == ("timeout", True)
        assert {event["type"] for event in events} <= {"ping"}
        assert 1 <= len(events) < 20
        await model.aclose()


async def test_a_slow_stream_with_pings_between_is_fine() -> None:
    chunks: list[bytes | Action] = []
    for chunk in answer("slow but alive").chunks:
        ping = dialect.encode_event({"type": "ping"})
        chunks += [chunk, Pause(0.05), ping, Pause(0.05)]
    with ModelServer([Raw(chunks)]) as server:
        model = connect(server, idle=5.0)
        events, _, error = await drain(model, ask())
        assert (text_of(events), error) == ("slow but alive", None)
        await model.aclose()


# RL-09: the body ends, the answer does not


async def test_a_clean_end_without_message_stop_is_truncated() -> None:
    with ModelServer([dialect.end_without_stop("text", call=CALL), GOOD]) as server:
        model = connect(server)
        events, retries, error = await drain(model, ask())
        assert error is not None
        assert (error.kind, error.retryable, retries) == ("truncated", False, [])
        assert text_of(events) == "text"
        await model.aclose()


@pytest.mark.parametrize("chunks", [[], [b": only a comment\n\n"], [dialect.encode_event({"type": "ping"})]])
async def test_an_end_before_any_content_is_tried_again(chunks: list[bytes]) -> None:
    with ModelServer([Raw(chunks), GOOD]) as server:
        model = connect(server)
        events, retries, error = await drain(model, ask())
        assert error is None
        assert text_of(events) == "all is well"
        assert [retry.error.kind for retry in retries] == ["truncated"]
        await model.aclose()


# RL-10: odd but readable streams, and unreadable ones

ODD_TEXT = "line\u2028para\u2029next\u0085vt\x0bff\x0c \U0001f600 ünïcødé"


@pytest.mark.parametrize(
    "step",
    [
        answer(ODD_TEXT),
        dialect.byte_by_byte(answer(ODD_TEXT)),
        dialect.with_line_ends(answer(ODD_TEXT), b"\r"),
        dialect.with_line_ends(answer(ODD_TEXT), b"\r\n"),
        dialect.byte_by_byte(dialect.with_line_ends(answer(ODD_TEXT), b"\r\n")),
        dialect.with_line_ends(answer(ODD_TEXT), b"\n", before=b"\xef\xbb\xbf"),
        dialect.with_line_ends(answer(ODD_TEXT), b"\n", before=b": comment\nid: 7\nretry: 10\n\n"),
        dialect.with_line_ends(
            answer(ODD_TEXT), b"\n", before=b'event: new\ndata: {"type":"new_event"}\n\nevent: odd\ndata: [1]\n\n'
        ),
    ],
    ids=["plain", "every byte", "CR", "CRLF", "CRLF every byte", "BOM", "comment, id, retry", "unknown events"],
)
async def test_odd_streams_are_read_whole(step: Raw) -> None:
    with ModelServer([step]) as server:
        model = connect(server)
        events, _, error = await drain(model, ask())
        assert (text_of(events), error) == (ODD_TEXT, None)
        await model.aclose()


async def test_data_in_several_lines_is_joined() -> None:
    chunks = [chunk.replace(b',"', b',\ndata: "') for chunk in GOOD.chunks if isinstance(chunk, bytes)]
    with ModelServer([Raw(chunks)]) as server:
        model = connect(server)
        events, _, error = await drain(model, ask())
        assert (text_of(events), error) == ("all is well", None)
        await model.aclose()


async def test_a_line_of_five_megabytes_is_read() -> None:
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x" * 5_000_000}}
    start, stop = GOOD.chunks[:2], GOOD.chunks[3:]
    with ModelServer([Raw([*start, dialect.encode_event(delta), *stop])]) as server:
        model = connect(server)
        events, _, error = await drain(model, ask())
        assert (len(text_of(events)), error) == (5_000_000, None)
        await model.aclose()


@pytest.mark.parametrize("data", [b"{", b'{"type": "\xff"}', b"[" * 100_000])
async def test_an_event_that_is_no_json_is_an_error_of_the_server(data: bytes) -> None:
    with ModelServer([Raw([b"event: message_start\ndata: " + data + b"\n\n"]), GOOD]) as server:
        model = connect(server)
        _, retries, error = await drain(model, ask())
        assert error is None
        assert [retry.error.kind for retry in retries] == ["server_error"]
        await model.aclose()


# leaving early


async def test_leaving_a_stream_early_leaves_no_socket_and_the_model_usable() -> None:
    before = open_sockets()
    with ModelServer([dialect.stall("half"), GOOD]) as server:
        model = connect(server)
        async with aclosing(model.stream(ask())) as stream:
            async for _ in stream:
                break
        events, _, error = await drain(model, ask())
        assert (text_of(events), error) == ("all is well", None)
        await model.aclose()
    assert open_sockets() == before


async def test_cancelling_a_stream_leaves_no_socket() -> None:
    before = open_sockets()
    with ModelServer(dialect.stall("half")) as server:
        model = connect(server)
        with anyio.move_on_after(0.1) as scope:
            await drain(model, ask())
        assert scope.cancelled_caught
        await model.aclose()
    assert open_sockets() == before
