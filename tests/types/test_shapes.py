"""The keys of every TypedDict (`?` marks those that may be missing) and the values of every Literal."""

import typing

import pytest

import toolwright.types

KEYS = {
    "SessionKey": "project_key session_id subpath?",
    "SessionListSubkeysKey": "project_key session_id",
    "SessionStoreEntry": "type uuid? timestamp?",
    "SessionStoreListEntry": "session_id mtime",
    "SessionSummaryEntry": "session_id mtime data",
    "SystemInitMcpServer": "name status source?",
    "SystemInitPlugin": "name path version?",
    "SystemInitPluginError": "plugin type message path?",
    "SystemInitData": """
        type subtype uuid session_id agents? apiKeySource betas? claude_code_version cwd tools mcp_servers model
        permissionMode slash_commands terminal_slash_commands? output_style skills plugins plugin_errors? fast_mode_state?
        fast_mode_disabled_reason? capabilities?
    """,
    "TaskUsage": "total_tokens tool_uses duration_ms",
    "MessageOrigin": "kind server? from? name? fromSession? senderTaskId? body? verifiedPeerPid? subkind?",
    "ModelUsage": """
        inputTokens outputTokens cacheReadInputTokens cacheCreationInputTokens webSearchRequests costUSD contextWindow
        maxOutputTokens canonicalModel? provider?
    """,
    "ContextUsageCategory": "name tokens color isDeferred?",
    "ContextUsageResponse": """
        categories totalTokens maxTokens rawMaxTokens percentage model isAutoCompactEnabled memoryFiles mcpTools agents
        gridRows autoCompactThreshold? deferredBuiltinTools? systemTools? systemPromptSections? slashCommands? skills?
        messageBreakdown? apiUsage?
    """,
    "HookEffort": "level",
    "BackgroundTaskSummary": "id type status description command? agent_type? server? tool? name?",
    "SessionCronSummary": "id schedule recurring prompt",
    "BaseHookInput": "session_id transcript_path cwd permission_mode? prompt_id? effort?",
    "PreToolUseHookInput": """
        session_id transcript_path cwd permission_mode? prompt_id? effort? agent_id? agent_type? hook_event_name tool_name
        tool_input tool_use_id
    """,
    "PostToolUseHookInput": """
        session_id transcript_path cwd permission_mode? prompt_id? effort? agent_id? agent_type? hook_event_name tool_name
        tool_input tool_response tool_use_id duration_ms?
    """,
    "PostToolUseFailureHookInput": """
        session_id transcript_path cwd permission_mode? prompt_id? effort? agent_id? agent_type? hook_event_name tool_name
        tool_input tool_use_id error is_interrupt? duration_ms?
    """,
    "UserPromptSubmitHookInput": """
        session_id transcript_path cwd permission_mode? prompt_id? effort? hook_event_name prompt
    """,
    "StopHookInput": """
        session_id transcript_path cwd permission_mode? prompt_id? effort? hook_event_name stop_hook_active
        last_assistant_message? background_tasks? session_crons?
    """,
    "SubagentStopHookInput": """
        session_id transcript_path cwd permission_mode? prompt_id? effort? hook_event_name stop_hook_active agent_id
        agent_transcript_path agent_type last_assistant_message? background_tasks? session_crons?
    """,
    "PreCompactHookInput": """
        session_id transcript_path cwd permission_mode? prompt_id? effort? hook_event_name trigger custom_instructions
    """,
    "NotificationHookInput": """
        session_id transcript_path cwd permission_mode? prompt_id? effort? hook_event_name message title? notification_type
    """,
    "SubagentStartHookInput": """
        session_id transcript_path cwd permission_mode? prompt_id? effort? hook_event_name agent_id agent_type
    """,
    "PermissionRequestHookInput": """
        session_id transcript_path cwd permission_mode? prompt_id? effort? agent_id? agent_type? hook_event_name tool_name
        tool_input permission_suggestions?
    """,
    "PreToolUseHookSpecificOutput": """
        hookEventName permissionDecision? permissionDecisionReason? updatedInput? additionalContext?
    """,
    "PostToolUseHookSpecificOutput": "hookEventName additionalContext? updatedToolOutput? updatedMCPToolOutput?",
    "PostToolUseFailureHookSpecificOutput": "hookEventName additionalContext?",
    "UserPromptSubmitHookSpecificOutput": "hookEventName additionalContext? sessionTitle? suppressOriginalPrompt?",
    "SessionStartHookSpecificOutput": """
        hookEventName additionalContext? initialUserMessage? sessionTitle? watchPaths? reloadSkills?
    """,
    "NotificationHookSpecificOutput": "hookEventName additionalContext?",
    "SubagentStartHookSpecificOutput": "hookEventName additionalContext?",
    "PermissionRequestHookSpecificOutput": "hookEventName decision",
    "UserPromptExpansionHookSpecificOutput": "hookEventName additionalContext? suppressOriginalPrompt?",
    "PostToolBatchHookSpecificOutput": "hookEventName additionalContext?",
    "StopHookSpecificOutput": "hookEventName additionalContext?",
    "SubagentStopHookSpecificOutput": "hookEventName additionalContext?",
    "PermissionDeniedHookSpecificOutput": "hookEventName retry?",
    "PreModelSwitchHookSpecificOutput": "hookEventName permissionDecision? permissionDecisionReason?",
    "PostModelSwitchHookSpecificOutput": "hookEventName additionalContext?",
    "ElicitationHookSpecificOutput": "hookEventName action? content?",
    "ElicitationResultHookSpecificOutput": "hookEventName action? content?",
    "CwdChangedHookSpecificOutput": "hookEventName watchPaths?",
    "FileChangedHookSpecificOutput": "hookEventName watchPaths?",
    "WorktreeCreateHookSpecificOutput": "hookEventName worktreePath",
    "MessageDisplayHookSpecificOutput": "hookEventName displayContent?",
    "AsyncHookJSONOutput": "async_ asyncTimeout?",
    "SyncHookJSONOutput": "continue_? suppressOutput? stopReason? decision? systemMessage? reason? hookSpecificOutput?",
    "HookContext": "signal",
    "McpStdioServerConfig": "type? command args? env?",
    "McpSSEServerConfig": "type url headers?",
    "McpHttpServerConfig": "type url headers?",
    "McpSdkServerConfig": "type name instance",
    "McpSdkServerConfigStatus": "type name",
    "McpClaudeAIProxyServerConfig": "type url id",
    "McpToolAnnotations": "readOnly? destructive? openWorld?",
    "McpToolInfo": "name description? annotations?",
    "McpServerInfo": "name version",
    "McpServerStatus": "name status serverInfo? error? config? scope? tools?",
    "McpStatusResponse": "mcpServers",
    "SandboxNetworkConfig": """
        allowedDomains? deniedDomains? allowManagedDomainsOnly? allowUnixSockets? allowAllUnixSockets? allowLocalBinding?
        allowMachLookup? httpProxyPort? socksProxyPort?
    """,
    "SandboxSettings": """
        enabled? autoAllowBashIfSandboxed? excludedCommands? allowUnsandboxedCommands? network? ignoreViolations?
        enableWeakerNestedSandbox?
    """,
    "ThinkingConfigAdaptive": "type display?",
    "ThinkingConfigEnabled": "type budget_tokens display?",
    "ThinkingConfigDisabled": "type",
    "SystemPromptPreset": "type preset append? exclude_dynamic_sections? snapshot?",
    "SystemPromptCustom": "type prompt snapshot?",
    "SystemPromptFile": "type path",
    "ToolsPreset": "type preset",
    "SdkPluginConfig": "type path",
    "TaskBudget": "total",
    "SDKControlInitializeRequest": """
        subtype hooks agents? excludeDynamicSections? systemPromptSnapshot? skills? forwardSubagentText?
    """,
    "SDKControlInterruptRequest": "subtype",
    "SDKControlSetPermissionModeRequest": "subtype mode",
    "SDKControlRewindFilesRequest": "subtype user_message_id",
    "SDKControlMcpReconnectRequest": "subtype serverName",
    "SDKControlMcpToggleRequest": "subtype serverName enabled",
    "SDKControlStopTaskRequest": "subtype task_id",
    "SDKControlPermissionRequest": """
        subtype tool_name input permission_suggestions blocked_path tool_use_id decision_reason? title? display_name?
        description? agent_id?
    """,
    "SDKHookCallbackRequest": "subtype callback_id input tool_use_id",
    "SDKControlMcpMessageRequest": "subtype server_name message",
    "SDKControlRequest": "type request_id request",
    "ControlResponse": "subtype request_id response",
    "ControlErrorResponse": "subtype request_id error",
    "SDKControlResponse": "type response",
}

VALUES = {
    "ServerToolName": """
        advisor web_search web_fetch code_execution bash_code_execution text_editor_code_execution tool_search_tool_regex
        tool_search_tool_bm25
    """,
    "PermissionMode": "default acceptEdits plan bypassPermissions dontAsk auto",
    "PermissionBehavior": "allow deny ask",
    "PermissionUpdateDestination": "userSettings projectSettings localSettings session",
    "PermissionUpdateType": "addRules replaceRules removeRules setMode addDirectories removeDirectories",
    "SessionStoreFlushMode": "batched eager",
    "FastModeState": "off cooldown on",
    "FastModeDisabledReason": """
        free preference extra_usage_disabled network_error unknown not_first_party disabled_by_env model_not_allowed
        sdk_opt_in_required pending
    """,
    "TaskUpdatedStatus": "pending running paused completed failed killed",
    "TaskNotificationStatus": "completed failed stopped",
    "RateLimitStatus": "allowed allowed_warning rejected",
    "RateLimitType": "five_hour seven_day seven_day_opus seven_day_sonnet overage",
    "AssistantMessageError": "authentication_failed billing_error rate_limit invalid_request server_error unknown",
    "MessageOriginKind": """
        human channel peer task-notification coordinator unclassified observer auto-continuation observer-activity
    """,
    "TaskNotificationOriginSubkind": "scheduled-trigger peer-send-message",
    "HookEvent": """
        PreToolUse PostToolUse PostToolUseFailure UserPromptSubmit Stop SubagentStop PreCompact Notification SubagentStart
        PermissionRequest
    """,
    "McpServerConnectionStatus": "connected failed needs-auth pending disabled",
    "EffortLevel": "low medium high xhigh max",
    "ThinkingDisplay": "summarized omitted",
    "SettingSource": "user project local",
    "SdkBeta": "context-1m-2025-08-07",
}


def described(cls: typing.Any) -> str:
    return " ".join(key if key in cls.__required_keys__ else f"{key}?" for key in cls.__annotations__)


def public(kind: str) -> list[str]:
    values = {name: getattr(toolwright.types, name) for name in toolwright.types.__all__}
    if kind == "TypedDict":
        return sorted(name for name, value in values.items() if typing.is_typeddict(value))
    return sorted(name for name, value in values.items() if typing.get_origin(value) is typing.Literal)


@pytest.mark.parametrize("name", KEYS)
def test_keys_of(name: str) -> None:
    assert described(getattr(toolwright.types, name)) == " ".join(KEYS[name].split())


@pytest.mark.parametrize("name", VALUES)
def test_values_of(name: str) -> None:
    assert " ".join(typing.get_args(getattr(toolwright.types, name))) == " ".join(VALUES[name].split())


def test_every_typed_dict_and_literal_is_pinned() -> None:
    assert public("TypedDict") == sorted(KEYS)
    assert public("Literal") == sorted(VALUES)


def test_type_hints_of_every_typed_dict_resolve() -> None:
    for name in KEYS:
        assert typing.get_type_hints(getattr(toolwright.types, name))


def test_terminal_statuses_are_those_after_which_nothing_changes() -> None:
    assert frozenset({"completed", "failed", "stopped", "killed"}) == toolwright.types.TERMINAL_TASK_STATUSES
