"""Our vocabulary against that of the published `claude-agent-sdk`, by introspection of both.

Runs where that package is installed. What differs on purpose is named here, with the reason.
"""

import dataclasses
import importlib
import inspect
import typing
from typing import Any

import pytest

import toolwright
import toolwright.types
from toolwright.protocol.parse import parse_message

published = importlib.import_module("claude_agent_sdk")
published_types = importlib.import_module("claude_agent_sdk.types")

LATER = {
    "ForkSessionResult",
    "InMemorySessionStore",
    "SessionStore",
    "delete_session",
    "delete_session_via_store",
    "fold_session_summary",
    "fork_session",
    "fork_session_via_store",
    "get_session_info",
    "get_session_info_from_store",
    "get_session_messages",
    "get_session_messages_from_store",
    "get_subagent_messages",
    "get_subagent_messages_from_store",
    "import_session_to_store",
    "list_sessions",
    "list_sessions_from_store",
    "list_subagents",
    "list_subagents_from_store",
    "project_key_for_directory",
    "rename_session",
    "rename_session_via_store",
    "tag_session",
    "tag_session_via_store",
}
"""Names that come with the session stores and listings."""

OURS = {"ControlError", "OptionsError", "SDKJSONDecodeError", "install_as_claude_agent_sdk", "refuse_inspection"}
"""Names that only we have."""


def names_where(test: Any) -> list[str]:
    """Public names of both type modules whose value, theirs, passes `test`."""
    values = {name: getattr(published_types, name) for name in vars(published_types) if not name.startswith("_")}
    return sorted(name for name, value in values.items() if value.__class__ is not type(typing) and test(value))


def belongs(value: Any) -> bool:
    return getattr(value, "__module__", "") == published_types.__name__


DATACLASSES = names_where(lambda value: isinstance(value, type) and dataclasses.is_dataclass(value))
TYPED_DICTS = names_where(typing.is_typeddict)
LITERALS = names_where(lambda value: typing.get_origin(value) is typing.Literal)
CLASSES = names_where(lambda value: isinstance(value, type) and belongs(value))


def test_the_introspection_finds_something() -> None:
    assert (len(DATACLASSES), len(TYPED_DICTS), len(LITERALS)) >= (30, 70, 15)


def test_every_public_name_is_here_or_planned() -> None:
    assert set(published.__all__) - set(toolwright.__all__) == LATER
    assert set(toolwright.__all__) - set(published.__all__) == OURS


@pytest.mark.parametrize("name", sorted({*CLASSES, *LITERALS}))
def test_every_class_and_literal_of_the_types_module_is_here(name: str) -> None:
    assert hasattr(toolwright.types, name)


def default_of(field: Any) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return "required" if field.default is dataclasses.MISSING else field.default


FIELDS_OF_OURS = {"ClaudeAgentOptions": ["boundary", "persist_session"]}
"""They come last, so that positions stay the same."""


@pytest.mark.parametrize("name", DATACLASSES)
def test_dataclass_has_the_same_fields_in_the_same_order_with_the_same_defaults(name: str) -> None:
    ours, theirs = getattr(toolwright.types, name), getattr(published_types, name)
    names = [field.name for field in dataclasses.fields(theirs)] + FIELDS_OF_OURS.get(name, [])
    assert [field.name for field in dataclasses.fields(ours)] == names
    for our_field, their_field in zip(dataclasses.fields(ours), dataclasses.fields(theirs), strict=False):
        if our_field.name != "debug_stderr":  # whatever was standard error when each was imported
            assert default_of(our_field) == default_of(their_field)
    assert ours.__dataclass_params__.frozen == theirs.__dataclass_params__.frozen


@pytest.mark.parametrize("name", DATACLASSES)
def test_dataclass_has_the_same_bases_and_public_methods(name: str) -> None:
    ours, theirs = getattr(toolwright.types, name), getattr(published_types, name)
    assert [base.__name__ for base in ours.__mro__] == [base.__name__ for base in theirs.__mro__]
    assert public_callables(theirs) <= public_callables(ours)


def public_callables(cls: type) -> set[str]:
    return {name for name, value in inspect.getmembers(cls, callable) if not name.startswith("_")}


@pytest.mark.parametrize("name", TYPED_DICTS)
def test_typed_dict_has_the_same_keys_and_needs_the_same(name: str) -> None:
    ours, theirs = getattr(toolwright.types, name), getattr(published_types, name)
    assert ours.__required_keys__ == theirs.__required_keys__
    assert ours.__optional_keys__ == theirs.__optional_keys__


def spelled(hint: Any) -> str:
    """A type as text, without the modules its parts come from; unions and nested Literals in one order."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return f"Literal{sorted(arguments, key=repr)}"
    if str(origin) in ("typing.Union", "<class 'types.UnionType'>"):
        return " | ".join(sorted(flattened(arguments)))
    if isinstance(hint, list):
        return str([spelled(part) for part in hint])
    if arguments:
        return f"{getattr(origin, '__name__', origin)}[{', '.join(spelled(part) for part in arguments)}]"
    return getattr(hint, "__name__", str(hint))


def flattened(members: tuple[Any, ...]) -> list[str]:
    values = [value for member in members if typing.get_origin(member) is typing.Literal for value in typing.get_args(member)]
    rest = [spelled(member) for member in members if typing.get_origin(member) is not typing.Literal]
    return [*rest, f"Literal{sorted(values, key=repr)}"] if values else rest


OTHER_HINTS = {
    "ClaudeAgentOptions.tools",  # ours takes Python functions too
    "ClaudeAgentOptions.model",  # ours takes model objects too
    "ClaudeAgentOptions.hooks",  # theirs is a union of one-valued Literals; the values are compared below
    "SDKControlInitializeRequest.hooks",
}


# The hints of McpSdkServerConfig name a class of another package, which theirs imports for type checkers only.
@pytest.mark.parametrize("name", [name for name in (*DATACLASSES, *TYPED_DICTS) if name != "McpSdkServerConfig"])
def test_fields_have_the_same_types(name: str) -> None:
    ours = typing.get_type_hints(getattr(toolwright.types, name))
    theirs = typing.get_type_hints(getattr(published_types, name))
    for field, hint in ours.items():
        if f"{name}.{field}" not in OTHER_HINTS and field not in FIELDS_OF_OURS.get(name, []):
            assert spelled(hint) == spelled(theirs[field]), field


@pytest.mark.parametrize("name", LITERALS)
def test_literal_has_the_same_values(name: str) -> None:
    assert typing.get_args(getattr(toolwright.types, name)) == typing.get_args(getattr(published_types, name))


def test_hook_events_are_the_same() -> None:
    theirs = [value for member in typing.get_args(published_types.HookEvent) for value in typing.get_args(member)]
    assert list(typing.get_args(toolwright.types.HookEvent)) == theirs


UNIONS = [
    "CanUseTool",
    "ContentBlock",
    "HookCallback",
    "HookInput",
    "HookJSONOutput",
    "HookSpecificOutput",
    "McpServerConfig",
    "McpServerStatusConfig",
    "Message",
    "PermissionResult",
    "SandboxIgnoreViolations",
    "ThinkingConfig",
]


@pytest.mark.parametrize("name", UNIONS)
def test_alias_is_the_same(name: str) -> None:
    assert spelled(getattr(toolwright.types, name)) == spelled(getattr(published_types, name))


def test_terminal_statuses_are_the_same() -> None:
    assert toolwright.TERMINAL_TASK_STATUSES == published.TERMINAL_TASK_STATUSES


def assert_calls_of_theirs_fit_ours(ours: Any, theirs: Any) -> None:
    """Every parameter of theirs is ours too: same place, same kind, same default. What we have besides is optional."""
    our_parameters, their_parameters = inspect.signature(ours).parameters, inspect.signature(theirs).parameters
    assert list(our_parameters)[: len(their_parameters)] == list(their_parameters)
    for name, parameter in their_parameters.items():
        assert our_parameters[name].kind == parameter.kind, name
        assert our_parameters[name].default == parameter.default or parameter.default is inspect.Parameter.empty, name
    for name in list(our_parameters)[len(their_parameters) :]:
        assert our_parameters[name].default is not inspect.Parameter.empty or our_parameters[name].kind in (
            inspect.Parameter.VAR_POSITIONAL,
            inspect.Parameter.VAR_KEYWORD,
        ), name


@pytest.mark.parametrize("name", ["query", "tool", "create_sdk_mcp_server", "SdkMcpTool", "ClaudeSDKClient"])
def test_calls_of_the_entry_points_fit(name: str) -> None:
    assert_calls_of_theirs_fit_ours(getattr(toolwright, name), getattr(published, name))


@pytest.mark.parametrize("class_name", ["ClaudeSDKClient", "Transport"])
def test_methods_fit(class_name: str) -> None:
    ours, theirs = getattr(toolwright, class_name), getattr(published, class_name)
    for name in sorted(public_callables(theirs)):
        assert_calls_of_theirs_fit_ours(getattr(ours, name), getattr(theirs, name))
        assert inspect.iscoroutinefunction(getattr(ours, name)) == inspect.iscoroutinefunction(getattr(theirs, name)), name


def test_tool_definition_has_the_same_fields_and_then_one_of_ours() -> None:
    ours, theirs = dataclasses.fields(toolwright.SdkMcpTool), dataclasses.fields(published.SdkMcpTool)
    assert [field.name for field in ours] == [*(field.name for field in theirs), "output_schema"]


ERRORS = ["ClaudeSDKError", "CLIConnectionError", "CLINotFoundError", "ProcessError", "ResultError", "CLIJSONDecodeError"]


@pytest.mark.parametrize("name", [*ERRORS, "CanUseToolShadowedWarning"])
def test_error_has_the_same_bases_and_takes_the_same_arguments(name: str) -> None:
    ours, theirs = getattr(toolwright, name), getattr(published, name)
    assert [base.__name__ for base in ours.__mro__] == [base.__name__ for base in theirs.__mro__]
    assert str(inspect.signature(ours.__init__).parameters.keys()) == str(inspect.signature(theirs.__init__).parameters.keys())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("CLINotFoundError", ()),
        ("CLINotFoundError", ("No such program", "/opt/agent")),
        ("ProcessError", ("It failed",)),
        ("ProcessError", ("It failed", 0, "why")),
        ("ResultError", ("It failed",)),
        ("ResultError", ("It failed", {"subtype": "x", "errors": ["a", 3], "result": "r", "api_error_status": 500}, 1)),
        ("ResultError", ("It failed", {"errors": "one", "result": 3, "api_error_status": "x", "session_id": "s"}, 1)),
    ],
)
def test_error_says_and_holds_the_same(name: str, arguments: tuple[Any, ...]) -> None:
    ours, theirs = getattr(toolwright, name)(*arguments), getattr(published, name)(*arguments)
    assert str(ours) == str(theirs)
    assert vars(ours) == vars(theirs)


@pytest.mark.parametrize(
    "wire",
    [
        {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}], "behavior": "allow", "extra": 1},
        {"type": "removeRules", "rules": [{"toolName": "Read"}], "destination": "session"},
        {"type": "replaceRules", "rules": [], "mode": "plan"},
        {"type": "setMode", "mode": "plan", "behavior": "deny"},
        {"type": "addDirectories", "directories": ["/a"], "behavior": "deny", "destination": "localSettings"},
        {"type": "removeDirectories"},
    ],
)
def test_permission_update_goes_over_the_wire_the_same(wire: dict[str, Any]) -> None:
    ours, theirs = toolwright.PermissionUpdate.from_dict(wire), published.PermissionUpdate.from_dict(wire)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert ours.to_dict() == theirs.to_dict()


RESULT = {"type": "result", "duration_ms": 1, "duration_api_ms": 2, "is_error": False, "num_turns": 1, "session_id": "s"}
TASK = {"type": "system", "task_id": "t", "description": "d", "uuid": "u", "session_id": "s"}
FRAMES: list[dict[str, Any]] = [
    {"type": "user", "message": {"content": "hi"}, "uuid": "u", "tool_use_result": "Error: x", "origin": {"kind": "human"}},
    {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}, "origin": {}},
    {
        "type": "assistant",
        "message": {
            "id": "m",
            "model": "m",
            "usage": {"input_tokens": 1},
            "stop_reason": None,
            "content": [
                {"type": "text", "text": "hi"},
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "tool_use", "id": "t", "name": "Read", "input": {}},
                {"type": "server_tool_use", "id": "t", "name": "advisor", "input": {}},
                {"type": "advisor_tool_result", "tool_use_id": "t", "content": {}},
                {"type": "redacted_thinking", "data": "x"},
            ],
        },
        "session_id": "s",
        "uuid": "u",
        "error": "rate_limit",
    },
    {**RESULT, "subtype": "success", "modelUsage": {"m": {}}, "deferred_tool_use": {"id": "t", "name": "n", "input": {}}},
    {**RESULT, "subtype": "error_max_turns", "errors": ["x"], "origin": 3, "permission_denials": []},
    {"type": "stream_event", "uuid": "u", "session_id": "s", "event": {"type": "ping"}},
    {
        "type": "rate_limit_event",
        "uuid": "u",
        "session_id": "s",
        "rate_limit_info": {"status": "allowed", "resetsAt": 1, "x": 2},
    },
    {"type": "conversation_reset", "uuid": "u", "session_id": "s", "new_conversation_id": "n"},
    {"type": "system", "subtype": "init", "cwd": "/"},
    {**TASK, "subtype": "task_started", "task_type": "local_bash"},
    {**TASK, "subtype": "task_progress", "usage": {"total_tokens": 1, "tool_uses": 1, "duration_ms": 1}},
    {**TASK, "subtype": "task_updated", "patch": {"status": "killed"}},
    {**TASK, "subtype": "task_updated", "patch": None},
    {**TASK, "subtype": "task_notification", "status": "completed", "output_file": "/o", "summary": "s"},
    {"type": "system", "subtype": "hook_started", "hook_event": "Stop", "hook_name": "n", "uuid": "u"},
    {"type": "system", "subtype": "hook_response", "hook_name": "n"},
    {"type": "system", "subtype": "mirror_error", "error": "x"},
    {"type": "tool_progress"},
    {"type": "tomorrow"},
]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: f"{frame['type']}-{frame.get('subtype', '')}")
def test_frame_is_parsed_the_same(frame: dict[str, Any]) -> None:
    parser = importlib.import_module("claude_agent_sdk._internal.message_parser")  # not public, but used by programs
    assert repr(parse_message(frame)) == repr(parser.parse_message(frame))


BROKEN = [
    {},
    {"type": "user"},
    {"type": "assistant", "message": {"content": []}},
    {"type": "assistant", "message": {"content": "hi", "model": "m"}},
    {"type": "system"},
    RESULT,
    {"type": "stream_event", "uuid": "u"},
    {"type": "rate_limit_event", "uuid": "u", "session_id": "s"},
    {"type": "conversation_reset"},
]


@pytest.mark.parametrize("frame", BROKEN, ids=str)
def test_broken_frame_is_refused_by_both(frame: dict[str, Any]) -> None:
    parser = importlib.import_module("claude_agent_sdk._internal.message_parser")
    with pytest.raises(toolwright.types.MessageParseError):
        parse_message(frame)
    with pytest.raises(published.ClaudeSDKError):
        parser.parse_message(frame)
