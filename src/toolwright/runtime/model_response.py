"""One answer of the model as it comes in: each finished block goes into the journal, then to the user.

A block is told when the next event has come: the last one's row in the journal then says why the answer ended and what it used.
Can be cut short at any moment; what has come by then is kept here, so that it can be told.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from toolwright.base.ids import new_uuid
from toolwright.models.assembler import MessageAssembler
from toolwright.models.base import ModelError, Retry
from toolwright.protocol import frames
from toolwright.runtime import notices
from toolwright.runtime.tool_calls import ToolCall

if TYPE_CHECKING:
    from toolwright.models.registry import ResolvedModel
    from toolwright.runtime.conversation import Conversation

FALLBACK_KINDS = frozenset({"overloaded", "model_not_found", "server_error", "rate_limit", "connection", "timeout"})


class Finished(Struct, frozen=True):
    """A block that nobody was told of yet, the event that finished it, and what was used until then."""

    block: dict[str, Any]
    event: dict[str, Any]
    usage: dict[str, Any]


class ResponseStream:
    """What the model says to one request."""

    __slots__ = ("_assembler", "_blocks", "_conversation", "_finished", "_message_id", "_unreadable", "text")

    def __init__(self, conversation: Conversation, *, text: str = "") -> None:
        self._conversation = conversation
        self._assembler = MessageAssembler()
        self._blocks: list[dict[str, Any]] = []
        self._finished: Finished | None = None
        self._message_id = ""
        self._unreadable: dict[str, str] = {}
        self.text = text
        """The last text so far: of this answer, or of the ones before it."""

    @property
    def model(self) -> str:
        return self._assembler.model or self._conversation.model.id

    @property
    def stop_reason(self) -> str | None:
        return self._assembler.stop_reason

    async def receive(self) -> None:
        """Ask the model in use; when it cannot serve at all, the next one to fall back to. Raises `ModelError`."""
        conversation = self._conversation
        while True:
            model = conversation.model
            try:
                await self._stream(model)
            except ModelError as error:
                if len(conversation.models) == 1 or error.kind not in FALLBACK_KINDS or self._blocks or self._finished:
                    raise
                await conversation.fall_back()
                await conversation.emit(notices.fallback(model.id, conversation.model.id, error, conversation.session_id))
            else:
                conversation.ledger.add(self.model, self._assembler.usage)
                return

    async def _stream(self, model: ResolvedModel) -> None:
        conversation, emit = self._conversation, self._conversation.emit
        request = conversation.request(model)
        assembler = self._assembler = MessageAssembler(request.limits)
        async with aclosing(model.model.stream(request)) as events:
            async for event in events:
                if isinstance(event, Retry):
                    await emit(notices.retry(event, conversation.session_id))
                    continue
                block = assembler.feed(event)
                await self._tell_finished()
                if block is not None:
                    self._finished = Finished(block, event, dict(assembler.usage))
                elif conversation.partial_messages:
                    await emit(frames.stream_event(event, session_id=conversation.session_id))
        await self._tell_finished()

    async def _tell_finished(self) -> None:
        finished, self._finished = self._finished, None
        if finished is not None:
            await self._give_out(finished.block, finished.usage)
            if self._conversation.partial_messages:
                await self._conversation.emit(frames.stream_event(finished.event, session_id=self._conversation.session_id))

    async def _give_out(self, block: dict[str, Any], usage: dict[str, Any]) -> None:
        if block["type"] == "text":
            if not block["text"]:
                return
            self.text = block["text"]
        elif block["type"] == "tool_use":
            self._name_call(block)
        conversation, assembler = self._conversation, self._assembler
        if not self._blocks:
            self._message_id = conversation.unique_id(assembler.message_id, "msg")
        self._blocks.append(block)
        model, uuid = self.model, new_uuid()
        conversation.journal.assistant(
            block,
            message_id=self._message_id,
            model=model,
            usage=dict(assembler.usage),
            stop_reason=assembler.stop_reason,
            uuid=uuid,
        )
        message = {"id": self._message_id, "model": model, "usage": usage}
        await conversation.emit(frames.assistant(block, session_id=conversation.session_id, message=message, uuid=uuid))

    def _name_call(self, block: dict[str, Any]) -> None:
        """Every call of a conversation has an id of its own."""
        unreadable = self._assembler.invalid_inputs.pop(block.get("id"), None)
        block["id"] = self._conversation.unique_id(block.get("id"), "toolu")
        if unreadable is not None:
            self._unreadable[block["id"]] = unreadable

    def close(self) -> list[ToolCall]:
        """Put it into the history and return its calls."""
        blocks, self._blocks = self._blocks, []
        if blocks:
            self._conversation.add_assistant(blocks)
        return [
            ToolCall(block["id"], block["name"], block["input"], self._unreadable.pop(block["id"], None))
            for block in blocks
            if block["type"] == "tool_use"
        ]

    async def break_off(self, *, most: int | None = None) -> list[ToolCall]:
        """What has come of an unfinished answer stays: its text in the history, and its calls, which must not be run.

        `most`: how many characters of an unfinished text stay.
        """
        await self._tell_finished()
        for block in self._assembler.partial_blocks():
            await self._give_out({**block, "text": block["text"][:most]}, dict(self._assembler.usage))
        if self._assembler.usage:
            self._conversation.ledger.add(self.model, self._assembler.usage)
        return self.close()
