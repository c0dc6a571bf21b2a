"""A session's frames as messages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Self

from toolwright.client.streams import closed
from toolwright.protocol.parse import parse_message

if TYPE_CHECKING:
    from toolwright.client.prompts import Feeding
    from toolwright.protocol.lines import Frame
    from toolwright.runtime.seams import Session
    from toolwright.types import Message


class MessageStream:
    """The messages of a session, one by one, from wherever its reader is now.

    Not a generator: it holds nothing, so it may be left at any time and in any task without being closed. What a prompt
    stream raised is raised at the end, which it brought about.
    """

    __slots__ = ("_feeding", "_find", "_frames", "_over", "_until_result", "last_result")

    def __init__(self, find: Callable[[], tuple[Session, Feeding | None]], *, until_result: bool = False) -> None:
        self._find = find
        self._frames: AsyncIterator[Frame] | None = None
        self._feeding: Feeding | None = None
        self._until_result = until_result
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
            self._over = self._until_result
        return parse_message(frame)

    async def _end(self) -> Message:
        await self.aclose()
        if self._feeding is not None and self._feeding.error is not None:
            raise self._feeding.error
        raise StopAsyncIteration
