"""What a hook is told: one function per event, each giving the dict that goes to callbacks as it is.

Knows the shape of the inputs, not the session they come from: that is handed over as a `EventContext`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from toolwright.hooks.events import EVENTS

MATCHED_FIELD: Mapping[str, str] = {name: event.matched for name, event in EVENTS.items() if event.matched is not None}
"""The field of an event's input that its matchers are about; events not named here are for every hook."""


EFFORT_EVENTS = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "Stop", "SubagentStop"})
"""Events whose input says how hard the model is to think."""


class EventContext(Struct, frozen=True):
    """What all events of a moment share."""

    session_id: str
    transcript_path: str
    cwd: str
    permission_mode: str | None = None
    prompt_id: str | None = None
    effort: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None


class HookedCall(Struct, frozen=True):
    """The call a tool event is about. `mcp_server` is the server's name, for a server's tool."""

    name: str
    input: dict[str, Any]
    tool_use_id: str
    mcp_server: str | None = None


def pre_tool_use(scene: EventContext, call: HookedCall) -> dict[str, Any]:
    return _tool_event(scene, "PreToolUse", call) | {"tool_use_id": call.tool_use_id}


def post_tool_use(scene: EventContext, call: HookedCall, *, tool_response: Any, duration_ms: int) -> dict[str, Any]:
    result = {"tool_response": tool_response, "tool_use_id": call.tool_use_id, "duration_ms": duration_ms}
    return _tool_event(scene, "PostToolUse", call) | result


def post_tool_use_failure(
    scene: EventContext, call: HookedCall, *, error: str, is_interrupt: bool = False, duration_ms: int = 0
) -> dict[str, Any]:
    failure = {"error": error, "is_interrupt": is_interrupt, "duration_ms": duration_ms}
    return _tool_event(scene, "PostToolUseFailure", call) | {"tool_use_id": call.tool_use_id} | failure


def permission_request(scene: EventContext, call: HookedCall, *, suggestions: list[dict[str, Any]]) -> dict[str, Any]:
    """`suggestions` are permission updates in the wire's shape. This event carries no tool_use_id."""
    return _tool_event(scene, "PermissionRequest", call) | {"permission_suggestions": suggestions}


def permission_denied(scene: EventContext, call: HookedCall, *, reason: str) -> dict[str, Any]:
    return _tool_event(scene, "PermissionDenied", call) | {"tool_use_id": call.tool_use_id, "reason": reason}


def post_tool_batch(scene: EventContext, calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """`calls` hold tool_name, tool_input, tool_use_id and tool_response of every call of one answer."""
    return _event(scene, "PostToolBatch", with_mode=True) | {"tool_calls": [dict(call) for call in calls]}


def user_prompt_submit(scene: EventContext, *, prompt: str) -> dict[str, Any]:
    return _event(scene, "UserPromptSubmit", with_mode=True) | {"prompt": prompt}


def stop(scene: EventContext, *, stop_hook_active: bool, last_assistant_message: str | None = None) -> dict[str, Any]:
    payload = _event(scene, "Stop", with_mode=True) | {"stop_hook_active": stop_hook_active}
    if last_assistant_message is not None:
        payload["last_assistant_message"] = last_assistant_message
    return payload | {"background_tasks": [], "session_crons": []}


def stop_failure(scene: EventContext, *, error: str, details: str, last_assistant_message: str) -> dict[str, Any]:
    failure = {"error": error, "error_details": details, "last_assistant_message": last_assistant_message}
    return _event(scene, "StopFailure", with_mode=True) | failure


def subagent_start(scene: EventContext) -> dict[str, Any]:
    """The scene says which subagent."""
    return _event(scene, "SubagentStart") | {"agent_id": scene.agent_id, "agent_type": scene.agent_type}


def subagent_stop(
    scene: EventContext, *, transcript_path: str, stop_hook_active: bool, last_assistant_message: str | None = None
) -> dict[str, Any]:
    agent = {"agent_id": scene.agent_id, "agent_type": scene.agent_type, "agent_transcript_path": transcript_path}
    told = stop(scene, stop_hook_active=stop_hook_active, last_assistant_message=last_assistant_message)
    return told | {"hook_event_name": "SubagentStop"} | agent


def pre_compact(scene: EventContext, *, trigger: str, custom_instructions: str | None = None) -> dict[str, Any]:
    """`trigger` is manual or auto."""
    return _event(scene, "PreCompact") | {"trigger": trigger, "custom_instructions": custom_instructions}


def post_compact(scene: EventContext, *, trigger: str, summary: str) -> dict[str, Any]:
    return _event(scene, "PostCompact") | {"trigger": trigger, "compact_summary": summary}


def cwd_changed(scene: EventContext, *, old: str, new: str) -> dict[str, Any]:
    return _event(scene, "CwdChanged") | {"old_cwd": old, "new_cwd": new}


def directory_added(scene: EventContext, *, directory: str) -> dict[str, Any]:
    return _event(scene, "DirectoryAdded") | {"directory": directory}


def instructions_loaded(
    scene: EventContext, *, file_path: str, memory_type: str, load_reason: str, parent_file_path: str | None = None
) -> dict[str, Any]:
    """`parent_file_path` is the file that imports this one."""
    told = {"file_path": file_path, "memory_type": memory_type, "load_reason": load_reason}
    return _event(scene, "InstructionsLoaded") | told | ({"parent_file_path": parent_file_path} if parent_file_path else {})


def model_switch(scene: EventContext, event: str, *, old: str, new: str, trigger: str) -> dict[str, Any]:
    """`event` is PreModelSwitch or PostModelSwitch, `trigger` set_model or fallback."""
    return _event(scene, event) | {"from_model": old, "to_model": new, "trigger": trigger}


def session_start(scene: EventContext, *, source: str, model: str | None = None) -> dict[str, Any]:
    """`source` is one of startup, resume, clear, compact."""
    return _event(scene, "SessionStart") | {"source": source} | ({"model": model} if model else {})


def session_end(scene: EventContext, *, reason: str) -> dict[str, Any]:
    return _event(scene, "SessionEnd") | {"reason": reason}


def notification(scene: EventContext, *, message: str, notification_type: str, title: str | None = None) -> dict[str, Any]:
    payload = _event(scene, "Notification") | {"message": message, "notification_type": notification_type}
    return payload | ({"title": title} if title else {})


def _event(scene: EventContext, name: str, *, with_mode: bool = False) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "session_id": scene.session_id,
        "transcript_path": scene.transcript_path,
        "cwd": scene.cwd,
        "hook_event_name": name,
    }
    if scene.prompt_id is not None:
        payload["prompt_id"] = scene.prompt_id
    if with_mode and scene.permission_mode is not None:
        payload["permission_mode"] = scene.permission_mode
    if name in EFFORT_EVENTS and scene.effort is not None:
        payload["effort"] = {"level": scene.effort}
    return payload


def _tool_event(scene: EventContext, name: str, call: HookedCall) -> dict[str, Any]:
    payload = _event(scene, name, with_mode=True)
    server = {"name": call.mcp_server, "source": "sdk"} if call.mcp_server is not None else None
    optional = {"agent_id": scene.agent_id, "agent_type": scene.agent_type, "mcp_server": server}
    payload.update((key, value) for key, value in optional.items() if value is not None)
    return payload | {"tool_name": call.name, "tool_input": call.input}
