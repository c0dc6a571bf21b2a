"""The chat completions provider against a real server on loopback that can do everything wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from typing import Any

import anyio
import pytest

from support_models import all_closed
from toolwright.models.assembler import MessageAssembler
from toolwright.models.base import Event, HistoryMessage, ModelError, ModelRequest, Retry, ToolSpec
from toolwright.models.http import Timeouts
from toolwright.models.openai import OpenAIModel
from toolwright.models.openai_messages import ChatDialect
from toolwright.models.retry import with_retries
from toolwright.testing import ModelServer
from toolwright.testing.chat_dialect import (
    DONE,
    ChatHabits,
    chat_answer,
    chat_broken,
    chat_error_inside,
    chat_tool_turns,
    encode_chunk,
)
from toolwright.testing.messages_dialect import ToolCall, byte_by_byte, with_line_ends
from toolwright.testing.steps import Cut, Pause, Raw, Reset, Stall, Status, Step

pytestmark = pytest.mark.anyio

READ = ToolSpec("Read", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}})
CALL = ToolCall("Read", {"path": "naïve \u2028 file"}, "call_1")
KEY = "sk-very-secret-key"


def ask(words: str = "hi", **more: Any) -> ModelRequest:
    return ModelRequest("some-model", [HistoryMessage("user", [{"type": "text", "text": words}])], tools=(READ,), **more)


@contextmanager
def serving(*steps: Step, **options: Any) -> Iterator[tuple[ModelServer, OpenAIModel]]:
    with ModelServer(steps) as server:
        yield server, OpenAIModel(base_url=f"{server.url}/v1", **{"api_key": KEY, **options})


async def read(model: Any, request: ModelRequest | None = None, seen: list[Event] | None = None) -> list[Any]:
    """All events of the answer, and the model closed; `seen` also has them when it fails."""
    events = [] if seen is None else seen
    try:
        async with aclosing(model.stream(request or ask())) as stream:
            async for event in stream:
                events.append(event)
    finally:
        await model.aclose()
    return events


def blocks(events: list[Any]) -> list[dict[str, Any]]:
    assembler = MessageAssembler()
    return [block for event in events if (block := assembler.feed(event)) is not None]


def text_of(events: list[Any]) -> str:
    return "".join(event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta")


async def failure(step: Step, **options: Any) -> ModelError:
    with serving(step, **options) as (_, model), pytest.raises(ModelError) as caught:
        await read(model)
    return caught.value


async def test_a_request_has_the_right_address_headers_and_body() -> None:
    with serving(chat_answer("hello"), headers={"X-Team": "blue"}) as (server, model):
        await read(model, ask(max_tokens=7))
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["x-team"] == "blue"
    assert request.json["max_tokens"] == 7
    assert request.json["stream_options"] == {"include_usage": True}
    assert request.json["tools"][0]["function"]["name"] == "Read"


async def test_a_query_in_the_base_url_is_kept_behind_the_path() -> None:
    with ModelServer([chat_answer("x")]) as server:
        await read(OpenAIModel(base_url=f"{server.url}/deploy/?api-version=1"))
    assert server.requests[0].path == "/deploy/chat/completions?api-version=1"
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize(
    "step",
    [
        chat_answer("I read.", CALL),
        byte_by_byte(chat_answer("I read.", CALL)),
        with_line_ends(chat_answer("I read.", CALL), b"\r\n", before=b": hello\n\n"),
        with_line_ends(chat_answer("I read.", CALL), b"\r"),
        chat_answer("I read.", CALL, habits=ChatHabits(keep_alive=b": OPENROUTER PROCESSING\n\n")),
        chat_answer("I read.", CALL, habits=ChatHabits(done=False)),
        chat_answer("I read.", CALL, habits=ChatHabits(finish_reason=None)),
        chat_answer("I read.", CALL, habits=ChatHabits(streamed=False)),
        chat_answer("I read.", CALL, habits=ChatHabits(finish_reason="stop", usage="none", piece=0)),
    ],
    ids=["plain", "bytes", "crlf", "cr", "keep-alive", "no-done", "no-reason", "json", "no-usage"],
)
async def test_an_answer_comes_out_the_same_however_it_was_sent(step: Step) -> None:
    with serving(step) as (_, model):
        events = await read(model)
    said, call = blocks(events)
    assert said == {"type": "text", "text": "I read."}
    assert call == {"type": "tool_use", "id": "call_1", "name": "Read", "input": {"path": "naïve \u2028 file"}}
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-1] == {"type": "message_stop"}


@pytest.mark.parametrize(
    "ending",
    [[], [Cut()], [Reset()], [Cut(inside_chunk=False)]],
    ids=["end", "cut", "reset", "close"],
)
async def test_a_stream_that_breaks_after_its_finish_reason_is_complete(ending: list[Any]) -> None:
    whole = chat_answer("done", habits=ChatHabits(done=False, usage="with_finish"))
    with serving(Raw([*whole.chunks, *ending])) as (_, model):
        events = await read(model)
    assert text_of(events) == "done"
    assert events[-2]["usage"]["output_tokens"] == 5


async def test_a_server_that_stays_silent_after_its_finish_reason_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwright.models.openai.LAST_WORDS_SECONDS", 0.05)
    whole = chat_answer("done", habits=ChatHabits(done=False, usage="with_finish"))
    with serving(Raw([*whole.chunks, Stall()])) as (_, model):
        assert (await read(model))[-1] == {"type": "message_stop"}


async def test_a_connection_that_breaks_after_the_end_does_not_matter() -> None:
    with serving(Raw([*chat_answer("done").chunks, Reset()])) as (_, model):
        assert (await read(model))[-1] == {"type": "message_stop"}


@pytest.mark.parametrize("calls", [(), (CALL,)], ids=["text", "call"])
async def test_a_stream_that_just_ends_is_truncated_and_its_text_was_given_out(calls: tuple[ToolCall, ...]) -> None:
    seen: list[Event] = []
    with serving(chat_broken("half", calls=calls)) as (_, model), pytest.raises(ModelError) as caught:
        await read(model, seen=seen)
    assert (caught.value.kind, caught.value.retryable) == ("truncated", False)
    assert text_of(seen) == "half"
    assert seen[-1]["type"] != "message_stop"


async def test_an_empty_answer_is_truncated_and_may_be_asked_again() -> None:
    error = await failure(Raw([]))
    assert (error.kind, error.retryable) == ("truncated", True)


@pytest.mark.parametrize("action", [Reset(), Cut(), Cut(inside_chunk=False)], ids=["reset", "cut", "close"])
async def test_a_connection_lost_in_the_middle_is_a_connection_error(action: Any) -> None:
    seen: list[Event] = []
    with serving(chat_broken("half", action)) as (_, model), pytest.raises(ModelError) as caught:
        await read(model, seen=seen)
    assert caught.value.kind == "connection"
    assert text_of(seen) == "half"


async def test_silence_is_a_timeout() -> None:
    error = await failure(chat_broken("half", Stall()), timeouts=Timeouts(idle=0.1))
    assert error.kind == "timeout"


async def test_keep_alive_lines_do_not_give_new_time() -> None:
    lines = [piece for _ in range(40) for piece in (Pause(0.05), b": still working\n\n")]
    error = await failure(chat_broken("half", *lines, Stall()), timeouts=Timeouts(idle=0.3))
    assert error.kind == "timeout"
    assert "keep-alive" in str(error)


@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable"),
    [
        (400, {"error": {"message": "bad", "type": "invalid_request_error"}}, "invalid_request", False),
        (401, {"error": {"message": f"wrong key {KEY}"}}, "authentication_failed", False),
        (402, {"error": {"message": "pay"}}, "billing_error", False),
        (403, {"error": {"message": "no"}}, "authentication_failed", False),
        (404, {"error": {"message": "no such model", "code": "model_not_found"}}, "model_not_found", False),
        (408, {"error": {"message": "slow"}}, "timeout", True),
        (413, b"too large", "prompt_too_long", False),
        (429, {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, "rate_limit", True),
        (429, {"error": {"message": "quota", "code": "insufficient_quota"}}, "billing_error", False),
        (500, b"<html>oops</html>", "server_error", True),
        (502, b"", "server_error", True),
        (503, {"error": {"message": "busy"}}, "server_error", True),
        (529, {"error": {"message": "busy"}}, "overloaded", True),
        (400, {"error": {"message": "m", "code": "context_length_exceeded"}}, "prompt_too_long", False),
        (
            400,
            {"error": {"message": "request (8031 tokens) exceeds the available context size (2048 tokens)", "code": 400}},
            "prompt_too_long",
            False,
        ),
        (400, {"object": "error", "message": "This model's maximum context length is 4096"}, "prompt_too_long", False),
    ],
)
async def test_refusals_by_status_and_words(status: int, body: Any, kind: str, retryable: bool) -> None:
    error = await failure(Status(status, {"x-request-id": "req_1"}, body))
    assert (error.kind, error.retryable, error.status, error.request_id) == (kind, retryable, status, "req_1")
    assert KEY not in str(error)


async def test_a_refusal_says_how_long_to_wait() -> None:
    assert (await failure(Status(429, {"retry-after-ms": "1500"}))).retry_after == 1.5


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        ({"message": "Overloaded", "code": 529}, "overloaded", True),
        ({"message": "slow down", "code": 429}, "rate_limit", True),
        ({"message": "slow down", "code": "429"}, "rate_limit", True),
        ({"message": "internal", "type": "server_error"}, "server_error", True),
        ({"message": "exceeds the available context size", "code": 500}, "prompt_too_long", False),
        (f"plain words with {KEY}", "unknown", False),
    ],
)
async def test_an_error_inside_a_stream_keeps_the_text_before_it(error: Any, kind: str, retryable: bool) -> None:
    step = chat_error_inside(error, after="half")
    together = Raw([b"".join(chunk for chunk in step.chunks if isinstance(chunk, bytes))])
    for variant in (step, together):
        seen: list[Event] = []
        with serving(variant) as (_, model), pytest.raises(ModelError) as caught:
            await read(model, seen=seen)
        assert (caught.value.kind, caught.value.retryable) == (kind, retryable)
        assert text_of(seen) == "half"
        assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "chunk",
    [
        b"event: error\ndata: boom\n\n",
        b'data: {"object": "error", "message": "boom"}\n\n',
        b'data: "boom"\n\n',
        b'{"error": "boom"}',
    ],
)
async def test_other_shapes_of_an_error_are_errors_too(chunk: bytes) -> None:
    assert "boom" in str(await failure(Raw([chunk])))


@pytest.mark.parametrize(
    "chunk", [b"data: {not json\n\n", b"{not json", b'{"choices": []}', b"data: " + b"[" * 100_000 + b"\n\n"]
)
async def test_answers_that_make_no_sense_are_server_errors(chunk: bytes) -> None:
    error = await failure(Raw([chunk]))
    assert (error.kind, error.retryable) == ("server_error", True)


async def test_a_line_of_five_megabytes_is_read() -> None:
    words = "x" * 5_000_000
    with serving(chat_answer(words, habits=ChatHabits(piece=0))) as (_, model):
        assert len(text_of(await read(model))) == len(words)


async def test_a_missing_v1_is_pointed_out() -> None:
    with ModelServer([Status(404, body=b"not found")]) as server, pytest.raises(ModelError, match="ends in /v1"):
        await read(OpenAIModel(base_url=server.url))


async def test_a_server_that_is_not_there_is_a_connection_error() -> None:
    with ModelServer([]) as server:
        url = server.url
    with pytest.raises(ModelError) as caught:
        await read(OpenAIModel(base_url=url))
    assert (caught.value.kind, caught.value.retryable) == ("connection", True)


async def test_openai_itself_is_not_asked_without_a_key() -> None:
    with pytest.raises(ModelError, match="OPENAI_API_KEY") as caught:
        await read(OpenAIModel())
    assert caught.value.kind == "authentication_failed"


@pytest.mark.parametrize("key", ["with\nbreak", "trailing-blank ", "schlüssel"])
async def test_a_key_that_cannot_be_a_header_is_named_and_not_shown(key: str) -> None:
    with serving(chat_answer("x"), api_key=key) as (server, model), pytest.raises(ModelError, match="API key") as caught:
        await read(model)
    assert not server.requests
    assert key not in str(caught.value)


async def test_the_key_is_not_in_the_repr() -> None:
    assert KEY not in repr(OpenAIModel(api_key=KEY, headers={"x": KEY}))


async def test_openai_itself_wants_max_completion_tokens() -> None:
    assert OpenAIModel()._dialect == ChatDialect(max_tokens_field="max_completion_tokens")


async def test_it_is_asked_again_when_nothing_had_come() -> None:
    async def no_wait(_: float) -> None: ...

    with serving(Status(503), chat_error_inside({"message": "m", "code": 503}), chat_answer("at last")) as (server, model):
        events = await read(with_retries(model, sleep=no_wait))
    assert [event.error.kind for event in events if isinstance(event, Retry)] == ["server_error", "server_error"]
    assert text_of([event for event in events if not isinstance(event, Retry)]) == "at last"
    assert len({request.raw for request in server.requests}) == 1


async def test_stopping_in_the_middle_closes_the_connection() -> None:
    with serving(chat_broken("x" * 100, Stall()), chat_answer("later")) as (server, model):
        async with aclosing(model.stream(ask())) as stream:
            async for event in stream:
                if isinstance(event, dict) and event["type"] == "content_block_delta":
                    break
        await all_closed(server)
        assert text_of(await read(model)) == "later"
        await all_closed(server)


async def test_cancelling_while_it_waits_closes_the_connection() -> None:
    with serving(Raw([Stall()])) as (server, model):
        with anyio.move_on_after(0.2) as scope:
            await read(model)
        assert scope.cancelled_caught
        await all_closed(server)


async def test_many_requests_at_once_do_not_mix() -> None:
    def echo(request: Any) -> Step:
        return chat_answer(request.json["messages"][-1]["content"])

    answers: dict[int, str] = {}
    with ModelServer(echo) as server:
        model = OpenAIModel(base_url=server.url)

        async def one(number: int) -> None:
            async with aclosing(model.stream(ask(f"number {number}"))) as stream:
                answers[number] = text_of([event async for event in stream])

        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(one, number)
        await model.aclose()
    assert answers == {number: f"number {number}" for number in range(50)}


async def test_tool_turns_serve_any_conversation() -> None:
    with ModelServer(chat_tool_turns(CALL, "finished")) as server:
        first = await read(OpenAIModel(base_url=server.url))
        history = [
            *ask().messages,
            HistoryMessage("assistant", blocks(first)),
            HistoryMessage("user", [{"type": "tool_result", "tool_use_id": "call_1", "content": "ok"}]),
        ]
        second = await read(OpenAIModel(base_url=server.url), ModelRequest("m", history))
    assert blocks(first)[0]["name"] == "Read"
    assert text_of(second) == "finished"


async def test_an_error_chunk_after_done_is_not_read() -> None:
    with serving(Raw([*chat_answer("fine").chunks[:-1], DONE + encode_chunk({"error": "late"})])) as (_, model):
        assert text_of(await read(model)) == "fine"
