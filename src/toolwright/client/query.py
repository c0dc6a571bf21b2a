"""`query()`: one run, from a prompt to its result, as a stream of messages."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, Any

from toolwright.base.concurrency import ended, spawn
from toolwright.client.message_stream import MessageStream
from toolwright.client.open_session import open_for, start
from toolwright.client.prompts import Feeding, check_prompt, end, user_frame
from toolwright.protocol.transport import Transport
from toolwright.types import ClaudeAgentOptions, Message, ResultError

if TYPE_CHECKING:
    from toolwright.runtime.interfaces import Session


async def query(
    *,
    prompt: str | AsyncIterable[dict[str, Any]],
    options: ClaudeAgentOptions | None = None,
    transport: Transport | None = None,
) -> AsyncIterator[Message]:
    """Run a prompt and yield its messages as they come; the last one is a `ResultMessage`.

    `prompt` is a text, or an async iterable of user messages (dicts) that is streamed in while the answers stream out. The run
    happens in this process; with `options.cli_path` or a `transport` it happens there. When the last result is an error,
    `ResultError` is raised after it. The loop may be left at any time: the run ends with it.
    """
    check_prompt(prompt)
    options = options or ClaudeAgentOptions()
    session = open_for(options, transport)
    feeding: Feeding | None = None
    try:
        await start(session)
        feeding = await _begin(session, prompt, verbatim=options.verbatim_prompts)
        stream = MessageStream(lambda: (session, feeding))
        async for message in stream:
            yield message
        if stream.last_result is not None and stream.last_result.get("is_error"):
            raise ResultError.from_result(stream.last_result, 1)
    finally:
        # No scope is held across a yield, so this may run in another task, and in one that is being cancelled.
        await ended(spawn(partial(end, session, feeding), name="toolwright ends"))


async def _begin(session: Session, prompt: str | AsyncIterable[dict[str, Any]], *, verbatim: bool) -> Feeding | None:
    if not isinstance(prompt, str):
        return Feeding(session, prompt, verbatim=verbatim)
    await session.send(user_frame(prompt, session_id="", verbatim=verbatim))
    await session.end_input()
    return None
