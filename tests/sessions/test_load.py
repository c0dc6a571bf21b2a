"""Reading transcripts back: whole ones, damaged ones, foreign ones; the history is always valid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_sessions import SESSION, assert_valid, call, journal, result, text, write_sample
from toolwright.sessions import JournalError
from toolwright.sessions.history import BEGINNING_LOST, INTERRUPTED, Spoken, valid_history
from toolwright.sessions.lines import read_lines
from toolwright.sessions.load import Transcript, load, transcript_of


def shape(transcript: Transcript) -> list[tuple[str, list[str]]]:
    return [(message.role, [block["type"] for block in message.content]) for message in transcript.messages]


def texts(transcript: Transcript) -> list[str]:
    return [block["text"] for message in transcript.messages for block in message.content if block["type"] == "text"]


@pytest.fixture
def sample(tmp_path: Path) -> bytes:
    log = journal(tmp_path)
    write_sample(log)
    return log.path.read_bytes()


def load_bytes(data: bytes) -> Transcript:
    entries, problems = read_lines(data)
    return transcript_of(entries, problems)


def test_a_session_is_read_back_as_it_was(tmp_path: Path) -> None:
    log = journal(tmp_path)
    write_sample(log)
    transcript = load(log.path)
    assert shape(transcript) == [
        ("user", ["text"]),
        ("assistant", ["thinking", "text", "tool_use", "tool_use"]),
        ("user", ["tool_result", "tool_result"]),
        ("assistant", ["text"]),
    ]
    assert_valid(transcript.messages)
    assert (transcript.session_id, transcript.cwd, transcript.model) == (SESSION, str(tmp_path), "claude-x")
    assert transcript.last_uuid == log.last_uuid
    assert transcript.problems == ()


def test_a_session_cut_at_any_byte_loads_with_a_valid_history(sample: bytes) -> None:
    whole = load_bytes(sample)
    complete_lines = 0
    for end in range(len(sample)):
        cut = sample[:end]
        transcript = load_bytes(cut)
        assert_valid(transcript.messages)
        complete_lines = cut.count(b"\n")
        assert len(read_lines(cut)[0]) >= complete_lines
        assert texts(transcript) == texts(whole)[: len(texts(transcript))]
    assert complete_lines > 5


def test_a_session_cut_at_any_byte_goes_on_where_it_was_cut(sample: bytes, tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    for end in range(0, len(sample), 37):
        path.write_bytes(sample[:end])
        before = load(path)
        log = journal(tmp_path, last_uuid=before.last_uuid, known=before.size)
        log.path = path
        log.user("and then?")
        after = load(path)
        assert_valid(after.messages)
        assert texts(after)[-1] == "and then?"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda line: line[: len(line) // 2],
        lambda line: b"\0" * 300,
        lambda line: b"\xff\xfe garbage",
        lambda line: b"[1, 2]",
        lambda line: b"null",
        lambda line: b"[" * 100_000,
        lambda line: b'{"type":"user"' + b'{"a":' * 5000,
    ],
)
def test_a_spoilt_line_costs_only_itself_and_is_named(sample: bytes, spoil: Any) -> None:
    lines = sample.splitlines()
    for position in range(len(lines) - 1):
        spoilt = [*lines[:position], spoil(lines[position]), *lines[position + 1 :]]
        data = b"\n".join(spoilt) + b"\n"
        entries, problems = read_lines(data)
        assert len(entries) == len(lines) - 1
        assert [problem.partition(":")[0] for problem in problems] == [f"line {position + 1}"]
        transcript = load_bytes(data)
        assert_valid(transcript.messages)
        assert texts(transcript)[-1] == "Found it." or position == len(lines) - 2


def test_lines_run_together_holes_foreign_bytes_and_crlf_lose_nothing(sample: bytes) -> None:
    lines = sample.splitlines()
    whole = shape(load_bytes(sample))
    assert shape(load_bytes(b"".join(lines))) == whole
    assert shape(load_bytes(b"\r\n".join(lines))) == whole
    assert shape(load_bytes(b"\n\0\0\0\0".join(lines))) == whole
    assert shape(load_bytes(sample.replace(b"Looking", b"Look\xffing"))) == whole
    torn_and_glued = lines[0] + b"\n" + lines[1][:40] + b"\n".join(lines[1:])
    assert shape(load_bytes(torn_and_glued)) == whole


def test_an_empty_or_metadata_only_file_is_an_empty_session(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    assert load(tmp_path / "empty.jsonl") == Transcript()
    assert load_bytes(b'{"type":"summary","summary":"x"}\n').messages == []


def test_a_file_that_cannot_be_opened_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="No such file"):
        load(tmp_path / "none.jsonl")
    with pytest.raises(JournalError, match="not a regular file"):
        load(tmp_path)


def entry(uuid: str, parent: str | None, kind: str, content: Any, message_id: str | None = None, **more: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": message_id or uuid, "model": "claude-x"}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": SESSION, "message": message, **more}


def test_parallel_calls_that_branch_off_the_chain_are_put_back() -> None:
    transcript = transcript_of(
        [
            entry("u", None, "user", "go"),
            entry("a1", "u", "assistant", [call("t1")], "m1"),
            entry("a2", "a1", "assistant", [call("t2")], "m1"),
            entry("a3", "a1", "assistant", [call("t3")], "m1"),
            entry("r1", "a1", "user", [result("t1", "one")]),
            entry("r3", "a3", "user", [result("t3", "three")]),
            entry("r2", "a2", "user", [result("t2", "two")]),
            entry("b", "r2", "assistant", [text("done")], "m2"),
        ]
    )
    assert_valid(transcript.messages)
    assert [block["content"] for block in transcript.messages[2].content] == ["one", "two", "three"]
    assert transcript.problems == ()


def test_only_the_branch_of_the_last_entry_is_the_conversation() -> None:
    transcript = transcript_of(
        [
            entry("u", None, "user", "go"),
            entry("a", "u", "assistant", [text("old answer")]),
            entry("s", "u", "assistant", [text("subagent")], isSidechain=True),
            entry("b", "u", "assistant", [text("new answer")]),
            entry("x", "b", "progress", []),
            {"type": "queue-operation", "operation": "enqueue"},
        ]
    )
    assert texts(transcript) == ["go", "new answer"]
    assert transcript.last_uuid == "b"


def test_what_lies_before_a_compact_boundary_is_not_sent() -> None:
    transcript = transcript_of(
        [
            entry("u", None, "user", "old"),
            {"type": "system", "subtype": "compact_boundary", "uuid": "c", "parentUuid": None, "logicalParentUuid": "u"},
            entry("s", "c", "user", "summary", isCompactSummary=True),
        ]
    )
    assert texts(transcript) == ["summary"]


def test_api_errors_shown_as_answers_are_not_sent() -> None:
    transcript = transcript_of(
        [entry("u", None, "user", "go"), entry("e", "u", "assistant", [text("529")], isApiErrorMessage=True)]
    )
    assert texts(transcript) == ["go"]
    assert transcript.last_uuid == "e"


def test_a_line_about_the_session_is_no_link_of_the_chain_even_with_a_uuid() -> None:
    title = {"type": "custom-title", "uuid": "t", "customTitle": "T", "sessionId": SESSION}
    transcript = transcript_of([entry("a", None, "user", "one"), title, entry("b", "lost", "user", "two")])
    assert texts(transcript) == ["one", "two"]


def test_a_ring_of_parents_ends() -> None:
    transcript = transcript_of([entry("a", "b", "user", "one"), entry("b", "a", "user", "two")])
    assert texts(transcript) == ["one", "two"]


def test_a_call_without_a_result_is_reported_as_interrupted() -> None:
    transcript = transcript_of(
        [entry("u", None, "user", "go"), entry("a", "u", "assistant", [call("t1", "Bash")]), entry("v", "a", "user", "and?")]
    )
    assert_valid(transcript.messages)
    lost = transcript.messages[2].content[0]
    assert (lost["content"], lost["is_error"]) == (INTERRUPTED, True)
    assert "t1 (Bash) has no result" in transcript.problems[0]


def test_a_second_result_and_a_result_without_a_call_are_left_out() -> None:
    transcript = transcript_of(
        [
            entry("u", None, "user", "go"),
            entry("a", "u", "assistant", [call("t1"), call("t1")]),
            entry("r", "a", "user", [result("t1", "first"), result("t9")]),
            entry("s", "r", "user", [result("t1", "second")]),
        ]
    )
    assert_valid(transcript.messages)
    assert [block["content"] for block in transcript.messages[-1].content] == ["first"]
    assert len(transcript.problems) == 2


def test_a_model_that_uses_its_ids_again_keeps_each_result_with_its_call() -> None:
    transcript = transcript_of(
        [
            entry("u", None, "user", "go"),
            entry("a", "u", "assistant", [call("call_0")], "m1"),
            entry("r", "a", "user", [result("call_0", "first")]),
            entry("b", "r", "assistant", [call("call_0")], "m2"),
            entry("s", "b", "user", [result("call_0", "second")]),
        ]
    )
    assert [message.content[0].get("content") for message in transcript.messages if message.role == "user"][1:] == [
        "first",
        "second",
    ]


def test_results_that_came_while_the_message_still_streamed_stand_behind_it() -> None:
    spoken = [
        Spoken("user", [text("go")], "u"),
        Spoken("assistant", [call("t1")], "a", "m"),
        Spoken("user", [result("t1")], "r"),
        Spoken("assistant", [call("t2")], "b", "m"),
        Spoken("user", [text("a prompt meanwhile")], "p"),
        Spoken("user", [result("t2")], "s"),
    ]
    messages, problems = valid_history(spoken)
    assert_valid(messages)
    assert problems == []
    assert messages[-1].content == [text("a prompt meanwhile")]


def test_thinking_that_was_cut_off_and_empty_texts_are_cleaned_away() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    transcript = transcript_of(
        [
            entry("u", None, "user", "go"),
            entry("a", "u", "assistant", [thinking, text("so"), text(" "), thinking], "m1"),
            entry("v", "a", "user", "more"),
            entry("b", "v", "assistant", [thinking], "m2"),
            entry("c", "b", "assistant", [{"type": "thinking", "thinking": "unsigned", "signature": ""}], "m3"),
        ]
    )
    assert shape(transcript) == [("user", ["text"]), ("assistant", ["thinking", "text"]), ("user", ["text"])]


def test_a_history_that_lost_its_first_prompt_begins_with_a_note() -> None:
    transcript = transcript_of([entry("a", "lost", "assistant", [text("hello")])])
    assert texts(transcript) == [BEGINNING_LOST, "hello"]


blocks = st.one_of(
    st.builds(text, st.sampled_from(["", "x", "y"])),
    st.builds(call, st.sampled_from(["t1", "t2", "t3"])),
    st.builds(result, st.sampled_from(["t1", "t2", "t3", "t4"])),
    st.builds(lambda signature: {"type": "thinking", "thinking": "h", "signature": signature}, st.sampled_from(["", "s"])),
    st.sampled_from([{}, {"type": 5}, {"type": "tool_use", "id": 7}, {"type": "image", "source": {}}]),
)
spoken = st.builds(
    lambda role, content, uuid, message_id: Spoken(role, content, uuid, message_id if role == "assistant" else None),
    st.sampled_from(["user", "assistant"]),
    st.lists(blocks, max_size=3),
    st.uuids().map(str),
    st.sampled_from(["m1", "m2", None]),
)


@settings(deadline=None)
@given(st.lists(spoken, max_size=12))
def test_any_sequence_of_entries_gives_a_valid_history(sequence: list[Spoken]) -> None:
    messages, _ = valid_history(sequence)
    assert_valid(messages)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "uuid", "message", "content", "id"]), inner)
    ),
    max_leaves=10,
)


@settings(deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from(["type", "uuid", "parentUuid", "message", "isSidechain"]), json_values), max_size=5
    )
)
def test_any_json_gives_a_valid_history(entries: list[dict[str, Any]]) -> None:
    assert_valid(load_bytes(b"\n".join(json.dumps(entry).encode() for entry in entries)).messages)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_can_be_read(data: bytes) -> None:
    load_bytes(data)


def test_a_call_that_was_put_off_is_known_until_it_has_a_result(tmp_path: Path) -> None:
    log = journal(tmp_path)
    log.user([text("go")])
    log.assistant(call("t1"), message_id="m1", model="m")
    assert load(log.path).put_off_in(load(log.path).messages) is None
    log.deferred("t1")
    loaded = load(log.path)
    found = loaded.put_off_in(loaded.messages)
    assert found is not None
    assert found["id"] == "t1"
    assert loaded.put_off_in(loaded.messages[:-1]) is None
    log.user([result("t1")])
    loaded = load(log.path)
    assert loaded.put_off_in(loaded.messages) is None
