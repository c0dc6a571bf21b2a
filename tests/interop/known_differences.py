"""What our runtime does differently from the original, by rows of the table in docs/compatibility.md.

A row explains lines of `side_by_side.differences`: `conversation | beginning of the line`, `*` for every conversation;
lines that start with `- ` are theirs, `+ ` ours.
"""

DIFFERENCES: dict[str, tuple[str, ...]] = {
    "Telemetry and switches": (
        *(
            f"* | - key end: {key}"
            for key in (
                "api_error_type",
                "fast_mode",
                "first_content_frame_ms",
                "model_usage_since_last_result",
                "queued_turn_count",
                "result_index",
                "safety_stops",
                "subagent_stats",
                "time_to_request_ms",
                "ttft_",
            )
        ),
        *(
            f"* | - key system/init: {key}"
            for key in (
                "additional_directories",
                "analytics_disabled",
                "capabilities",
                "fast_mode",
                "memory_paths",
                "messaging_socket_path",
                "original_cwd",
                "per_turn_effort_active",
                "product_feedback_disabled",
                "terminal_slash_commands",
                "ultrathink",
                "view_mode",
            )
        ),
        *(
            f"* | - key reply initialize: {key}"
            for key in (
                "analytics_disabled",
                "fast_mode",
                "feedback_mode",
                "hooks_applied",
                "ide_rc_auto_enable_gate",
                "other_hook_ask_outranks_host",
                "remote_control",
                "user_output_styles_dir",
            )
        ),
        *(f"* | - key stream_event: {key}" for key in ("abandoned_blocks", "api_message_id", "thinking_display", "ttft_ms")),
        *(f"* | - key assistant: {key}" for key in ("api_error_type", "thinking_d", "tool_use_meta")),
        "* | - key user: tool_result_meta",
    ),
    "Progress notices": (
        "* | - system/status",
        "* | - system/thinking_tokens",
        "* | - system/informational",
        "* | - system/notification",
        "controls without the SDK | - system/background_tasks_changed",
    ),
    "Context usage": tuple(
        f"controls | - key reply get_context_usage: {key}"
        for key in ("auto", "mcpInstructions", "messageBreakdown", "skills", "slashCommands")
    ),
    "Fields of ours": (
        "* | + key reply initialize: session_id",
        "* | + key system/init: betas",
        "* | + key system/api_retry: message",
        "* | + key can_use_tool: decision_reason",
        "* | + key can_use_tool: title",
        *(
            f"* | + key {event}: effort"
            for event in ("PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "PermissionRequest")
        ),
    ),
    "Absent or null": ("* | - key end: api_error_status", "controls | - reply mcp_toggle", "controls | + reply mcp_toggle"),
    "Permission questions": (
        "* | - suggests Bash",
        "* | + suggests Bash",
        *(f"* | - key can_use_tool: {key}" for key in ("blocked_path", "decision_reason_", "server_policy_ask_only")),
    ),
    "Plans": (
        *(f"{name} | - ask ExitPlanMode {{}}" for name in ("a plan", "a plan that is refused")),
        *(f'{name} | + ask ExitPlanMode {{"plan"' for name in ("a plan", "a plan that is refused")),
        'a plan that is refused | - end permission_denials [{"tool_input": {}, "tool_name": "ExitPlanMode"',
        'a plan that is refused | + end permission_denials [{"tool_input": {"plan"',
    ),
    "Permission hooks": ("a permission hook | - hook PermissionRequest", "a permission hook | + hook PermissionRequest"),
    "Disallowed tools": (
        "a disallowed tool | - end permission_denials []",
        'a disallowed tool | + end permission_denials [{"tool_input": {"command": "touch x"',
        "a disallowed tool | - note tools ['Read']",
        "a disallowed tool | + note tools ['Read', 'Bash']",
    ),
    "Stopping before a tool": (
        "a hook stops before a tool | - result x good",
        "a hook stops before a tool | + result x error",
        "a hook stops before a tool | - note files ['x']",
        "a hook stops before a tool | + note files []",
    ),
    "Blocked prompts": (
        "a hook blocks the prompt | - end terminal_reason null",
        'a hook blocks the prompt | + end terminal_reason "hook_stopped"',
        "a hook blocks the prompt | + key end: terminal_reason",
    ),
    "Silent guards": (
        "a silent guard | - result x good",
        "a silent guard | + result x error",
        "a silent guard | - end permission_denials []",
        "a silent guard | + end permission_denials [{",
        "a silent guard | - note files ['x']",
        "a silent guard | + note files []",
        "a silent guard | - key system/hook_response: exit_code",
    ),
    "Results told once": (
        "Python tools | - result t1 good '42' told as list",
        "Python tools | + result t1 good '42' told as NoneType",
        "structured output | - result t2 good … told as text",
        "structured output | + result t2 good … told as NoneType",
    ),
    "Every call gets a result": (
        "too costly | + result t1 error",
        "too costly | - end num_turns 1",
        "too costly | + end num_turns 2",
    ),
    "API errors": (
        'a busy server | - end stop_reason "stop_sequence"',
        "a busy server | + end stop_reason null",
        'a server that refuses | - end stop_reason "stop_sequence"',
        "a server that refuses | + end stop_reason null",
    ),
    "Interrupts": (
        "* | - user text …",
        "* | + user text … isSynthetic",
        "* | + key user: isSynthetic",
        "interrupted while streaming | - assistant text half of aborted",
        "interrupted while streaming | + assistant text half of",
        "interrupted while streaming | - key assistant: aborted",
        "interrupted while streaming | - event content_block_stop",
        "interrupted while streaming | - event message_delta",
        "interrupted while streaming | - event message_stop",
        "interrupted while streaming | - end total_cost_usd",
        "interrupted while streaming | + end total_cost_usd",
        "interrupted while a tool runs | + withdrawn mcp_message",
        "interrupted while a person is asked | - end permission_denials [{",
        "interrupted while a person is asked | + end permission_denials []",
    ),
    "Costs of a resumed session": ("sessions | - end total_cost_usd", "sessions | + end total_cost_usd 0.000105"),
    "Sessions that cannot open": (
        "an unknown session | - end terminal_reason null",
        'an unknown session | + end terminal_reason "turn_setup_failed"',
        "an unknown session | + key end: terminal_reason",
    ),
}
