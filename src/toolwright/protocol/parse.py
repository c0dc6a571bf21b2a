"""Frames to messages: one JSON object of the control protocol becomes one of the public dataclasses.

Tolerant where the other side may know more than we do: unknown message types give None, unknown blocks are left out, unknown
fields are ignored. Strict where a message would be a lie: a frame without a field that its class must have raises
`MessageParseError`. This module does not know where frames come from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toolwright.types.blocks import (
    ContentBlock,
    ServerToolResultBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from toolwright.types.errors import MessageParseError
from toolwright.types.messages import (
    AssistantMessage,
    ConversationResetMessage,
    DeferredToolUse,
    Message,
    MessageOrigin,
    ResultMessage,
    StreamEvent,
    UserMessage,
)
from toolwright.types.rate_limits import RateLimitEvent, RateLimitInfo
from toolwright.types.system import HookEventMessage, MirrorErrorMessage, SystemMessage
from toolwright.types.tasks import TaskNotificationMessage, TaskProgressMessage, TaskStartedMessage, TaskUpdatedMessage

Frame = dict[str, Any]


def parse_message(frame: Frame) -> Message | None:
    """The message in `frame`, or None if it is of a kind that has no class. Raises `MessageParseError`."""
    kind = _object(frame, "A frame", frame).get("type")
    if not kind:
        raise MessageParseError("A frame has no 'type'.", frame)
    parse = _MESSAGES.get(kind) if isinstance(kind, str) else None
    if parse is None:
        return None
    try:
        return parse(frame)
    except KeyError as missing:
        raise MessageParseError(f"A frame of type {kind!r} lacks the required field {missing}.", frame) from None


def _object(value: Any, what: str, frame: Frame) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MessageParseError(f"{what} must be an object, not {type(value).__name__}.", frame)
    return value


# Content blocks


def _blocks(content: list[Any], frame: Frame) -> list[ContentBlock]:
    blocks: list[ContentBlock] = []
    for item in content:
        block = _object(item, "A content block", frame)
        build = _block_builder(block["type"])
        if build is not None:
            blocks.append(build(block))
    return blocks


def _block_builder(kind: Any) -> Callable[[dict[str, Any]], ContentBlock] | None:
    if not isinstance(kind, str):
        return None
    if kind.endswith("_tool_result"):  # each provider-side tool has a result type of its own: web_search_tool_result, …
        return _server_tool_result
    return _BLOCKS.get(kind)


def _server_tool_result(block: dict[str, Any]) -> ServerToolResultBlock:
    return ServerToolResultBlock(block["tool_use_id"], block["content"])


def _tool_result(block: dict[str, Any]) -> ToolResultBlock:
    return ToolResultBlock(block["tool_use_id"], block.get("content"), block.get("is_error"))


_BLOCKS: dict[str, Callable[[dict[str, Any]], ContentBlock]] = {
    "text": lambda block: TextBlock(block["text"]),
    # Only some providers sign their thinking.
    "thinking": lambda block: ThinkingBlock(block["thinking"], block.get("signature") or ""),
    "tool_use": lambda block: ToolUseBlock(block["id"], block["name"], block["input"]),
    "tool_result": _tool_result,
    "server_tool_use": lambda block: ServerToolUseBlock(block["id"], block["name"], block["input"]),
}


# Messages of the conversation


def _user(frame: Frame) -> UserMessage:
    content = _object(frame["message"], "The 'message' of a user frame", frame)["content"]
    if not isinstance(content, str | list):
        raise MessageParseError(f"The content of a user frame must be text or blocks, not {type(content).__name__}.", frame)
    return UserMessage(
        content=content if isinstance(content, str) else _blocks(content, frame),
        uuid=frame.get("uuid"),
        parent_tool_use_id=frame.get("parent_tool_use_id"),
        tool_use_result=frame.get("tool_use_result"),
        origin=_origin(frame),
    )


def _assistant(frame: Frame) -> AssistantMessage:
    message = _object(frame["message"], "The 'message' of an assistant frame", frame)
    content = message["content"]
    if not isinstance(content, list):
        raise MessageParseError(f"The content of an assistant frame must be blocks, not {type(content).__name__}.", frame)
    return AssistantMessage(
        content=_blocks(content, frame),
        model=message["model"],
        parent_tool_use_id=frame.get("parent_tool_use_id"),
        error=frame.get("error"),
        usage=message.get("usage"),
        message_id=message.get("id"),
        stop_reason=message.get("stop_reason"),
        session_id=frame.get("session_id"),
        uuid=frame.get("uuid"),
    )


def _result(frame: Frame) -> ResultMessage:
    return ResultMessage(
        subtype=frame["subtype"],
        duration_ms=frame["duration_ms"],
        duration_api_ms=frame["duration_api_ms"],
        is_error=frame["is_error"],
        num_turns=frame["num_turns"],
        session_id=frame["session_id"],
        stop_reason=frame.get("stop_reason"),
        total_cost_usd=frame.get("total_cost_usd"),
        usage=frame.get("usage"),
        result=frame.get("result"),
        structured_output=frame.get("structured_output"),
        model_usage=frame.get("modelUsage"),
        permission_denials=frame.get("permission_denials"),
        deferred_tool_use=_deferred_tool_use(frame),
        errors=frame.get("errors"),
        api_error_status=frame.get("api_error_status"),
        uuid=frame.get("uuid"),
        terminal_reason=frame.get("terminal_reason"),
        origin=_origin(frame),
    )


def _deferred_tool_use(frame: Frame) -> DeferredToolUse | None:
    deferred = frame.get("deferred_tool_use")
    if not deferred:
        return None
    call = _object(deferred, "The 'deferred_tool_use' of a result frame", frame)
    return DeferredToolUse(call["id"], call["name"], call["input"])


def _origin(frame: Frame) -> MessageOrigin | None:
    origin: Any = frame.get("origin")
    known: bool = isinstance(origin, dict) and "kind" in origin
    return origin if known else None


def _stream_event(frame: Frame) -> StreamEvent:
    return StreamEvent(frame["uuid"], frame["session_id"], frame["event"], frame.get("parent_tool_use_id"))


def _conversation_reset(frame: Frame) -> ConversationResetMessage:
    return ConversationResetMessage(frame["new_conversation_id"], frame["uuid"], frame["session_id"])


def _rate_limit_event(frame: Frame) -> RateLimitEvent:
    info = _object(frame["rate_limit_info"], "The 'rate_limit_info' of a rate_limit_event frame", frame)
    limit = RateLimitInfo(
        status=info["status"],
        resets_at=info.get("resetsAt"),
        rate_limit_type=info.get("rateLimitType"),
        utilization=info.get("utilization"),
        overage_status=info.get("overageStatus"),
        overage_resets_at=info.get("overageResetsAt"),
        overage_disabled_reason=info.get("overageDisabledReason"),
        raw=info,
    )
    return RateLimitEvent(limit, frame["uuid"], frame["session_id"])


# System messages: a subtype whose fields are not as expected is still a SystemMessage, so nothing is lost


def _system(frame: Frame) -> SystemMessage:
    subtype = frame["subtype"]
    build = _SYSTEM.get(subtype) if isinstance(subtype, str) else None
    return (build and build(frame)) or SystemMessage(subtype, frame)


def _has_texts(frame: Frame, *names: str) -> bool:
    return all(isinstance(frame.get(name), str) for name in names)


def _task_started(frame: Frame) -> SystemMessage | None:
    if not _has_texts(frame, "task_id", "description", "uuid", "session_id"):
        return None
    return TaskStartedMessage(
        subtype=frame["subtype"],
        data=frame,
        task_id=frame["task_id"],
        description=frame["description"],
        uuid=frame["uuid"],
        session_id=frame["session_id"],
        tool_use_id=frame.get("tool_use_id"),
        task_type=frame.get("task_type"),
    )


def _task_progress(frame: Frame) -> SystemMessage | None:
    measured = isinstance(frame.get("usage"), dict)
    if not measured or not _has_texts(frame, "task_id", "description", "uuid", "session_id"):
        return None
    return TaskProgressMessage(
        subtype=frame["subtype"],
        data=frame,
        task_id=frame["task_id"],
        description=frame["description"],
        usage=frame["usage"],
        uuid=frame["uuid"],
        session_id=frame["session_id"],
        tool_use_id=frame.get("tool_use_id"),
        last_tool_name=frame.get("last_tool_name"),
    )


def _task_updated(frame: Frame) -> SystemMessage | None:
    if not _has_texts(frame, "task_id"):
        return None
    patch = frame.get("patch")
    changes: dict[str, Any] = patch if isinstance(patch, dict) else {}
    return TaskUpdatedMessage(
        subtype=frame["subtype"],
        data=frame,
        task_id=frame["task_id"],
        patch=changes,
        status=changes.get("status"),
        session_id=frame.get("session_id"),
        uuid=frame.get("uuid"),
    )


def _task_notification(frame: Frame) -> SystemMessage | None:
    if not _has_texts(frame, "task_id", "status", "output_file", "summary", "uuid", "session_id"):
        return None
    return TaskNotificationMessage(
        subtype=frame["subtype"],
        data=frame,
        task_id=frame["task_id"],
        status=frame["status"],
        output_file=frame["output_file"],
        summary=frame["summary"],
        uuid=frame["uuid"],
        session_id=frame["session_id"],
        tool_use_id=frame.get("tool_use_id"),
        usage=frame.get("usage"),
    )


def _hook_event(frame: Frame) -> SystemMessage | None:
    event = frame.get("hook_event") or frame.get("hook_event_name") or frame.get("hook_name") or ""
    if not isinstance(event, str):
        return None
    return HookEventMessage(
        subtype=frame["subtype"],
        data=frame,
        hook_event_name=event,
        session_id=frame.get("session_id"),
        uuid=frame.get("uuid"),
    )


def _mirror_error(frame: Frame) -> SystemMessage:
    return MirrorErrorMessage(frame["subtype"], frame, key=frame.get("key"), error=frame.get("error", ""))


_SYSTEM: dict[str, Callable[[Frame], SystemMessage | None]] = {
    "task_started": _task_started,
    "task_progress": _task_progress,
    "task_updated": _task_updated,
    "task_notification": _task_notification,
    "hook_started": _hook_event,
    "hook_progress": _hook_event,
    "hook_response": _hook_event,
    "mirror_error": _mirror_error,
}

_MESSAGES: dict[str, Callable[[Frame], Message]] = {
    "user": _user,
    "assistant": _assistant,
    "system": _system,
    "result": _result,
    "stream_event": _stream_event,
    "rate_limit_event": _rate_limit_event,
    "conversation_reset": _conversation_reset,
}
