"""Messages: what `query()` and `receive_messages()` yield, one class per kind."""

from dataclasses import dataclass
from typing import Any, Literal, NotRequired, Required, TypeAlias, TypedDict

from toolwright.types.blocks import ContentBlock
from toolwright.types.rate_limits import RateLimitEvent
from toolwright.types.system import SystemMessage

AssistantMessageError = Literal[
    "authentication_failed", "billing_error", "rate_limit", "invalid_request", "server_error", "unknown"
]

MessageOriginKind = Literal[
    "human",
    "channel",
    "peer",
    "task-notification",
    "coordinator",
    "unclassified",
    "observer",
    "auto-continuation",
    "observer-activity",
]

TaskNotificationOriginSubkind = Literal["scheduled-trigger", "peer-send-message"]


# Written as a call because `from` is a keyword.
MessageOrigin = TypedDict(
    "MessageOrigin",
    {
        "kind": Required[MessageOriginKind],
        "server": str,
        "from": str,
        "name": str,
        "fromSession": str,
        "senderTaskId": str,
        "body": str,
        "verifiedPeerPid": int,
        "subkind": TaskNotificationOriginSubkind,
    },
    total=False,
)
"""Who or what caused a user message or a turn."""


class ModelUsage(TypedDict):
    """What one model used in a run. Cost is in US dollars."""

    inputTokens: int
    outputTokens: int
    cacheReadInputTokens: int
    cacheCreationInputTokens: int
    webSearchRequests: int
    costUSD: float
    contextWindow: int
    maxOutputTokens: int
    canonicalModel: NotRequired[str]
    provider: NotRequired[str]


@dataclass
class DeferredToolUse:
    """A tool call that a hook put off: the run ended before it, for the host to carry out."""

    id: str
    name: str
    input: dict[str, Any]


@dataclass
class UserMessage:
    """A prompt, or the results of tool calls. `tool_use_result` is a result as data, in the tool's own shape."""

    content: str | list[ContentBlock]
    uuid: str | None = None
    parent_tool_use_id: str | None = None
    tool_use_result: dict[str, Any] | None = None
    origin: MessageOrigin | None = None


@dataclass
class AssistantMessage:
    """What the model said. One API message may come as several of these, with the same `message_id`.

    `parent_tool_use_id` is set inside a subagent; `error` is set when the text tells of a failed request.
    """

    content: list[ContentBlock]
    model: str
    parent_tool_use_id: str | None = None
    error: AssistantMessageError | None = None
    usage: dict[str, Any] | None = None
    message_id: str | None = None
    stop_reason: str | None = None
    session_id: str | None = None
    uuid: str | None = None


@dataclass
class ResultMessage:
    """The end of a turn: how it went, what it cost. `result` is the final text, `errors` say why there is none.

    `subtype` is success, error_max_turns, error_max_budget_usd, error_during_execution, …; `terminal_reason` is finer.
    """

    subtype: str
    duration_ms: int
    duration_api_ms: int
    is_error: bool
    num_turns: int
    session_id: str
    stop_reason: str | None = None
    total_cost_usd: float | None = None
    usage: dict[str, Any] | None = None
    result: str | None = None
    structured_output: Any = None
    model_usage: dict[str, ModelUsage] | None = None
    permission_denials: list[Any] | None = None
    deferred_tool_use: DeferredToolUse | None = None
    errors: list[str] | None = None
    api_error_status: int | None = None
    uuid: str | None = None
    terminal_reason: str | None = None
    origin: MessageOrigin | None = None


@dataclass
class StreamEvent:
    """A piece of a message that is still being written (with `include_partial_messages`): one raw event of the API."""

    uuid: str
    session_id: str
    event: dict[str, Any]
    parent_tool_use_id: str | None = None


@dataclass
class ConversationResetMessage:
    """The conversation was cleared and goes on as a new one; `session_id` is still the old one's."""

    new_conversation_id: str
    uuid: str
    session_id: str


Message: TypeAlias = (
    UserMessage | AssistantMessage | SystemMessage | ResultMessage | StreamEvent | RateLimitEvent | ConversationResetMessage
)
