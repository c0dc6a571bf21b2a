"""Whatever way a server streams a chat answer, the same blocks come out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.models.assembler import MessageAssembler
from toolwright.models.base import Event, ModelError
from toolwright.models.openai_events import ChatTranslator, usage_of
from toolwright.testing.chat_dialect import ChatHabits, ChatMessage, chat_chunks, whole_answer
from toolwright.testing.messages_dialect import ToolCall

NAMES = {"Read": "Read", "ReadAll": "ReadAll", "Bash": "Bash", "short_1": "mcp.server.very-long"}
CALLS = (
    ToolCall("Read", {"file_path": "/tmp/a b", "limit": 3}, "call_first"),
    ToolCall("Bash", {"command": 'echo "}{"'}, "call_second"),
)


def translate(chunks: Iterable[Mapping[str, Any]], names: Mapping[str, str] = NAMES) -> list[Event]:
    translator = ChatTranslator("some-model", names)
    events = [event for chunk in chunks for event in translator.feed(chunk)]
    return [*events, *translator.ending()]


def assemble(events: Iterable[Event]) -> tuple[list[dict[str, Any]], MessageAssembler]:
    assembler = MessageAssembler()
    return [block for event in events if (block := assembler.feed(event)) is not None], assembler


def delta(**content: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": content}]}


def call_piece(arguments: Any = None, name: str | None = None, **entry: Any) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return delta(tool_calls=[{**entry, "function": function}])


def calls_of(chunks: Iterable[Mapping[str, Any]]) -> list[tuple[str, Any]]:
    blocks, assembler = assemble(translate(chunks))
    assert not assembler.invalid_inputs
    return [(block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]


@pytest.mark.parametrize(
    "habits",
    [
        ChatHabits(),
        ChatHabits(piece=1),
        ChatHabits(piece=0),
        ChatHabits(piece=3, split_names=True),
        ChatHabits(object_arguments=True),
        ChatHabits(numbered_calls=False),
        ChatHabits(numbered_calls=False, piece=1),
        ChatHabits(same_index=True),
        ChatHabits(same_index=True, piece=0),
        ChatHabits(same_index=True, call_ids=False, piece=0),
        ChatHabits(call_ids=False),
        ChatHabits(numbered_calls=False, call_ids=False, piece=2),
        ChatHabits(numbered_calls=False, call_ids=False, object_arguments=True),
        ChatHabits(finish_reason="stop"),
        ChatHabits(reasoning_field="reasoning", usage="every"),
        ChatHabits(usage="with_finish"),
    ],
    ids=repr,
)
def test_every_servers_habits_give_the_same_answer(habits: ChatHabits) -> None:
    message = ChatMessage("I look.\nThen I run.", CALLS, "Let me think about it", {"prompt_tokens": 30, "completion_tokens": 7})
    blocks, assembler = assemble(translate(chat_chunks(message, habits)))
    assert [block["type"] for block in blocks] == ["thinking", "text", "tool_use", "tool_use"]
    assert blocks[0] == {"type": "thinking", "thinking": "Let me think about it", "signature": ""}
    assert blocks[1] == {"type": "text", "text": "I look.\nThen I run."}
    assert [(block["name"], block["input"]) for block in blocks[2:]] == [(call.name, call.input) for call in CALLS]
    if habits.call_ids:
        assert [block["id"] for block in blocks[2:]] == ["call_first", "call_second"]
    assert len({block["id"] for block in blocks[2:]}) == 2
    assert assembler.stop_reason == "tool_use"
    assert (assembler.usage["input_tokens"], assembler.usage["output_tokens"]) == (30, 7)
    assert assembler.model == "some-model"
    assert assembler.message_id.startswith("msg_")


def test_an_answer_that_is_no_stream_gives_the_same_blocks() -> None:
    chunk = whole_answer(ChatMessage("Hello", CALLS), ChatHabits())
    blocks, assembler = assemble(translate([chunk]))
    assert [block["type"] for block in blocks] == ["text", "tool_use", "tool_use"]
    assert assembler.stop_reason == "tool_use"
    assert assembler.usage["input_tokens"] == 10


@given(st.data())
def test_calls_cut_and_interleaved_anywhere_come_out_whole_and_in_order(data: st.DataObject) -> None:
    calls = data.draw(
        st.lists(
            st.tuples(
                st.sampled_from(["Read", "ReadAll", "Bash", "unheard_of"]),
                st.dictionaries(st.text(), st.text() | st.integers()),
            ),
            min_size=1,
            max_size=4,
        )
    )
    waiting = []
    for index, (name, content) in enumerate(calls):
        cut = data.draw(st.integers(0, len(name)))
        text = json.dumps(content, ensure_ascii=data.draw(st.booleans()))
        at = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
        pieces = [text[a:b] for a, b in zip([0, *at], [*at, len(text)], strict=True)]
        waiting.append(
            [
                call_piece(name=name[:cut], index=index, id=f"call_{index}"),
                call_piece(name=name[cut:], index=index),
                *(call_piece(piece, index=index) for piece in pieces),
            ]
        )
    chunks = [waiting[index].pop(0) for index in range(len(waiting))]  # they begin in order
    while any(waiting):
        chunks.append(data.draw(st.sampled_from([pieces for pieces in waiting if pieces])).pop(0))
    assert calls_of(chunks) == calls


@given(st.lists(st.sampled_from(["text", "thinking", "call", "empty"]), max_size=12))
def test_blocks_come_one_after_the_other_each_started_and_stopped_once(kinds: list[str]) -> None:
    made = {"text": delta(content="t"), "thinking": delta(reasoning="r"), "empty": delta(content="")}
    chunks = [made.get(kind) or call_piece('{"a":1}', "Read", id=f"call_{number}") for number, kind in enumerate(kinds)]
    events = translate(chunks)
    assert [events[0]["type"], *(event["type"] for event in events[-2:])] == ["message_start", "message_delta", "message_stop"]
    open_index, next_index = None, 0
    for event in events[1:-2]:
        if event["type"] == "content_block_start":
            assert (open_index, event["index"]) == (None, next_index)
            open_index, next_index = next_index, next_index + 1
        else:
            assert event["index"] == open_index
            open_index = None if event["type"] == "content_block_stop" else open_index
    assert open_index is None
    assert sum(kind == "call" for kind in kinds) == len(calls_of(chunks))


def test_text_is_given_out_as_it_comes() -> None:
    translator = ChatTranslator("m")
    assert [event["type"] for event in translator.feed(delta(role="assistant", content=""))] == ["message_start"]
    assert [event["type"] for event in translator.feed(delta(content="a"))] == ["content_block_start", "content_block_delta"]
    assert [event["type"] for event in translator.feed(delta(content="b"))] == ["content_block_delta"]


def test_a_name_that_is_repeated_with_every_piece_is_one_name() -> None:
    pieces = [call_piece(piece, "Read", index=0, id="call_1") for piece in ('{"a"', ":", "1}", "\n")]
    assert calls_of(pieces) == [("Read", {"a": 1})]


def test_a_new_id_without_a_name_goes_on_with_the_same_call() -> None:
    assert calls_of([call_piece("{", "Read", index=0, id="a"), call_piece("}", index=0, id="b")]) == [("Read", {})]


def test_a_call_without_arguments_has_an_empty_input() -> None:
    assert calls_of([call_piece(name="Read", index=0, id="a"), call_piece("", "Bash", index=1, id="b")]) == [
        ("Read", {}),
        ("Bash", {}),
    ]


def test_the_same_id_twice_becomes_two_ids() -> None:
    blocks, _ = assemble(translate([call_piece("{}", "Read", index=0, id="x"), call_piece("{}", "Bash", index=1, id="x")]))
    assert blocks[0]["id"] == "x"
    assert blocks[1]["id"].startswith("call_")


def test_a_name_that_had_to_be_changed_for_the_server_is_changed_back() -> None:
    assert calls_of([call_piece("{}", "short_1", index=0)]) == [("mcp.server.very-long", {})]


def test_a_call_without_a_name_is_an_error() -> None:
    with pytest.raises(ModelError, match="without the name of a tool"):
        translate([call_piece("{}", index=0, id="a")])


def test_arguments_after_the_call_was_complete_are_an_error() -> None:
    chunks = [call_piece("{}", "Read", index=0), call_piece("{}", "Bash", index=1), call_piece('{"b":1}', index=0)]
    with pytest.raises(ModelError, match="more arguments for a call of Read"):
        translate(chunks)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("content_filter", "refusal"),
        ("tool_calls", "end_turn"),
        ("eos_token", "end_turn"),
    ],
)
def test_finish_reasons_become_stop_reasons(sent: str, expected: str) -> None:
    _, assembler = assemble(translate(chat_chunks(ChatMessage("x"), ChatHabits(finish_reason=sent))))
    assert assembler.stop_reason == expected


def test_an_answer_cut_by_its_length_stays_so_although_it_called() -> None:
    half = [call_piece('{"a": "hal', "Read", index=0), {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}]
    _, assembler = assemble(translate(half))
    assert assembler.stop_reason == "max_tokens"
    assert len(assembler.invalid_inputs) == 1


def test_a_refusal_is_text_with_its_stop_reason() -> None:
    blocks, assembler = assemble(translate([delta(refusal="I must "), delta(refusal="not."), delta()]))
    assert blocks == [{"type": "text", "text": "I must not."}]
    assert assembler.stop_reason == "refusal"


@pytest.mark.parametrize(
    ("sent", "kind"), [("error", "server_error"), ("abort", "truncated"), ("insufficient_system_resource", "overloaded")]
)
def test_a_finish_reason_that_means_failure_is_an_error(sent: str, kind: str) -> None:
    with pytest.raises(ModelError) as caught:
        translate(chat_chunks(ChatMessage("x"), ChatHabits(finish_reason=sent)))
    assert caught.value.kind == kind


def test_content_given_as_parts_is_read() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "yes"}]
    blocks, _ = assemble(translate([delta(content=parts)]))
    assert [block["type"] for block in blocks] == ["thinking", "text"]


def test_choices_that_we_did_not_ask_for_and_nonsense_are_left_out() -> None:
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 1, "delta": {"content": "other"}}]},
        {"choices": []},
        {"choices": None, "usage": None},
        {},
        {"choices": [{"delta": None}]},
        delta(content=None, tool_calls=None),
        delta(content={"odd": 1}, tool_calls=["odd"]),
    ]
    blocks, assembler = assemble(translate(chunks))
    assert blocks == []
    assert assembler.usage == {
        "input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 0,
    }


@pytest.mark.parametrize(
    ("usage", "read", "fresh"),
    [
        ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 80}}, 80, 20),
        ({"prompt_tokens": 100, "prompt_cache_hit_tokens": 64}, 64, 36),
        ({"prompt_tokens": 100, "cached_tokens": 10}, 10, 90),
        ({"prompt_tokens": 100, "prompt_tokens_details": None}, 0, 100),
        ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 80}}, 80, 0),
    ],
)
def test_cached_input_is_counted_apart(usage: dict[str, Any], read: int, fresh: int) -> None:
    counted = usage_of(usage)
    assert (counted["cache_read_input_tokens"], counted["input_tokens"]) == (read, fresh)
