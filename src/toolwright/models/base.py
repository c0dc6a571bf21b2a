"""The model seam: one method, `stream(request)`, that yields events.

The events are those of the Messages API (dicts with a `type`: message_start, content_block_start, content_block_delta,
content_block_stop, message_delta, message_stop, ping). A provider that speaks another dialect translates into them. Besides
these a stream may yield a `Retry`. A stream ends with `message_stop` or raises `ModelError`; it never just ends.
This module knows no provider, no HTTP and no conversation.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct, field

Event = dict[str, Any]

ErrorKind = Literal[
    "authentication_failed",
    "billing_error",
    "rate_limit",
    "overloaded",
    "invalid_request",
    "prompt_too_long",
    "model_not_found",
    "server_error",
    "connection",
    "timeout",
    "truncated",
    "answer_too_large",
    "unknown",
]


class ModelError(Exception):
    """A request that the model's side refused, broke or never finished."""

    def __init__(
        self,
        message: str,
        *,
        kind: ErrorKind = "unknown",
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after
        self.request_id = request_id


class AnswerTooLarge(ModelError):
    """An answer that passed one of its `AnswerLimits`. Sending the request again would bring the same."""

    def __init__(self, message: str, *, request_id: str | None = None) -> None:
        super().__init__(message, kind="answer_too_large", request_id=request_id)


class AnswerLimits(Struct, frozen=True):
    """The most that one answer may bring. The defaults are many times what the largest models write; 0 is no limit."""

    megabytes: int = 32
    """Of content that is kept: texts, thinking, tool inputs and what else stands in blocks."""
    blocks: int = 2000
    calls: int = 256

    @property
    def content(self) -> int:
        return self.megabytes << 20

    @property
    def event(self) -> int:
        """Bytes of a single event on the wire, where a character may take six."""
        return self.content * 2

    @property
    def stream(self) -> int:
        """Bytes of the whole answer on the wire, where each word may be wrapped in an event of its own."""
        return self.content * 8


class Retry(Struct, frozen=True):
    """The request failed before anything came of it and will be sent again after `delay` seconds."""

    attempt: int
    max_retries: int
    delay: float
    error: ModelError


class HistoryMessage(Struct, gc=False):
    """One message of the conversation, in the Messages API's shape: a role and content blocks.

    It is data, without a way back to itself, so the garbage collector need not look at it: there may be very many.
    `content` is never changed once the message has been sent: `encoded` keeps each provider's bytes for it, so that a
    growing conversation is not encoded again every turn. The key is the provider's own choice.
    """

    role: Literal["user", "assistant"]
    content: list[dict[str, Any]]
    encoded: dict[str, bytes] = field(default_factory=dict)


class History(list[HistoryMessage]):
    """The messages of a conversation, grown only at its end: whoever changes an earlier message makes a new History.

    On that promise a provider keeps in `joined` what it has put together of the beginning.
    """

    __slots__ = ("joined",)

    def __init__(self, messages: Iterable[HistoryMessage] = ()) -> None:
        super().__init__(messages)
        self.joined: dict[str, tuple[int, bytes]] = {}
        """By provider: how many messages from the start, and their bytes."""


class ToolSpec(Struct, frozen=True):
    """A tool as the model sees it."""

    name: str
    description: str
    input_schema: dict[str, Any]


class Sampling(Struct, frozen=True):
    """How the model is asked, the same in every request."""

    thinking: dict[str, Any] | None = None
    effort: str | None = None
    betas: tuple[str, ...] = ()
    max_tokens: int | None = None
    limits: AnswerLimits = AnswerLimits()


class ModelRequest(Struct, frozen=True):
    """All that one call to a model needs. `model` is the provider's own name for it (without our `openai:` prefix)."""

    model: str
    messages: Sequence[HistoryMessage]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = None
    """None: the provider's default for the model."""
    thinking: dict[str, Any] | None = None
    """`{"type": "adaptive" | "enabled" | "disabled", "budget_tokens"?, "display"?}`; None: the provider's default."""
    effort: str | None = None
    betas: tuple[str, ...] = ()
    session_id: str = ""
    limits: AnswerLimits = AnswerLimits()
    """What the answer may bring. A provider that reads from a wire holds the bytes to it, whoever reads the events the rest."""


class Model(Protocol):
    """A provider, ready to be asked. One instance serves any number of sessions at once."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[Event | Retry, None]:
        """Yield the events of one answer. The caller closes the generator (`aclosing`) in the task that iterates it."""
        ...

    async def aclose(self) -> None:
        """Give back what this model holds (connections). It is not used afterwards."""
        ...
