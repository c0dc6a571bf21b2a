"""Events become blocks; nothing a server sends makes the assembler raise."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.models.assembler import MessageAssembler, parse_tool_input
from toolwright.testing.messages_dialect import Message, ToolCall, message_events


def assemble(events: list[dict[str, Any]]) -> tuple[MessageAssembler, list[dict[str, Any]]]:
    assembler = MessageAssembler()
    blocks = [block for event in events if (block := assembler.feed(event)) is not None]
    return assembler, blocks


def test_an_answer_becomes_its_blocks() -> None:
    usage = {"input_tokens": 7, "output_tokens": 9, "cache_read_input_tokens": 3, "cache_creation_input_tokens": None}
    call = ToolCall("Read", {"file_path": "/a", "limit": 3}, "toolu_1")
    assembler, blocks = assemble(message_events(Message("Hello " * 20, (call,), "Let me see. " * 5, usage, "claude-x")))
    assert blocks == [
        {"type": "thinking", "thinking": "Let me see. " * 5, "signature": "c2lnbmVk"},
        {"type": "text", "text": "Hello " * 20},
        {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "/a", "limit": 3}},
    ]
    assert assembler.message_id.startswith("msg_")
    assert (assembler.model, assembler.stop_reason) == ("claude-x", "tool_use")
    assert assembler.usage == {**usage, "output_tokens": 9}
    assert assembler.invalid_inputs == {}
    assert assembler.partial_blocks() == []


def test_a_null_in_the_last_usage_keeps_the_first_count() -> None:
    assembler, _ = assemble(
        [
            {"type": "message_start", "message": {"id": "m", "model": "x", "usage": {"input_tokens": 5}}},
            {"type": "message_delta", "delta": {}, "usage": {"input_tokens": None, "output_tokens": 2}},
        ]
    )
    assert assembler.usage == {"input_tokens": 5, "output_tokens": 2}


def test_blocks_of_server_tools_and_citations_pass() -> None:
    result = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result", "url": "u"}]}
    _, blocks = assemble(
        [
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
            },
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"query":"x"}'}},
            {"type": "content_block_stop", "index": 0},
            {"type": "content_block_start", "index": 1, "content_block": result},
            {"type": "content_block_stop", "index": 1},
            {"type": "content_block_start", "index": 2, "content_block": {"type": "redacted_thinking", "data": "abc"}},
            {"type": "content_block_stop", "index": 2},
            {"type": "content_block_start", "index": 3, "content_block": {"type": "text", "text": "", "citations": None}},
            {"type": "content_block_delta", "index": 3, "delta": {"type": "citations_delta", "citation": {"url": "u"}}},
            {"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta", "text": "hi"}},
            {"type": "content_block_stop", "index": 3},
        ]
    )
    assert blocks[0]["input"] == {"query": "x"}
    assert blocks[1:3] == [result, {"type": "redacted_thinking", "data": "abc"}]
    assert blocks[3] == {"type": "text", "text": "hi", "citations": [{"url": "u"}]}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"file_path": "/a', "truncated"),
        ('["/a"]', "a list"),
        ('"text"', "a string"),
        ("null", "null"),
        ("12", "a number"),
        ('{"a": NaN}', "invalid"),
        ('{"a": Infinity}', "invalid"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "'c' is there twice"),
        ('{"a": 1} trailing', "trailing"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_bad_tool_input_is_explained_and_never_half_used(text: str, fault: str) -> None:
    assembler, blocks = assemble(message_events(Message("", (ToolCall("Read", id="toolu_1", input_text=text),))))
    assert blocks == [{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}]
    assert fault in assembler.invalid_inputs["toolu_1"]


def test_a_call_whose_input_comes_at_once_or_not_at_all_is_read() -> None:
    start = {"type": "tool_use", "id": "t", "name": "Read", "input": {"a": 1}}
    _, blocks = assemble(
        [{"type": "content_block_start", "index": 0, "content_block": start}, {"type": "content_block_stop", "index": 0}]
    )
    assert blocks[0]["input"] == {"a": 1}
    _, blocks = assemble(message_events(Message("", (ToolCall("Now", input_text=""),))))
    assert blocks[0]["input"] == {}


def test_ten_megabytes_of_input_are_read() -> None:
    value, fault = parse_tool_input('{"content": "' + "x" * 10_000_000 + '"}')
    assert fault is None
    assert value is not None
    assert len(value["content"]) == 10_000_000


def test_missing_and_repeated_ids_do_not_matter_here() -> None:
    bad, twin = ToolCall("A", id=None, input_text="{"), ToolCall("B", {"x": 1}, "same")
    assembler, blocks = assemble(message_events(Message("", (bad, twin, twin))))
    assert [block.get("id") for block in blocks] == [None, "same", "same"]
    assert list(assembler.invalid_inputs) == [None]


def test_what_is_unfinished_leaves_its_text_only() -> None:
    events = message_events(Message("some text that is long enough for two", (ToolCall("Read", {"a": 1}),), "thought"))
    stops = [position for position, event in enumerate(events) if event["type"] == "content_block_stop"]
    thinking, _ = assemble(events[: stops[0]])
    assert thinking.partial_blocks() == []
    text, _ = assemble(events[: stops[1] - 1])
    assert text.partial_blocks() == [{"type": "text", "text": "some text that is long e"}]
    call, _ = assemble(events[: stops[2]])
    assert call.partial_blocks() == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
ODD_EVENTS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "new"]
        )
    },
    optional={
        "index": st.integers(0, 2) | JSON,
        "message": JSON,
        "usage": JSON,
        "content_block": JSON
        | st.fixed_dictionaries(
            {"type": st.sampled_from(["text", "tool_use", "thinking", "x"])}, optional={"id": JSON, "input": JSON}
        ),
        "delta": JSON
        | st.fixed_dictionaries(
            {"type": st.sampled_from(["text_delta", "input_json_delta", "signature_delta", "citations_delta", "x"])},
            optional={"text": JSON, "partial_json": JSON, "signature": JSON},
        ),
    },
)


@given(st.lists(ODD_EVENTS, max_size=12))
def test_no_sequence_of_events_makes_it_raise(events: list[dict[str, Any]]) -> None:
    assembler, blocks = assemble(events)
    assembler.partial_blocks()
    assert all(isinstance(block["input"], dict) for block in blocks if block["type"] == "tool_use")
