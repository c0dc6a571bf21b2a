"""A session's frames as messages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Self

from toolwright.client.streams import closed
from toolwright.protocol.parse import parse_message
from toolwright.types import ResultMessage

if TYPE_CHECKING:
    from toolwright.client.prompts import Feeding
    from toolwright.protocol.lines import Frame
    from toolwright.runtime.interfaces import Session
    from toolwright.types import Message


class MessageStream:
    """The messages of a session, one by one, from wherever its reader is now.

    Not a generator: it holds nothing, so it may be left at any time and in any task without being closed. What a prompt
    stream raised is raised at the end, which it brought about.
    """

    __slots__ = ("_feeding", "_find", "_frames", "_over", "last_result")

    def __init__(self, find: Callable[[], tuple[Session, Feeding | None]]) -> None:
        self._find = find
        self._frames: AsyncIterator[Frame] | None = None
        self._feeding: Feeding | None = None
        self._over = False
        self.last_result: Frame | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        while not self._over:
            try:
                frame = await anext(self._found())
            except StopAsyncIteration:
                break
            message = self._read(frame)
            if message is not None:
                return message
        return await self._end()

    async def aclose(self) -> None:
        self._over = True
        frames, self._frames = self._frames, None
        if frames is not None:
            await closed(frames)

    def _found(self) -> AsyncIterator[Frame]:
        """The session is looked for when the first message is wanted, and then kept."""
        if self._frames is None:
            session, self._feeding = self._find()
            self._frames = session.frames()
        return self._frames

    def _read(self, frame: Frame) -> Message | None:
        if frame.get("type") == "result":
            self.last_result = frame
        return parse_message(frame)

    async def _end(self) -> Message:
        await self.aclose()
        if self._feeding is not None and self._feeding.error is not None:
            raise self._feeding.error
        raise StopAsyncIteration


class UpToResult:
    """The messages of a stream up to its next result, which is the last one given. The stream is asked for with the first."""

    __slots__ = ("_messages", "_open", "_over")

    def __init__(self, open_stream: Callable[[], AsyncIterator[Message]]) -> None:
        self._open = open_stream
        self._messages: AsyncIterator[Message] | None = None
        self._over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        if self._over:
            await self.aclose()
            raise StopAsyncIteration
        if self._messages is None:
            self._messages = aiter(self._open())
        message = await anext(self._messages)
        self._over = isinstance(message, ResultMessage)
        return message

    async def aclose(self) -> None:
        self._over = True
        messages, self._messages = self._messages, None
        if messages is not None:
            await closed(messages)
