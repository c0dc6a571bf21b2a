"""The list of public names: nothing joins or leaves it by accident."""

import subprocess
import sys

import pytest

import toolwright
import toolwright.types

PUBLIC_NAMES = [
    "AgentDefinition",
    "AssistantMessage",
    "BackgroundTaskSummary",
    "BaseHookInput",
    "CLIConnectionError",
    "CLIJSONDecodeError",
    "CLINotFoundError",
    "CanUseTool",
    "CanUseToolShadowedWarning",
    "ClaudeAgentOptions",
    "ClaudeSDKClient",
    "ClaudeSDKError",
    "ContentBlock",
    "ContextUsageCategory",
    "ContextUsageResponse",
    "ControlError",
    "ConversationResetMessage",
    "CwdChangedHookSpecificOutput",
    "DeferredToolUse",
    "EffortLevel",
    "ElicitationHookSpecificOutput",
    "ElicitationResultHookSpecificOutput",
    "FastModeDisabledReason",
    "FastModeState",
    "FileChangedHookSpecificOutput",
    "HookCallback",
    "HookContext",
    "HookEffort",
    "HookEventMessage",
    "HookInput",
    "HookJSONOutput",
    "HookMatcher",
    "McpSdkServerConfig",
    "McpServerConfig",
    "McpServerConnectionStatus",
    "McpServerInfo",
    "McpServerStatus",
    "McpServerStatusConfig",
    "McpStatusResponse",
    "McpToolAnnotations",
    "McpToolInfo",
    "Message",
    "MessageDisplayHookSpecificOutput",
    "MessageOrigin",
    "MessageOriginKind",
    "MirrorErrorMessage",
    "ModelUsage",
    "NotificationHookInput",
    "NotificationHookSpecificOutput",
    "OptionsError",
    "PermissionDeniedHookSpecificOutput",
    "PermissionMode",
    "PermissionRequestHookInput",
    "PermissionRequestHookSpecificOutput",
    "PermissionResult",
    "PermissionResultAllow",
    "PermissionResultDeny",
    "PermissionUpdate",
    "PostModelSwitchHookSpecificOutput",
    "PostToolBatchHookSpecificOutput",
    "PostToolUseFailureHookInput",
    "PostToolUseFailureHookSpecificOutput",
    "PostToolUseHookInput",
    "PostToolUseHookSpecificOutput",
    "PreCompactHookInput",
    "PreModelSwitchHookSpecificOutput",
    "PreToolUseHookInput",
    "PreToolUseHookSpecificOutput",
    "ProcessError",
    "RateLimitEvent",
    "RateLimitInfo",
    "RateLimitStatus",
    "RateLimitType",
    "ResultError",
    "ResultMessage",
    "SDKJSONDecodeError",
    "SDKSessionInfo",
    "SandboxIgnoreViolations",
    "SandboxNetworkConfig",
    "SandboxSettings",
    "SdkBeta",
    "SdkMcpTool",
    "SdkPluginConfig",
    "ServerToolName",
    "ServerToolResultBlock",
    "ServerToolUseBlock",
    "SessionCronSummary",
    "SessionKey",
    "SessionListSubkeysKey",
    "SessionMessage",
    "SessionStartHookSpecificOutput",
    "SessionStoreEntry",
    "SessionStoreFlushMode",
    "SessionStoreListEntry",
    "SessionSummaryEntry",
    "SettingSource",
    "StopHookInput",
    "StopHookSpecificOutput",
    "StreamEvent",
    "SubagentStartHookInput",
    "SubagentStartHookSpecificOutput",
    "SubagentStopHookInput",
    "SubagentStopHookSpecificOutput",
    "SystemInitData",
    "SystemInitMcpServer",
    "SystemInitPlugin",
    "SystemInitPluginError",
    "SystemMessage",
    "TERMINAL_TASK_STATUSES",
    "TaskBudget",
    "TaskNotificationMessage",
    "TaskNotificationOriginSubkind",
    "TaskNotificationStatus",
    "TaskProgressMessage",
    "TaskStartedMessage",
    "TaskUpdatedMessage",
    "TaskUpdatedStatus",
    "TaskUsage",
    "TextBlock",
    "ThinkingBlock",
    "ThinkingConfig",
    "ThinkingConfigAdaptive",
    "ThinkingConfigDisabled",
    "ThinkingConfigEnabled",
    "ToolAnnotations",
    "ToolPermissionContext",
    "ToolResultBlock",
    "ToolUseBlock",
    "Transport",
    "UserMessage",
    "UserPromptExpansionHookSpecificOutput",
    "UserPromptSubmitHookInput",
    "UserPromptSubmitHookSpecificOutput",
    "WorktreeCreateHookSpecificOutput",
    "__version__",
    "create_sdk_mcp_server",
    "install_as_claude_agent_sdk",
    "query",
    "refuse_inspection",
    "tool",
]


def test_public_names_are_exactly_these() -> None:
    assert sorted(toolwright.__all__) == PUBLIC_NAMES


def test_no_name_is_listed_twice() -> None:
    assert len(set(toolwright.__all__)) == len(toolwright.__all__)
    assert len(set(toolwright.types.__all__)) == len(toolwright.types.__all__)


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_name_can_be_imported(name: str) -> None:
    assert getattr(toolwright, name) is not None


def test_types_of_both_modules_are_the_same_objects() -> None:
    for name in set(toolwright.__all__) & set(toolwright.types.__all__):
        assert getattr(toolwright, name) is getattr(toolwright.types, name)


def test_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="'toolwright' has no attribute 'list_sessionz'"):
        _ = toolwright.list_sessionz  # type: ignore[attr-defined]  # the error is what is tested


def test_dir_lists_names_before_they_are_loaded() -> None:
    assert set(toolwright.__all__) <= set(dir(toolwright))


def test_types_module_is_reachable_without_importing_it() -> None:
    code = "import toolwright; print(toolwright.types.PermissionRuleValue.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "PermissionRuleValue\n"
