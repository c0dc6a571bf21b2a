"""Prompts as user frames, and the task that streams them into a session."""

from __future__ import annotations

from collections.abc import AsyncIterable, Mapping
from typing import TYPE_CHECKING, Any

import anyio

from toolwright.base.concurrency import OwnedTask, spawn
from toolwright.client.streams import closed
from toolwright.types import CLIConnectionError, OptionsError

if TYPE_CHECKING:
    from toolwright.protocol.lines import Frame
    from toolwright.runtime.interfaces import Session

_STOP_SECONDS = 5.0


def check_prompt(prompt: object) -> None:
    if not isinstance(prompt, str | AsyncIterable):
        raise OptionsError(
            f"prompt must be a string, or an async iterable of user messages (dicts), not {type(prompt).__name__}. "
            "Turn a list into an async generator that yields its items."
        )


def user_frame(content: str, *, session_id: str, verbatim: bool = False) -> Frame:
    frame: Frame = {
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": None,
        "session_id": session_id,
    }
    return composed(frame, verbatim=verbatim)


def streamed_frame(item: object, *, session_id: str | None, verbatim: bool = False) -> Frame:
    """A message that the caller built. A session id is only put in where there is none."""
    if not isinstance(item, Mapping):
        raise OptionsError(
            f"prompt: an async iterable must yield dicts like {{'type': 'user', 'message': {{'role': 'user', 'content': …}}}}, "
            f"not {type(item).__name__}"
        )
    frame: Frame = dict(item)
    if session_id is not None:
        frame.setdefault("session_id", session_id)
    return composed(frame, verbatim=verbatim)


def composed(frame: Frame, *, verbatim: bool) -> Frame:
    """Mark a message that must be taken as it is: nothing in it is expanded or run as a command."""
    return frame | {"client_composed": True} if verbatim and frame.get("type") == "user" else frame


class Feeding:
    """Streams an iterable's messages into a session, then ends the session's input.

    When the iterable raises, the session is closed and `error` holds what it raised. When the session ends first, the
    feeding just stops: the session itself says why.
    """

    __slots__ = ("_prompts", "_session", "_task", "_verbatim", "error")

    def __init__(self, session: Session, prompts: AsyncIterable[Any], *, verbatim: bool) -> None:
        self._session = session
        self._prompts = prompts
        self._verbatim = verbatim
        self.error: Exception | None = None
        self._task: OwnedTask = spawn(self._feed, name="prompt stream")

    def cancel(self) -> None:
        self._task.cancel()

    async def stopped(self) -> None:
        self._task.cancel()
        with anyio.move_on_after(_STOP_SECONDS, shield=True):
            await self._task.wait()

    async def _feed(self) -> None:
        try:
            await send_all(self._session, self._prompts, session_id=None, verbatim=self._verbatim)
        except CLIConnectionError:
            return
        except Exception as error:
            self.error = error  # before the end, which it brings about: whoever sees that end looks for it
            await self._session.close()
            raise
        await self._session.end_input()


async def send_all(session: Session, prompts: AsyncIterable[Any], *, session_id: str | None, verbatim: bool) -> None:
    stream = aiter(prompts)
    try:
        async for item in stream:
            await session.send(streamed_frame(item, session_id=session_id, verbatim=verbatim))
    finally:
        await closed(stream)


async def end(session: Session, feeding: Feeding | None) -> None:
    """End a session, and what streams prompts into it."""
    if feeding is not None:
        feeding.cancel()
    await session.close()
    if feeding is not None:
        await feeding.stopped()
