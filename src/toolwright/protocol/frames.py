"""The frames a session gives out, one function each: plain JSON objects, ready for a wire or for `parse_message`.

Only shapes live here; when a frame is sent is the runtime's business.
"""

from __future__ import annotations

from typing import Any

from toolwright.base.ids import new_uuid, timestamp

Frame = dict[str, Any]


def system(subtype: str, session_id: str, **fields: Any) -> Frame:
    return {"type": "system", "subtype": subtype, "session_id": session_id, "uuid": new_uuid(), **fields}


def session_state(state: str, session_id: str) -> Frame:
    """For hosts that show a state light; SDKs swallow frames marked `sdk_host_only`."""
    return system("session_state_changed", session_id, state=state, sdk_host_only=True)


def assistant(
    block: dict[str, Any], *, session_id: str, message: dict[str, Any], uuid: str, request_id: str | None = None
) -> Frame:
    """One content block of an answer. `message` holds id, model and usage; every block of an answer shares them."""
    frame: Frame = {
        "type": "assistant",
        "message": {
            "id": message["id"],
            "type": "message",
            "role": "assistant",
            "model": message["model"],
            "content": [block],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": message["usage"],
        },
        "parent_tool_use_id": None,
        "session_id": session_id,
        "uuid": uuid,
        "timestamp": timestamp(),
    }
    if request_id:
        frame["request_id"] = request_id
    return frame


def api_error(text: str, *, session_id: str, error: str, status: int | None) -> Frame:
    """A failed request, as an answer that no model gave."""
    message = {"id": new_uuid(), "model": "<synthetic>", "usage": {"input_tokens": 0, "output_tokens": 0}}
    frame = assistant({"type": "text", "text": text}, session_id=session_id, message=message, uuid=new_uuid())
    frame["error"] = error
    frame["is_api_error_message"] = True
    if status is not None:
        frame["api_error_status"] = status
    return frame


def user(content: Any, *, session_id: str, uuid: str | None = None, **fields: Any) -> Frame:
    return {
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": None,
        "session_id": session_id,
        "uuid": uuid or new_uuid(),
        "timestamp": timestamp(),
        **fields,
    }


def tool_result(block: dict[str, Any], *, session_id: str, uuid: str, structured: Any) -> Frame:
    return user([block], session_id=session_id, uuid=uuid, tool_use_result=structured)


def synthetic_user(text: str, *, session_id: str) -> Frame:
    """A text that the runtime itself put into the conversation."""
    return user([{"type": "text", "text": text}], session_id=session_id, isSynthetic=True)


def hook_started(run: str, name: str, event: str, *, session_id: str) -> Frame:
    """A hook of the settings begins. `run` is the id that its end has as well."""
    return system("hook_started", session_id, hook_id=run, hook_name=name, hook_event=event)


def hook_response(run: str, name: str, event: str, *, session_id: str, **told: Any) -> Frame:
    """A hook of the settings has ended; `told` holds output, stdout, stderr, exit_code and outcome."""
    return system("hook_response", session_id, hook_id=run, hook_name=name, hook_event=event, **told)


def stream_event(event: dict[str, Any], *, session_id: str) -> Frame:
    return {
        "type": "stream_event",
        "event": event,
        "session_id": session_id,
        "parent_tool_use_id": None,
        "uuid": new_uuid(),
    }


def task_started(task_id: str, session_id: str, *, description: str, task_type: str, tool_use_id: str) -> Frame:
    return system(
        "task_started",
        session_id,
        task_id=task_id,
        tool_use_id=tool_use_id,
        description=description,
        task_type=task_type,
        is_backgrounded=True,
    )


def task_updated(task_id: str, session_id: str, **patch: Any) -> Frame:
    return system("task_updated", session_id, task_id=task_id, patch=patch)


def task_notification(task_id: str, session_id: str, *, status: str, summary: str, output_file: str, tool_use_id: str) -> Frame:
    """`status` is completed, failed or stopped."""
    return system(
        "task_notification",
        session_id,
        task_id=task_id,
        tool_use_id=tool_use_id,
        status=status,
        output_file=output_file,
        summary=summary,
    )


def background_tasks_changed(tasks: list[dict[str, str]], session_id: str) -> Frame:
    """All tasks that run now, each with task_id, task_type and description."""
    return system("background_tasks_changed", session_id, tasks=tasks)
