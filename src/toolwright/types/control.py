"""The frames of the control protocol that ask and answer, as types."""

from typing import Any, Literal, NotRequired, TypedDict

from toolwright.types.hooks import HookEvent
from toolwright.types.permissions import PermissionMode


class SDKControlInitializeRequest(TypedDict):
    """Client → session: the first request. `hooks` maps events to matchers with callback ids."""

    subtype: Literal["initialize"]
    hooks: dict[HookEvent, Any] | None
    agents: NotRequired[dict[str, dict[str, Any]]]
    excludeDynamicSections: NotRequired[bool]
    systemPromptSnapshot: NotRequired[bool]
    skills: NotRequired[list[str]]
    forwardSubagentText: NotRequired[bool]


class SDKControlInterruptRequest(TypedDict):
    """Client → session: stop the running turn."""

    subtype: Literal["interrupt"]


class SDKControlSetPermissionModeRequest(TypedDict):
    """Client → session: change the permission mode."""

    subtype: Literal["set_permission_mode"]
    mode: PermissionMode


class SDKControlRewindFilesRequest(TypedDict):
    """Client → session: bring the files back to what they were at a user message."""

    subtype: Literal["rewind_files"]
    user_message_id: str


class SDKControlMcpReconnectRequest(TypedDict):
    """Client → session: connect to a server again."""

    subtype: Literal["mcp_reconnect"]
    serverName: str


class SDKControlMcpToggleRequest(TypedDict):
    """Client → session: switch a server on or off."""

    subtype: Literal["mcp_toggle"]
    serverName: str
    enabled: bool


class SDKControlStopTaskRequest(TypedDict):
    """Client → session: end a background task."""

    subtype: Literal["stop_task"]
    task_id: str


class SDKControlPermissionRequest(TypedDict):
    """Session → client: may this tool run?"""

    subtype: Literal["can_use_tool"]
    tool_name: str
    input: dict[str, Any]
    permission_suggestions: list[dict[str, Any]] | None
    blocked_path: str | None
    tool_use_id: str
    decision_reason: NotRequired[str]
    title: NotRequired[str]
    display_name: NotRequired[str]
    description: NotRequired[str]
    agent_id: NotRequired[str]


class SDKHookCallbackRequest(TypedDict):
    """Session → client: run this hook."""

    subtype: Literal["hook_callback"]
    callback_id: str
    input: Any
    tool_use_id: str | None


class SDKControlMcpMessageRequest(TypedDict):
    """Session → client: a JSON-RPC message for a server in the client's process."""

    subtype: Literal["mcp_message"]
    server_name: str
    message: Any


class SDKControlRequest(TypedDict):
    """A question, in either direction."""

    type: Literal["control_request"]
    request_id: str
    request: (
        SDKControlInterruptRequest
        | SDKControlPermissionRequest
        | SDKControlInitializeRequest
        | SDKControlSetPermissionModeRequest
        | SDKHookCallbackRequest
        | SDKControlMcpMessageRequest
        | SDKControlRewindFilesRequest
        | SDKControlMcpReconnectRequest
        | SDKControlMcpToggleRequest
        | SDKControlStopTaskRequest
    )


class ControlResponse(TypedDict):
    """The question with this id was answered."""

    subtype: Literal["success"]
    request_id: str
    response: dict[str, Any] | None


class ControlErrorResponse(TypedDict):
    """The question with this id was refused."""

    subtype: Literal["error"]
    request_id: str
    error: str


class SDKControlResponse(TypedDict):
    """An answer, in either direction."""

    type: Literal["control_response"]
    response: ControlResponse | ControlErrorResponse
