"""Frames become messages; what is unknown does no harm, what is missing is named."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.protocol.parse import parse_message
from toolwright.types import (
    AssistantMessage,
    ContentBlock,
    ConversationResetMessage,
    DeferredToolUse,
    HookEventMessage,
    Message,
    MessageParseError,
    MirrorErrorMessage,
    RateLimitEvent,
    RateLimitInfo,
    ResultMessage,
    ServerToolResultBlock,
    ServerToolUseBlock,
    StreamEvent,
    SystemMessage,
    TaskNotificationMessage,
    TaskProgressMessage,
    TaskStartedMessage,
    TaskUpdatedMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

Frame = dict[str, Any]

RESULT: Frame = {
    "type": "result",
    "subtype": "success",
    "duration_ms": 10,
    "duration_api_ms": 8,
    "is_error": False,
    "num_turns": 1,
    "session_id": "s",
}
USAGE = {"total_tokens": 1, "tool_uses": 2, "duration_ms": 3}


def assistant(*blocks: Any, **fields: Any) -> Frame:
    return {"type": "assistant", "message": {"content": list(blocks), "model": "m"}, **fields}


def user(content: Any, **fields: Any) -> Frame:
    return {"type": "user", "message": {"role": "user", "content": content}, **fields}


def system(subtype: Any, **fields: Any) -> Frame:
    return {"type": "system", "subtype": subtype, **fields}


def without(frame: Frame, key: str) -> Frame:
    return {name: value for name, value in frame.items() if name != key}


BLOCKS: list[tuple[Frame, ContentBlock]] = [
    ({"type": "text", "text": "hi", "citations": None}, TextBlock("hi")),
    ({"type": "thinking", "thinking": "hm", "signature": "sig"}, ThinkingBlock("hm", "sig")),
    ({"type": "thinking", "thinking": "hm"}, ThinkingBlock("hm", "")),
    ({"type": "tool_use", "id": "t", "name": "Read", "input": {"a": 1}}, ToolUseBlock("t", "Read", {"a": 1})),
    ({"type": "tool_result", "tool_use_id": "t"}, ToolResultBlock("t", None, None)),
    ({"type": "tool_result", "tool_use_id": "t", "content": "x", "is_error": True}, ToolResultBlock("t", "x", True)),
    (
        {"type": "server_tool_use", "id": "t", "name": "web_search", "input": {}},
        ServerToolUseBlock("t", "web_search", {}),
    ),
    ({"type": "advisor_tool_result", "tool_use_id": "t", "content": {"a": 1}}, ServerToolResultBlock("t", {"a": 1})),
    ({"type": "web_search_tool_result", "tool_use_id": "t", "content": {}}, ServerToolResultBlock("t", {})),
]


@pytest.mark.parametrize(("block", "parsed"), BLOCKS, ids=lambda value: value.get("type") if isinstance(value, dict) else "")
def test_block_is_parsed_in_both_kinds_of_message(block: Frame, parsed: ContentBlock) -> None:
    assert parse_message(assistant(block)) == AssistantMessage([parsed], "m")
    assert parse_message(user([block])) == UserMessage([parsed])


@pytest.mark.parametrize("kind", ["redacted_thinking", "image", "hologram", 3, ["text"]])
def test_unknown_blocks_are_left_out(kind: Any) -> None:
    message = parse_message(assistant({"type": kind, "data": "x"}, {"type": "text", "text": "hi"}))
    assert message == AssistantMessage([TextBlock("hi")], "m")


def test_assistant_message_with_all_its_fields() -> None:
    frame = assistant(
        {"type": "text", "text": "hi"}, session_id="s", uuid="u", parent_tool_use_id="p", error="rate_limit", request_id="r"
    )
    frame["message"].update(id="msg", usage={"input_tokens": 1}, stop_reason="end_turn", role="assistant")
    assert parse_message(frame) == AssistantMessage(
        content=[TextBlock("hi")],
        model="m",
        parent_tool_use_id="p",
        error="rate_limit",
        usage={"input_tokens": 1},
        message_id="msg",
        stop_reason="end_turn",
        session_id="s",
        uuid="u",
    )


def test_user_message_with_all_its_fields() -> None:
    frame = user("hi", uuid="u", parent_tool_use_id="p", tool_use_result={"stdout": ""}, origin={"kind": "peer", "from": "x"})
    parsed = UserMessage("hi", "u", "p", {"stdout": ""}, {"kind": "peer", "from": "x"})
    assert parse_message(frame) == parsed


@pytest.mark.parametrize("origin", [None, "human", {}, ["kind"]])
def test_origin_without_a_kind_is_none(origin: Any) -> None:
    assert parse_message(user("hi", origin=origin)) == UserMessage("hi")


def test_failed_tool_leaves_its_text_as_the_result() -> None:
    message = parse_message(user("hi", tool_use_result="Error: no such file"))
    assert isinstance(message, UserMessage)
    assert message.tool_use_result == "Error: no such file"  # type: ignore[comparison-overlap]  # as the wire has it


def test_result_with_only_what_it_must_have() -> None:
    assert parse_message(RESULT) == ResultMessage("success", 10, 8, False, 1, "s")


def test_result_with_all_its_fields() -> None:
    same = {
        "stop_reason": "end_turn",
        "total_cost_usd": 0.5,
        "usage": {"input_tokens": 1},
        "result": "done",
        "structured_output": {"a": [1]},
        "permission_denials": [{"tool_name": "Bash"}],
        "errors": ["x"],
        "api_error_status": 529,
        "uuid": "u",
        "terminal_reason": "completed",
        "origin": {"kind": "task-notification"},
    }
    frame = {
        **RESULT,
        **same,
        "modelUsage": {"m": {"inputTokens": 1}},
        "deferred_tool_use": {"id": "t", "name": "Bash", "input": {}},
        "ttft_ms": 3,
    }
    message = parse_message(frame)
    assert isinstance(message, ResultMessage)
    assert {name: getattr(message, name) for name in same} == same
    assert message.model_usage == {"m": {"inputTokens": 1}}
    assert message.deferred_tool_use == DeferredToolUse("t", "Bash", {})


def test_stream_event() -> None:
    frame = {"type": "stream_event", "uuid": "u", "session_id": "s", "event": {"type": "ping"}, "parent_tool_use_id": None}
    assert parse_message(frame) == StreamEvent("u", "s", {"type": "ping"})


def test_conversation_reset() -> None:
    frame = {"type": "conversation_reset", "new_conversation_id": "n", "uuid": "u", "session_id": "s", "trigger": "clear"}
    assert parse_message(frame) == ConversationResetMessage("n", "u", "s")


def test_rate_limit_event_is_read_from_camel_case_and_keeps_what_came() -> None:
    info = {
        "status": "allowed_warning",
        "resetsAt": 1,
        "rateLimitType": "five_hour",
        "utilization": 0.9,
        "overageStatus": "rejected",
        "overageResetsAt": 2,
        "overageDisabledReason": "off",
        "isUsingOverage": False,
    }
    frame = {"type": "rate_limit_event", "rate_limit_info": info, "uuid": "u", "session_id": "s"}
    parsed = RateLimitInfo("allowed_warning", 1, "five_hour", 0.9, "rejected", 2, "off", info)
    assert parse_message(frame) == RateLimitEvent(parsed, "u", "s")


def test_system_message_holds_the_whole_frame() -> None:
    frame = system("init", tools=["Read"], brand_new=1)
    message = parse_message(frame)
    assert message == SystemMessage("init", frame)
    assert type(message) is SystemMessage


STARTED = system(
    "task_started", task_id="t", description="d", uuid="u", session_id="s", tool_use_id="c", task_type="local_bash"
)
PROGRESS = system("task_progress", task_id="t", description="d", usage=USAGE, uuid="u", session_id="s", last_tool_name="Read")
UPDATED = system("task_updated", task_id="t", patch={"status": "killed"}, uuid="u", session_id="s")
NOTIFICATION = system(
    "task_notification", task_id="t", status="failed", output_file="/o", summary="m", uuid="u", session_id="s", usage=USAGE
)
HOOK = system("hook_response", hook_event="PreToolUse", hook_name="PreToolUse:Bash", session_id="s", uuid="u")
MIRROR = system("mirror_error", key={"project_key": "p", "session_id": "s"}, error="down")


@pytest.mark.parametrize(
    ("frame", "parsed"),
    [
        (STARTED, TaskStartedMessage("task_started", STARTED, "t", "d", "u", "s", "c", "local_bash")),
        (
            PROGRESS,
            TaskProgressMessage(
                "task_progress",
                PROGRESS,
                task_id="t",
                description="d",
                usage={"total_tokens": 1, "tool_uses": 2, "duration_ms": 3},
                uuid="u",
                session_id="s",
                last_tool_name="Read",
            ),
        ),
        (UPDATED, TaskUpdatedMessage("task_updated", UPDATED, "t", {"status": "killed"}, "killed", "s", "u")),
        (
            NOTIFICATION,
            TaskNotificationMessage(
                "task_notification",
                NOTIFICATION,
                task_id="t",
                status="failed",
                output_file="/o",
                summary="m",
                uuid="u",
                session_id="s",
                usage={"total_tokens": 1, "tool_uses": 2, "duration_ms": 3},
            ),
        ),
        (HOOK, HookEventMessage("hook_response", HOOK, "PreToolUse", "s", "u")),
        (MIRROR, MirrorErrorMessage("mirror_error", MIRROR, {"project_key": "p", "session_id": "s"}, "down")),
    ],
    ids=lambda value: value["subtype"] if isinstance(value, dict) else "",
)
def test_system_subtype_has_a_class_of_its_own(frame: Frame, parsed: Message) -> None:
    assert parse_message(frame) == parsed


@pytest.mark.parametrize(
    ("frame", "key"),
    [
        *((STARTED, key) for key in ("task_id", "description", "uuid", "session_id")),
        *((PROGRESS, key) for key in ("task_id", "description", "usage", "uuid", "session_id")),
        (UPDATED, "task_id"),
        *((NOTIFICATION, key) for key in ("task_id", "status", "output_file", "summary", "uuid", "session_id")),
    ],
)
def test_task_frame_with_a_missing_or_odd_field_is_a_plain_system_message(frame: Frame, key: str) -> None:
    for odd in (without(frame, key), {**frame, key: 3}):
        assert parse_message(odd) == SystemMessage(frame["subtype"], odd)


@pytest.mark.parametrize("patch", [None, 3, ["status"]])
def test_task_update_without_a_patch_changes_nothing(patch: Any) -> None:
    frame = system("task_updated", task_id="t", patch=patch)
    assert parse_message(frame) == TaskUpdatedMessage("task_updated", frame, "t", {})


@pytest.mark.parametrize("subtype", ["hook_started", "hook_progress", "hook_response"])
@pytest.mark.parametrize("key", ["hook_event", "hook_event_name", "hook_name"])
def test_hook_event_is_found_under_each_of_its_names(subtype: str, key: str) -> None:
    frame = system(subtype, **{key: "Stop"})
    assert parse_message(frame) == HookEventMessage(subtype, frame, "Stop")


def test_hook_frame_without_an_event_keeps_its_class_and_with_an_odd_one_does_not() -> None:
    assert parse_message(system("hook_started")) == HookEventMessage("hook_started", system("hook_started"))
    odd = system("hook_started", hook_event=3)
    assert parse_message(odd) == SystemMessage("hook_started", odd)


@pytest.mark.parametrize(
    "kind", ["tool_progress", "tool_use_summary", "auth_status", "prompt_suggestion", "transcript_mirror", "tomorrow", 3]
)
def test_unknown_types_give_none(kind: Any) -> None:
    assert parse_message({"type": kind}) is None


STREAM = {"type": "stream_event", "uuid": "u", "session_id": "s", "event": {}}
LIMIT = {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed"}, "uuid": "u", "session_id": "s"}
RESET = {"type": "conversation_reset", "new_conversation_id": "n", "uuid": "u", "session_id": "s"}


@pytest.mark.parametrize(
    ("frame", "missing"),
    [
        ({"type": "user"}, "message"),
        ({"type": "user", "message": {}}, "content"),
        ({"type": "assistant"}, "message"),
        ({"type": "assistant", "message": {"model": "m"}}, "content"),
        ({"type": "assistant", "message": {"content": []}}, "model"),
        ({"type": "system"}, "subtype"),
        (assistant({}), "type"),
        (assistant({"type": "text"}), "text"),
        (assistant({"type": "tool_use", "id": "t", "name": "n"}), "input"),
        (user([{"type": "tool_result"}]), "tool_use_id"),
        ({**LIMIT, "rate_limit_info": {}}, "status"),
        ({**RESULT, "deferred_tool_use": {"id": "t"}}, "name"),
        *((without(frame, key), key) for frame in (RESULT, STREAM, LIMIT, RESET) for key in frame if key != "type"),
    ],
)
def test_missing_required_field_is_named(frame: Frame, missing: str) -> None:
    with pytest.raises(MessageParseError, match=f"type '{frame['type']}' lacks the required field '{missing}'") as caught:
        parse_message(frame)
    assert caught.value.data is frame


@pytest.mark.parametrize(
    ("frame", "complaint"),
    [
        ([], "A frame must be an object, not list"),
        ({}, "A frame has no 'type'"),
        ({"type": None}, "A frame has no 'type'"),
        ({"type": "user", "message": "hi"}, "must be an object, not str"),
        ({"type": "assistant", "message": ["hi"]}, "must be an object, not list"),
        (user(None), "must be text or blocks, not NoneType"),
        (user(["hi"]), "content block must be an object, not str"),
        ({"type": "assistant", "message": {"content": "hi", "model": "m"}}, "must be blocks, not str"),
        ({**LIMIT, "rate_limit_info": 3}, "must be an object, not int"),
        ({**RESULT, "deferred_tool_use": "x"}, "must be an object, not str"),
    ],
)
def test_wrong_shape_is_described(frame: Any, complaint: str) -> None:
    with pytest.raises(MessageParseError, match=complaint):
        parse_message(frame)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
frame_keys = st.sampled_from(
    [
        "subtype",
        "message",
        "content",
        "model",
        "uuid",
        "session_id",
        "event",
        "rate_limit_info",
        "status",
        "new_conversation_id",
        "task_id",
        "description",
        "usage",
        "patch",
        "output_file",
        "summary",
        "hook_event",
        "origin",
        "deferred_tool_use",
        "key",
        "error",
        "duration_ms",
        "duration_api_ms",
        "is_error",
        "num_turns",
    ]
)
block_types = st.sampled_from(["text", "thinking", "tool_use", "tool_result", "server_tool_use", "web_search_tool_result"])
block_keys = st.sampled_from(
    ["type", "text", "thinking", "signature", "id", "name", "input", "tool_use_id", "content", "is_error"]
)
blocks = st.dictionaries(block_keys, block_types | json_values, max_size=5) | json_values
messages = st.fixed_dictionaries({}, optional={"content": st.lists(blocks, max_size=3) | json_values, "model": st.text()})
frames = st.builds(
    lambda kind, fields: {**fields, "type": kind},
    st.sampled_from(["user", "assistant", "system", "result", "stream_event", "rate_limit_event", "conversation_reset"])
    | json_values,
    st.dictionaries(frame_keys, messages | json_values, max_size=12),
)
subtypes = st.sampled_from(
    ["task_started", "task_progress", "task_updated", "task_notification", "hook_started", "mirror_error", "init"]
)
system_frames = st.builds(
    lambda subtype, fields: {**fields, "type": "system", "subtype": subtype},
    subtypes | json_values,
    st.dictionaries(frame_keys, json_values, max_size=12),
)


@given(frames | system_frames | st.dictionaries(st.text(), json_values))
def test_nothing_but_a_parse_error_ever_comes_out(frame: Frame) -> None:
    with contextlib.suppress(MessageParseError):
        parse_message(frame)


@given(st.dictionaries(st.text(min_size=1).map(lambda name: f"x_{name}"), json_values))
def test_unknown_fields_change_nothing(extra: Frame) -> None:
    for frame in (RESULT, STREAM, LIMIT, RESET, user("hi"), assistant({"type": "text", "text": "hi"})):
        assert parse_message({**frame, **extra}) == parse_message(frame)
