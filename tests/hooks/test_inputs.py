"""What callbacks are told."""

from __future__ import annotations

from toolwright.hooks import MATCHED_FIELD, EventContext, HookedCall, inputs

SCENE = EventContext("s", "/t/s.jsonl", "/work", permission_mode="plan", prompt_id="p", effort="high")
BASE = {"session_id": "s", "transcript_path": "/t/s.jsonl", "cwd": "/work", "prompt_id": "p"}
CALL = HookedCall("Bash", {"command": "ls"}, "t1")
TOOL = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "permission_mode": "plan", "effort": {"level": "high"}}


def test_tool_events() -> None:
    assert inputs.pre_tool_use(SCENE, CALL) == {**BASE, **TOOL, "hook_event_name": "PreToolUse", "tool_use_id": "t1"}
    assert inputs.post_tool_use(SCENE, CALL, tool_response={"stdout": ""}, duration_ms=3) == {
        **BASE,
        **TOOL,
        "hook_event_name": "PostToolUse",
        "tool_use_id": "t1",
        "tool_response": {"stdout": ""},
        "duration_ms": 3,
    }
    failure = inputs.post_tool_use_failure(SCENE, CALL, error="Exit code 1", duration_ms=3)
    assert "tool_response" not in failure
    assert (failure["error"], failure["is_interrupt"], failure["duration_ms"]) == ("Exit code 1", False, 3)


def test_a_permission_request_has_no_tool_use_id() -> None:
    payload = inputs.permission_request(SCENE, CALL, suggestions=[])
    assert payload == {**BASE, **TOOL, "hook_event_name": "PermissionRequest", "permission_suggestions": []}


def test_server_tools_and_subagents_are_named() -> None:
    scene = EventContext("s", "/t", "/w", agent_id="a1", agent_type="Explore")
    payload = inputs.pre_tool_use(scene, HookedCall("mcp__calc__add", {}, "t1", mcp_server="calc"))
    assert (payload["agent_id"], payload["agent_type"]) == ("a1", "Explore")
    assert payload["mcp_server"] == {"name": "calc", "source": "sdk"}
    assert "permission_mode" not in payload


def test_events_of_the_session() -> None:
    assert inputs.user_prompt_submit(SCENE, prompt="hi") == {
        **BASE,
        "hook_event_name": "UserPromptSubmit",
        "permission_mode": "plan",
        "prompt": "hi",
    }
    assert inputs.stop(SCENE, stop_hook_active=False, last_assistant_message="done")["last_assistant_message"] == "done"
    assert inputs.session_start(SCENE, source="startup") == {**BASE, "hook_event_name": "SessionStart", "source": "startup"}
    assert inputs.session_end(SCENE, reason="other")["reason"] == "other"
    assert inputs.notification(SCENE, message="m", notification_type="idle_prompt", title="t")["title"] == "t"


def test_every_matched_field_is_in_its_input() -> None:
    made = [
        inputs.pre_tool_use(SCENE, CALL),
        inputs.post_tool_use(SCENE, CALL, tool_response=None, duration_ms=0),
        inputs.post_tool_use_failure(SCENE, CALL, error=""),
        inputs.permission_request(SCENE, CALL, suggestions=[]),
        inputs.session_start(SCENE, source="startup"),
        inputs.session_end(SCENE, reason="other"),
        inputs.notification(SCENE, message="", notification_type="idle_prompt"),
        inputs.permission_denied(SCENE, CALL, reason=""),
        inputs.stop_failure(SCENE, error="", details="", last_assistant_message=""),
        inputs.subagent_start(SCENE),
        inputs.subagent_stop(SCENE, transcript_path="", stop_hook_active=False),
        inputs.pre_compact(SCENE, trigger="auto"),
        inputs.post_compact(SCENE, trigger="auto", summary=""),
        inputs.instructions_loaded(SCENE, file_path="/w/CLAUDE.md", memory_type="Project", load_reason="session_start"),
    ]
    assert all(MATCHED_FIELD[payload["hook_event_name"]] in payload for payload in made)


def test_events_of_batches_folders_and_subagents() -> None:
    call = {"tool_name": "Bash", "tool_input": {}, "tool_use_id": "t1", "tool_response": "hi"}
    assert inputs.post_tool_batch(SCENE, [call])["tool_calls"] == [call]
    moved = inputs.cwd_changed(SCENE, old="/a", new="/b")
    assert moved == {**BASE, "hook_event_name": "CwdChanged", "old_cwd": "/a", "new_cwd": "/b"}
    scene = EventContext("s", "/t", "/w", agent_id="a1", agent_type="Explore")
    assert inputs.subagent_start(scene).items() >= {"agent_id": "a1", "agent_type": "Explore"}.items()
    stopped = inputs.subagent_stop(scene, transcript_path="/t/a1.jsonl", stop_hook_active=True, last_assistant_message="done")
    assert stopped["hook_event_name"] == "SubagentStop"
    assert (stopped["agent_transcript_path"], stopped["stop_hook_active"]) == ("/t/a1.jsonl", True)
    assert inputs.pre_compact(SCENE, trigger="manual", custom_instructions="short")["custom_instructions"] == "short"
