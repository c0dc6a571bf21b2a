"""What the Messages API provider sends: body, cache breakpoints, headers; and what it makes of refusals."""

from __future__ import annotations

import itertools
from typing import Any

import anyio
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_models import ask, drain, text_of, user
from toolwright.models import messages_request
from toolwright.models.anthropic import AnthropicModel
from toolwright.models.api_errors import retry_after
from toolwright.models.base import HistoryMessage, ModelError, ModelRequest, ToolSpec
from toolwright.models.messages_request import MARK, encode_tools, request_body
from toolwright.testing import ModelServer, Raw, Status, ToolCall, answer

TOOLS = (ToolSpec("Read", "Read a file.", {"type": "object", "properties": {"file_path": {"type": "string"}}}),)
EPHEMERAL = {"type": "ephemeral"}


def assistant(*content: dict[str, Any]) -> HistoryMessage:
    return HistoryMessage("assistant", list(content))


def results(*ids: str) -> HistoryMessage:
    return HistoryMessage(
        "user", [{"type": "tool_result", "tool_use_id": name, "content": f"result of {name}"} for name in ids]
    )


def call(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Read", "input": {"file_path": "/x"}}


def body(request: ModelRequest) -> Any:
    return msgspec.json.decode(request_body(request))


def marked(value: Any) -> int:
    """How many blocks carry a breakpoint, at any depth."""
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(marked(item) for item in value.values())
    return sum(marked(item) for item in value) if isinstance(value, list) else 0


# the body


def test_the_body_has_what_was_asked_for() -> None:
    request = ask(
        "hi",
        model="claude-opus-4-5",
        system="Be kind.",
        tools=TOOLS,
        thinking={"type": "adaptive", "display": None},
        effort="high",
    )
    assert body(request) == {
        "model": "claude-opus-4-5",
        "max_tokens": 32_000,
        "stream": True,
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "high"},
        "tools": [
            {"name": "Read", "description": "Read a file.", "input_schema": TOOLS[0].input_schema, "cache_control": EPHEMERAL}
        ],
        "system": [{"type": "text", "text": "Be kind.", "cache_control": EPHEMERAL}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": EPHEMERAL}]}],
    }


def test_what_is_empty_is_left_out() -> None:
    assert set(body(ask("hi"))) == {"model", "max_tokens", "stream", "messages"}


@pytest.mark.parametrize(
    ("model", "thinking", "given_tokens", "expected"),
    [
        ("claude-3-opus-20240229", None, None, 4096),
        ("claude-opus-4-5", None, None, 32_000),
        ("claude-unheard-of", None, None, 32_000),
        ("claude-opus-4-5", None, 100, 100),
        ("claude-opus-4-5", {"type": "enabled", "budget_tokens": 40_000}, None, 48_000),
        ("claude-opus-4-5", {"type": "enabled", "budget_tokens": 60_000}, None, 64_000),
        ("claude-opus-4-5", {"type": "enabled", "budget_tokens": 90_000}, None, 90_001),
    ],
)
def test_max_tokens_fits_the_model_and_leaves_room_beside_thinking(
    model: str, thinking: dict[str, Any] | None, given_tokens: int | None, expected: int
) -> None:
    assert body(ask("hi", model=model, thinking=thinking, max_tokens=given_tokens))["max_tokens"] == expected


def test_only_fields_of_the_api_are_sent() -> None:
    private = {"_private": 1, "cache_control": EPHEMERAL, "tool_use_result": {"x": 1}, "uuid": "u"}
    content: list[dict[str, Any]] = [
        {"type": "text", "text": "t", **private},
        {"type": "tool_use", "id": "a", "name": "n", "input": {}, **private},
        {
            "type": "tool_result",
            "tool_use_id": "a",
            "content": [{"type": "text", "text": "x", **private}],
            "is_error": None,
            **private,
        },
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aa"}, **private},
        {"type": "document", "source": {"type": "url", "url": "u"}, "title": "t", **private},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": [], **private},
        {"type": "invented_tool", "id": "i", "input": {"any": 1}, **private},
    ]
    sent = body(ask(messages=[HistoryMessage("user", content), user("last")]))["messages"][0]["content"]
    assert sent == [
        {"type": "text", "text": "t"},
        {"type": "tool_use", "id": "a", "name": "n", "input": {}},
        {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "x"}]},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aa"}},
        {"type": "document", "source": {"type": "url", "url": "u"}, "title": "t"},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
        {"type": "invented_tool", "id": "i", "input": {"any": 1}, "cache_control": EPHEMERAL},
    ]


def test_what_the_api_would_refuse_is_not_sent() -> None:
    messages = [
        user("hi"),
        assistant({"type": "thinking", "thinking": "cut off"}, {"type": "text", "text": ""}, call("a")),
        HistoryMessage("user", [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": ""}]}]),
        assistant({"type": "thinking", "thinking": "kept", "signature": "s"}, {"type": "text", "text": " \n"}),
        assistant({"type": "text", "text": ""}),
        user("go on"),
    ]
    sent = body(ask(messages=messages))["messages"]
    assert [[block["type"] for block in message["content"]] for message in sent] == [
        ["text"],
        ["tool_use"],
        ["tool_result"],
        ["thinking"],
        ["text"],
    ]
    assert sent[2]["content"][0]["content"] == ""


def test_half_a_surrogate_pair_does_not_stop_a_conversation() -> None:
    assert body(ask("a \ud800 b \ud83d\ude00"))["messages"][0]["content"][0]["text"] == "a \ufffd b \U0001f600"


def test_what_is_not_json_is_named() -> None:
    with pytest.raises(ModelError, match="not JSON") as caught:
        request_body(ask(messages=[HistoryMessage("user", [{"type": "text", "text": "x", "citations": object()}])]))
    assert caught.value.kind == "invalid_request"


# the cache


def grow() -> list[ModelRequest]:
    """The requests of a conversation with prompts, parallel calls, images and thinking."""
    history: list[HistoryMessage] = []
    requests = []
    for turn in range(6):
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
        first = (
            HistoryMessage("user", [{"type": "text", "text": f"prompt {turn}"}, image]) if turn % 2 else user(f"prompt {turn}")
        )
        thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
        for message in (
            first,
            assistant(thought, call(f"a{turn}"), call(f"b{turn}")),
            results(f"a{turn}", f"b{turn}"),
            assistant(thought),
        ):
            history.append(message)
            if message.role == "user":
                requests.append(ask(messages=list(history), system="S" * 50, tools=TOOLS))
    return requests


def test_each_request_begins_with_the_one_before_it_up_to_its_last_breakpoint() -> None:
    for earlier, later in itertools.pairwise(request_body(request) for request in grow()):
        prefix = earlier[: earlier.rindex(MARK)].replace(MARK, b"")
        assert later.replace(MARK, b"").startswith(prefix)


def test_there_are_never_more_than_four_breakpoints_and_always_two_in_a_growing_conversation() -> None:
    for number, request in enumerate(grow()):
        sent = body(request)
        assert marked(sent["tools"]) == marked(sent["system"]) == 1
        assert marked(sent["messages"]) == (1 if number == 0 else 2)
        users = [message for message in sent["messages"] if message["role"] == "user"]
        assert all("cache_control" in message["content"][-1] for message in users[-2:])


def test_an_old_message_is_not_encoded_again() -> None:
    requests = grow()
    request_body(requests[-1])
    bytes_before = [message.encoded["anthropic"] for message in requests[-1].messages]
    request_body(requests[-1])
    assert all(message.encoded["anthropic"] is kept for message, kept in zip(requests[-1].messages, bytes_before, strict=True))


def test_sessions_with_equal_tools_share_their_bytes() -> None:
    twin = (ToolSpec("Read", "Read a file.", {"type": "object", "properties": {"file_path": {"type": "string"}}}),)
    assert encode_tools(TOOLS) is encode_tools(TOOLS)
    assert encode_tools(twin) is encode_tools(TOOLS)
    assert encode_tools((ToolSpec("Read", "Another text.", {}),)) != encode_tools(TOOLS)


def test_the_cache_of_toolsets_is_bounded() -> None:
    for number in range(200):
        encode_tools((ToolSpec(f"T{number}", "", {}),))
    assert len(messages_request._toolsets) <= messages_request.MAX_CACHED_TOOLSETS


TEXT = st.text(max_size=20)
BLOCKS = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, TEXT),
    st.builds(lambda text: {"type": "thinking", "thinking": text, "signature": "s"}, TEXT),
    st.builds(lambda text: {"type": "tool_use", "id": text, "name": "n", "input": {"x": text}}, TEXT),
    st.builds(lambda text: {"type": "tool_result", "tool_use_id": text, "content": [{"type": "text", "text": text}]}, TEXT),
)
HISTORIES = st.lists(
    st.builds(HistoryMessage, st.sampled_from(["user", "assistant"]), st.lists(BLOCKS, max_size=3)), max_size=8
)


@given(HISTORIES)
def test_every_history_becomes_valid_json_with_few_breakpoints(messages: list[HistoryMessage]) -> None:
    sent = body(ask(messages=messages, system="s", tools=TOOLS))
    assert marked(sent) <= 4
    for message in sent["messages"]:
        assert message["content"]
        assert all(block.get("text", "x").strip() for block in message["content"])


# headers


@pytest.mark.anyio
async def test_headers_say_who_asks_and_for_what() -> None:
    with ModelServer(answer("ok")) as server:
        model = AnthropicModel(
            base_url=f"{server.url}/gateway/v1/", api_key="sk-1", headers={"User-Agent": "mine/1", "X-Extra": "yes"}
        )
        await drain(model, ask(betas=("a-1", "b-2"), session_id="s-1"))
        seen = server.requests[0]
        assert seen.path == "/gateway/v1/messages?beta=true"
        expected = {
            "x-api-key": "sk-1",
            "anthropic-version": "2023-06-01",
            "anthropic-beta": "a-1,b-2",
            "x-claude-code-session-id": "s-1",
            "user-agent": "mine/1",
            "x-extra": "yes",
            "content-type": "application/json",
            "accept-encoding": "identity",
            "host": f"127.0.0.1:{server.port}",
        }
        assert {name: seen.headers.get(name) for name in expected} == expected
        assert "authorization" not in seen.headers
        await model.aclose()


@pytest.mark.anyio
async def test_a_token_goes_before_a_key_and_a_gateway_may_need_none() -> None:
    with ModelServer(answer("ok")) as server:
        both, none = AnthropicModel(base_url=server.url, api_key="k", auth_token="t"), AnthropicModel(base_url=server.url)
        for model in (both, none):
            await drain(model, ask())
            await model.aclose()
        first, second = server.requests
        assert (first.headers.get("authorization"), first.headers.get("x-api-key")) == ("Bearer t", None)
        assert (second.headers.get("authorization"), second.headers.get("x-api-key")) == (None, None)


@pytest.mark.anyio
async def test_without_a_key_nothing_is_sent_to_the_api() -> None:
    _, _, error = await drain(AnthropicModel(), ask())
    assert error is not None
    assert error.kind == "authentication_failed"
    assert "ANTHROPIC_API_KEY" in str(error)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"api_key": "sk-secret\n"}, "The API key"),
        ({"api_key": "sk-sécret"}, "The API key"),
        ({"auth_token": "to ken\r\nx: y"}, "The API key or token"),
        ({"api_key": "k", "headers": {"X-A": "a\r\nb"}}, "The header x-a"),
        ({"api_key": "k", "headers": {"X A": "a"}}, "'x a'"),
    ],
)
async def test_a_header_that_cannot_be_sent_is_named_without_its_value(more: dict[str, Any], named: str) -> None:
    with ModelServer(answer("ok")) as server:
        model = AnthropicModel(base_url=server.url, **more)
        _, _, error = await drain(model, ask())
        assert error is not None
        assert error.kind == "invalid_request"
        assert named in str(error)
        assert "cret" not in str(error)
        assert not server.requests
        await model.aclose()


# refusals


@pytest.mark.anyio
async def test_an_error_text_never_shows_the_key() -> None:
    echo = Status(401, body={"error": {"type": "authentication_error", "message": "bad key sk-secret-1"}})
    inside = Raw([b'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"sk-secret-1 is odd"}}\n\n'])
    with ModelServer([echo, inside]) as server:
        model = AnthropicModel(base_url=server.url, api_key="sk-secret-1")
        for _ in range(2):
            _, _, error = await drain(model, ask())
            assert error is not None
            assert "secret" not in str(error)
            assert "[the key]" in str(error)
        await model.aclose()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "kind", "text"),
    [
        (
            Status(400, body={"error": {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens"}}),
            "prompt_too_long",
            "too long",
        ),
        (
            Status(400, body={"error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}}),
            "billing_error",
            "credit",
        ),
        (Status(502, body=b"<html>Bad gateway</html>"), "server_error", "<html>Bad gateway</html>"),
        (Status(500, body=b""), "server_error", "no text"),
        (Status(404, body={"error": {"type": "not_found_error", "message": "model: claude-9"}}), "model_not_found", "claude-9"),
        (Status(302, {"location": "/login"}, b"moved"), "invalid_request", "302"),
        (Status(200, body={"ok": True}), "invalid_request", "right base URL"),
        (Status(500, body=b"\xff\xfe" * 10), "server_error", "500"),
        (Status(500, body=b"x" * 5000), "server_error", "3000 more characters"),
    ],
)
async def test_refusals_are_told_by_kind_and_text(status: Status, kind: str, text: str) -> None:
    with ModelServer([status]) as server:
        model = AnthropicModel(base_url=server.url, api_key="k")
        _, _, error = await drain(model, ask())
        assert error is not None
        assert (error.kind, error.status) == (kind, status.code)
        assert text in str(error)
        await model.aclose()


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"retry-after": "12"}, 12, 12),
        ({"retry-after": "1.5"}, 1.5, 1.5),
        ({"retry-after-ms": "250", "retry-after": "12"}, 0.25, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0, 0),
        ({"retry-after": "Fri, 31 Dec 2999 23:59:59 GMT"}, 1e9, 1e12),
    ],
)
def test_retry_after_is_read_in_every_form(headers: dict[str, str], least: float, most: float) -> None:
    seconds = retry_after(headers)
    assert seconds is not None
    assert least <= seconds <= most


@pytest.mark.parametrize("value", ["", "soon", "-3", "nan", "inf", "1e999"])
def test_a_retry_after_that_makes_no_sense_is_none(value: str) -> None:
    assert retry_after({"retry-after": value}) is None


# many at once


@pytest.mark.anyio
async def test_one_model_serves_many_sessions_at_once() -> None:
    with ModelServer(lambda request: answer(request.json["messages"][0]["content"][0]["text"], ToolCall("Read"))) as server:
        model = AnthropicModel(base_url=server.url, api_key="k")
        heard: dict[int, str] = {}

        async def session(number: int) -> None:
            events, _, error = await drain(model, ask(f"I am session {number}"))
            assert error is None
            heard[number] = text_of(events)

        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(session, number)
        assert heard == {number: f"I am session {number}" for number in range(50)}
        await model.aclose()


def test_one_model_may_be_used_in_one_event_loop_after_another(anyio_backend: str) -> None:
    with ModelServer(answer("ok")) as server:
        model = AnthropicModel(base_url=server.url, api_key="k")

        async def once() -> str:
            events, _, _ = await drain(model, ask())
            await model.aclose()
            return text_of(events)

        assert [anyio.run(once, backend=anyio_backend) for _ in range(3)] == ["ok"] * 3
