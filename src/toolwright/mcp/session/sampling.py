"""Sampling: a tool server asks for an answer of the session's model.

Each request is put to a person as a whole, as a call that `can_use_tool` allows or denies, whatever the mode is. The model
gets what the server wrote and nothing of the conversation, and no tools. One request at a time, within a budget that lasts as
long as the session; what was used is in the session's ledger like any other answer. Knows no connection.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import anyio
from msgspec import Struct, field

from toolwright.mcp.client.server_requests import RefusedRequest
from toolwright.mcp.rpc import INTERNAL_ERROR, INVALID_PARAMS
from toolwright.models.assembler import MessageAssembler
from toolwright.models.base import History, HistoryMessage, ModelError, ModelRequest, Retry
from toolwright.models.usage import COUNTED
from toolwright.types import CanUseTool, PermissionResultAllow, ToolPermissionContext

if TYPE_CHECKING:
    from toolwright.mcp.client.configs import SamplingBudget
    from toolwright.models.registry import ResolvedModel
    from toolwright.runtime.conversation import Conversation

SAMPLING = "McpSampling"
"""The name under which a person is asked."""
REJECTED, EXHAUSTED = -1, -32000
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
IMAGE_TOKENS = 1600
CHARACTERS_PER_TOKEN = 4
STOPS = {"max_tokens": "maxTokens", "stop_sequence": "stopSequence"}


class SamplingRequest(Struct, frozen=True):
    """A request, checked."""

    messages: list[HistoryMessage]
    system: str
    max_tokens: int

    def tokens(self) -> int:
        """About how many go in."""
        blocks = [block for message in self.messages for block in message.content]
        images = len([block for block in blocks if block["type"] == "image"])
        letters = len(self.system) + sum(len(block.get("text", "")) for block in blocks)
        return images * IMAGE_TOKENS + tokens_of(letters)


class ServerSampling(Struct):
    """Answers one server. Implements `Ask`; raises `RefusedRequest`."""

    budget: SamplingBudget
    can_use_tool: CanUseTool
    waiting: Callable[[bool], Awaitable[None]]
    conversation: Callable[[], Conversation]
    requests: int = 0
    tokens: int = 0
    _turn: anyio.Lock = field(default_factory=anyio.Lock)
    """Held from the look at the budget until the answer is counted."""

    async def __call__(self, server_name: str, params: dict[str, Any]) -> dict[str, Any]:
        wanted = wanted_of(params)  # what cannot be answered is not asked about
        async with self._turn:
            if self.requests >= self.budget.max_requests:
                raise RefusedRequest(EXHAUSTED, f"Sampling budget exhausted: {self.budget.max_requests} requests were made.")
            self._room(wanted)
            self.requests += 1  # also of those that are denied: nobody is to be asked without end
            wanted = wanted_of(await self._allowed(server_name, params))
            return await self._answered(wanted, self._room(wanted))

    def _room(self, wanted: SamplingRequest) -> int:
        """How many tokens the answer may have."""
        left = self.budget.max_tokens - self.tokens - wanted.tokens()
        if left < 1:
            used = f"{self.tokens} of {self.budget.max_tokens} tokens were used, and this request has about {wanted.tokens()}."
            raise RefusedRequest(EXHAUSTED, f"Sampling budget exhausted: {used}")
        conversation = self.conversation()
        over = conversation.limits.over_budget(conversation.ledger, conversation.model.id)
        if over is not None:
            raise RefusedRequest(EXHAUSTED, f"The session's budget does not allow sampling: {' '.join(over.errors)}")
        return min(left, wanted.max_tokens)

    async def _allowed(self, server_name: str, params: dict[str, Any]) -> dict[str, Any]:
        """The request as the person lets it go out, who may have changed it."""
        shown = {"server": server_name, **{key: value for key, value in params.items() if key not in ("server", "_meta")}}
        await self.waiting(True)
        try:
            result = await self.can_use_tool(SAMPLING, shown, ToolPermissionContext())
        finally:
            await self.waiting(False)
        if not isinstance(result, PermissionResultAllow):
            raise RefusedRequest(REJECTED, "The person did not allow this sampling request.")
        return {**params, **(result.updated_input or {})}

    async def _answered(self, wanted: SamplingRequest, room: int) -> dict[str, Any]:
        model, texts = self.conversation().model, list[str]()
        request = self._request(model, wanted, room)
        assembler = MessageAssembler(request.limits)
        try:
            await stream(model, request, assembler, texts)
        except ModelError as error:
            raise RefusedRequest(INTERNAL_ERROR, f"The model did not answer: {error.kind}") from error
        finally:
            if assembler.usage or texts:  # also of an answer that broke off
                self._count(model, wanted, assembler, texts)
        stop = STOPS.get(assembler.stop_reason or "", "endTurn")
        content = {"type": "text", "text": "".join(texts)}
        return {"role": "assistant", "content": content, "model": assembler.model or model.id, "stopReason": stop}

    def _request(self, model: ResolvedModel, wanted: SamplingRequest, room: int) -> ModelRequest:
        session_id = f"{self.conversation().session_id}-sampling"
        return ModelRequest(model.id, History(wanted.messages), wanted.system, max_tokens=room, session_id=session_id)

    def _count(self, model: ResolvedModel, wanted: SamplingRequest, assembler: MessageAssembler, texts: Sequence[str]) -> None:
        self.conversation().ledger.add(assembler.model or model.id, assembler.usage)
        reported: int = sum(assembler.usage.get(key) or 0 for key in COUNTED)
        unfinished = sum(len(block["text"]) for block in assembler.partial_blocks())  # not in the report, which comes last
        self.tokens += tokens_of(unfinished) + (reported or wanted.tokens() + tokens_of(sum(map(len, texts))))


async def stream(model: ResolvedModel, request: ModelRequest, assembler: MessageAssembler, texts: list[str]) -> None:
    async with aclosing(model.model.stream(request)) as events:
        async for event in events:
            block = None if isinstance(event, Retry) else assembler.feed(event)
            if block is not None and block["type"] == "text":
                texts.append(block["text"])


def tokens_of(letters: int) -> int:
    return -(-letters // CHARACTERS_PER_TOKEN)


# what the server wrote


def wanted_of(params: dict[str, Any]) -> SamplingRequest:
    """Raises `RefusedRequest`."""
    messages, system, most = params.get("messages"), params.get("systemPrompt"), params.get("maxTokens")
    if not isinstance(messages, list) or not messages:
        raise bad('"messages", a list that is not empty')
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise bad('"maxTokens", a whole number above 0')
    if system is not None and not isinstance(system, str):
        raise bad('a "systemPrompt" that is a string')
    if params.get("tools"):
        raise bad('no "tools": they are not offered here')
    return SamplingRequest([message_of(message) for message in messages], system or "", most)


def message_of(given: Any) -> HistoryMessage:
    role, content = (given.get("role"), given.get("content")) if isinstance(given, dict) else (None, None)
    if role not in ("user", "assistant"):
        raise bad('messages with a "role", user or assistant')
    return HistoryMessage(role, [block_of(block) for block in (content if isinstance(content, list) else [content])])


def block_of(given: Any) -> dict[str, Any]:
    match given:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "image", "data": str(data), "mimeType": str(kind)} if kind in IMAGES:
            return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
    raise bad("content that is text, or an image (png, jpeg, gif, webp)")


def bad(needed: str) -> RefusedRequest:
    return RefusedRequest(INVALID_PARAMS, f"sampling/createMessage needs {needed}")
