"""The fields of every dataclass, in order, with their defaults: programs build them by position and by name."""

import dataclasses
import sys

import pytest

import toolwright.types

FIELDS = {
    "TextBlock": "text",
    "ThinkingBlock": "thinking signature",
    "ToolUseBlock": "id name input",
    "ToolResultBlock": "tool_use_id content=None is_error=None",
    "ServerToolUseBlock": "id name input",
    "ServerToolResultBlock": "tool_use_id content",
    "PermissionRuleValue": "tool_name rule_content=None",
    "PermissionUpdate": "type rules=None behavior=None mode=None directories=None destination=None",
    "ToolPermissionContext": """
        signal=None suggestions=[] tool_use_id=None agent_id=None blocked_path=None decision_reason=None title=None
        display_name=None description=None
    """,
    "PermissionResultAllow": "behavior='allow' updated_input=None updated_permissions=None",
    "PermissionResultDeny": "behavior='deny' message='' interrupt=False",
    "SDKSessionInfo": """
        session_id summary last_modified file_size=None custom_title=None first_prompt=None git_branch=None cwd=None
        tag=None created_at=None
    """,
    "SessionMessage": "type uuid session_id message parent_tool_use_id=None parent_agent_id=None",
    "SystemMessage": "subtype data",
    "HookEventMessage": "subtype data hook_event_name='' session_id=None uuid=None",
    "MirrorErrorMessage": "subtype data key=None error=''",
    "TaskStartedMessage": "subtype data task_id description uuid session_id tool_use_id=None task_type=None",
    "TaskProgressMessage": """
        subtype data task_id description usage uuid session_id tool_use_id=None last_tool_name=None
    """,
    "TaskUpdatedMessage": "subtype data task_id patch status=None session_id=None uuid=None",
    "TaskNotificationMessage": """
        subtype data task_id status output_file summary uuid session_id tool_use_id=None usage=None
    """,
    "RateLimitInfo": """
        status resets_at=None rate_limit_type=None utilization=None overage_status=None overage_resets_at=None
        overage_disabled_reason=None raw={}
    """,
    "RateLimitEvent": "rate_limit_info uuid session_id",
    "DeferredToolUse": "id name input",
    "UserMessage": "content uuid=None parent_tool_use_id=None tool_use_result=None origin=None",
    "AssistantMessage": """
        content model parent_tool_use_id=None error=None usage=None message_id=None stop_reason=None session_id=None
        uuid=None
    """,
    "ResultMessage": """
        subtype duration_ms duration_api_ms is_error num_turns session_id stop_reason=None total_cost_usd=None usage=None
        result=None structured_output=None model_usage=None permission_denials=None deferred_tool_use=None errors=None
        api_error_status=None uuid=None terminal_reason=None origin=None
    """,
    "StreamEvent": "uuid session_id event parent_tool_use_id=None",
    "ConversationResetMessage": "new_conversation_id uuid session_id",
    "HookMatcher": "matcher=None hooks=[] timeout=None on_failure=None",
    "AgentDefinition": """
        description prompt tools=None disallowedTools=None model=None skills=None memory=None mcpServers=None
        initialPrompt=None maxTurns=None background=None effort=None permissionMode=None
    """,
    "ClaudeAgentOptions": """
        tools=None allowed_tools=[] system_prompt=None mcp_servers={} strict_mcp_config=False permission_mode=None
        continue_conversation=False resume=None session_id=None max_turns=None max_budget_usd=None disallowed_tools=[]
        model=None fallback_model=None betas=[] permission_prompt_tool_name=None cwd=None cli_path=None settings=None
        add_dirs=[] env={} extra_args={} max_buffer_size=None debug_stderr=sys.stderr stderr=None can_use_tool=None
        hooks=None user=None include_partial_messages=False include_hook_events=False forward_subagent_text=False
        verbatim_prompts=False fork_session=False resume_session_at=None resume_drops_turn=None agents=None
        setting_sources=None skills=None sandbox=None plugins=[] max_thinking_tokens=None thinking=None effort=None
        output_format=None enable_file_checkpointing=False session_store=None session_store_flush='batched'
        load_timeout_ms=60000 task_budget=None client_app=None boundary='default' persist_session=True
    """,
}


def described(cls: type) -> str:
    assert dataclasses.is_dataclass(cls)
    return " ".join(described_field(field) for field in dataclasses.fields(cls))


def described_field(field: "dataclasses.Field[object]") -> str:
    if field.default_factory is not dataclasses.MISSING:
        return f"{field.name}={field.default_factory()!r}"
    if field.default is dataclasses.MISSING:
        return field.name
    return f"{field.name}={'sys.stderr' if field.name == 'debug_stderr' else repr(field.default)}"


@pytest.mark.parametrize("name", FIELDS)
def test_fields_and_defaults_of(name: str) -> None:
    assert described(getattr(toolwright.types, name)) == " ".join(FIELDS[name].split())


def test_every_dataclass_is_pinned() -> None:
    names = [name for name in toolwright.types.__all__ if dataclasses.is_dataclass(getattr(toolwright.types, name))]
    assert sorted(names) == sorted(FIELDS)


def test_containers_are_not_shared_between_options() -> None:
    first, second = toolwright.types.ClaudeAgentOptions(), toolwright.types.ClaudeAgentOptions()
    first.allowed_tools.append("Read")
    first.env["KEY"] = "value"
    assert second.allowed_tools == []
    assert second.env == {}


def test_options_take_functions_as_tools_and_check_nothing() -> None:
    def greet(name: str) -> str:
        return f"Hello, {name}"

    options = toolwright.types.ClaudeAgentOptions(tools=["Read", greet], max_turns=-1, resume="x", continue_conversation=True)
    assert options.tools == ["Read", greet]
    assert options.max_turns == -1


def test_the_deprecated_stream_defaults_to_standard_error() -> None:
    field = next(field for field in dataclasses.fields(toolwright.types.ClaudeAgentOptions) if field.name == "debug_stderr")
    assert field.default is not dataclasses.MISSING
    assert hasattr(field.default, "write")
    assert field.default is not sys.stdout
