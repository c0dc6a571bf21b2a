"""The history as chat messages: what is sent, and that nothing old is encoded again."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from inline_snapshot import snapshot

from toolwright.models.base import HistoryMessage, ModelError, ModelRequest, ToolSpec
from toolwright.models.openai_messages import ChatDialect, chat_messages, request_body, tool_names, wire_name

PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}


def user(*content: dict[str, Any]) -> HistoryMessage:
    return HistoryMessage("user", list(content))


def assistant(*content: dict[str, Any]) -> HistoryMessage:
    return HistoryMessage("assistant", list(content))


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def result(call_id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def sent(request: ModelRequest, **dialect: Any) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.json.decode(request_body(request, ChatDialect(**dialect)))
    return body


def test_a_whole_conversation_with_tools_and_pictures() -> None:
    history = [
        user(text("Look at this"), PICTURE),
        assistant(
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            text("I read it."),
            {"type": "tool_use", "id": "call_1", "name": "Read", "input": {"path": "ä"}},
            {"type": "tool_use", "id": "call_2", "name": "Bash", "input": {}},
        ),
        user(result("call_1", [text("two lines"), PICTURE]), result("call_2", "no such file", is_error=True), text("Go on")),
    ]
    read = ToolSpec("Read", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
    request = ModelRequest("gpt", history, "Be brief.", (read,), max_tokens=100, effort="high")
    assert sent(request) == snapshot(
        {
            "model": "gpt",
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": 100,
            "reasoning_effort": "high",
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "Read",
                        "description": "Reads a file.",
                        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
                    },
                }
            ],
            "messages": [
                {"role": "system", "content": "Be brief."},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Look at this"},
                        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
                    ],
                },
                {
                    "role": "assistant",
                    "content": "I read it.",
                    "tool_calls": [
                        {"id": "call_1", "type": "function", "function": {"name": "Read", "arguments": '{"path":"ä"}'}},
                        {"id": "call_2", "type": "function", "function": {"name": "Bash", "arguments": "{}"}},
                    ],
                },
                {
                    "role": "tool",
                    "tool_call_id": "call_1",
                    "content": "two lines\n[Image 1 is in the user message that follows.]",
                },
                {"role": "tool", "tool_call_id": "call_2", "content": "Error: no such file"},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Image 1, from the result of tool call call_1:"},
                        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
                        {"type": "text", "text": "Go on"},
                    ],
                },
            ],
        }
    )


def test_old_messages_are_not_encoded_again() -> None:
    history = [user(text("one")), assistant(text("two")), user(text("three"))]
    request_body(ModelRequest("m", history), ChatDialect())
    history[0].encoded["openai"] = b'{"role":"user","content":"kept"}'
    assert sent(ModelRequest("m", history))["messages"][0] == {"role": "user", "content": "kept"}


def test_the_smallest_request_has_no_fields_that_nobody_asked_for() -> None:
    assert sent(ModelRequest("m", [user(text("hi"))])).keys() == {"model", "stream", "stream_options", "messages"}


def test_the_dialect_names_the_limit_and_adds_fields() -> None:
    request = ModelRequest("m", [user(text("hi"))], max_tokens=5, effort="max")
    body = sent(request, max_tokens_field="max_completion_tokens", extra_body={"temperature": 0})
    assert (body["max_completion_tokens"], body["temperature"], body["reasoning_effort"]) == (5, 0, "xhigh")
    assert "max_tokens" not in body


def test_extra_fields_cannot_replace_the_conversation() -> None:
    with pytest.raises(ValueError, match="messages, stream"):
        ChatDialect(extra_body={"stream": False, "messages": []})


def test_reasoning_is_sent_back_only_when_asked_for() -> None:
    thought = assistant({"type": "thinking", "thinking": "because", "signature": ""}, text("yes"))
    assert "reasoning_content" not in sent(ModelRequest("m", [thought]))["messages"][0]
    assert sent(ModelRequest("m", [thought]), echo_reasoning=True)["messages"][0]["reasoning_content"] == "because"


def test_a_message_with_nothing_to_send_is_left_out() -> None:
    history = [
        user(text("hi")),
        assistant({"type": "thinking", "thinking": "hm", "signature": ""}),
        user(text("")),
        user(text("so?")),
    ]
    assert [message["content"] for message in sent(ModelRequest("m", history))["messages"]] == ["hi", "so?"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"type": "text", "media_type": "text/plain", "data": "inside"}, '[Document "Plan"]\ninside\n[End of document]'),
        ({"type": "content", "content": [text("a"), text("b")]}, '[Document "Plan"]\na\nb\n[End of document]'),
        ({"type": "content", "content": "a"}, '[Document "Plan"]\na\n[End of document]'),
        (
            {"type": "base64", "media_type": "application/pdf", "data": "QUJD"},
            '[Document "Plan" (application/pdf, about 3 bytes) stood here; this model\'s API cannot receive it.]',
        ),
        (
            {"type": "url", "url": "https://example.com/x.pdf"},
            '[Document "Plan" at https://example.com/x.pdf; this model\'s API cannot receive the document itself.]',
        ),
    ],
)
def test_documents_are_put_into_words(source: dict[str, Any], expected: str) -> None:
    assert chat_messages(user({"type": "document", "title": "Plan", "source": source})) == [
        {"role": "user", "content": expected}
    ]


def test_what_the_chat_api_cannot_carry_is_said() -> None:
    (message,) = chat_messages(assistant({"type": "server_tool_use", "name": "web_search"}))
    assert message["content"] == "[A block of type 'server_tool_use' stood here; this model's API cannot receive it.]"


def test_pictures_by_address_and_without_one() -> None:
    address = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    (message,) = chat_messages(user(address, {"type": "image", "source": {"type": "file", "file_id": "f"}}))
    assert message["content"][0] == {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    assert "cannot receive it" in message["content"][1]["text"]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (result("c", ""), "(no output)"),
        (result("c", None), "(no output)"),
        (result("c", [], is_error=True), "Error: (no output)"),
        (result("c", "Error: boom", is_error=True), "Error: boom"),
        (result("c", [text("a"), text("b")]), "a\nb"),
    ],
)
def test_tool_results_as_text(block: dict[str, Any], expected: str) -> None:
    assert chat_messages(user(block)) == [{"role": "tool", "tool_call_id": "c", "content": expected}]


def test_names_the_chat_api_forbids_get_one_of_their_own() -> None:
    long, dotted = "mcp__" + "x" * 80, "my.tool"
    tools = tuple(ToolSpec(name, "", {}) for name in (long, dotted, "Read"))
    wire = [wire_name(tool.name) for tool in tools]
    assert wire[2] == "Read"
    assert all(len(name) <= 64 and name.replace("_", "").isalnum() for name in wire)
    assert wire_name("my/tool") != wire_name(dotted)
    assert tool_names(tools) == dict(zip(wire, (long, dotted, "Read"), strict=True))
    body = sent(ModelRequest("m", [assistant({"type": "tool_use", "id": "1", "name": dotted, "input": {}})], tools=tools))
    assert body["messages"][0]["tool_calls"][0]["function"]["name"] == wire[1]
    assert [tool["function"]["name"] for tool in body["tools"]] == wire


def test_a_schema_without_type_and_properties_gets_them() -> None:
    (tool,) = sent(ModelRequest("m", [], tools=(ToolSpec("Ping", "", {}),)))["tools"]
    assert tool["function"]["parameters"] == {"type": "object", "properties": {}}


def test_half_a_character_does_not_stop_the_request() -> None:
    (message,) = sent(ModelRequest("m", [user(text("a\ud800b"))]))["messages"]
    assert message["content"] == "a?b"


def test_content_that_is_no_json_is_a_model_error() -> None:
    with pytest.raises(ModelError, match="not JSON"):
        request_body(
            ModelRequest("m", [assistant({"type": "tool_use", "id": "1", "name": "x", "input": {"a": object()}})]),
            ChatDialect(),
        )
