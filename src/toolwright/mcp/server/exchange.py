"""One POST and its answer. As long as nothing is said before the answer it is plain JSON; then it becomes an event stream.

The work runs in a task of its own and only leaves messages here; the connection's task carries them out. So a client that goes
away never leaves half an answer to somebody else.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio

from toolwright.base.concurrency import OwnedTask
from toolwright.mcp.client.transport import LinkLost, Waiting
from toolwright.mcp.server.http_messages import PeerGone
from toolwright.mcp.server.requests import Message
from toolwright.mcp.server.stdio import result_of
from toolwright.mcp.server.tool_provider import CannotAsk
from toolwright.protocol.lines import encode

if TYPE_CHECKING:
    from toolwright.mcp.server.http_endpoint import HttpReply

ALIVE_SECONDS = 15.0
"""How often a silent event stream gets a comment, so that nothing in between takes it for dead."""
MAX_UNREAD = 1000
"""Messages that wait for a slow reader; further ones are dropped."""
_STREAM = {"content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no"}


class HttpExchange:
    """Implements the carrying; `way_back` gives the `WayBack` for the work."""

    def __init__(self, reply: HttpReply, headers: Mapping[str, str]) -> None:
        self._reply = reply
        self._headers = headers
        self._early: list[Message] = []
        self._news = anyio.Event()
        self._answer: Message | None = None
        self._status = 200
        self._finished = False
        self._gone = False

    # the work's side

    def way_back(self, answers: Waiting) -> _WayBack:
        return _WayBack(self, answers)

    def say(self, message: Message) -> None:
        if self._gone or len(self._early) >= MAX_UNREAD:
            raise CannotAsk("the client has gone away, or does not read what it is told")
        self._early.append(message)
        self._news.set()

    def finish(self, answer: Message | None, *, status: int) -> None:
        self._answer, self._status, self._finished = answer, status, True
        self._news.set()

    # the connection's side

    async def carry(self, task: OwnedTask) -> None:
        """Carry everything out. Raises `PeerGone` when the client leaves."""
        left = False

        async def watch() -> None:
            nonlocal left
            await self._reply.connection.peer_leaves()
            left = True
            group.cancel_scope.cancel()

        async def end_of_task() -> None:
            await task.wait()
            self._finished = True  # also if the work was ended without an answer
            self._news.set()

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(watch)
                group.start_soon(end_of_task)
                await self._carry()
                group.cancel_scope.cancel()
        except* PeerGone:
            left = True
        finally:
            self._gone = True
        if left:
            raise PeerGone

    async def _carry(self) -> None:
        while not self._early and not self._finished:
            await self._news.wait()
        if not self._early:
            await self._plain()
            return
        connection = self._reply.connection
        await connection.begin_stream({**_STREAM, **self._headers})
        while self._early or not self._finished:
            messages, self._early = self._early, []
            self._news = anyio.Event()
            await connection.stream(b"".join(_event(message) for message in messages))
            if not self._early and not self._finished:
                await self._wait(connection)
        if self._answer is not None:
            await connection.stream(_event(self._answer))
        await connection.end_stream()

    async def _wait(self, connection: Any) -> None:
        with anyio.move_on_after(ALIVE_SECONDS) as waiting:
            await self._news.wait()
        if waiting.cancelled_caught:
            await connection.stream(b": still at work\n\n")

    async def _plain(self) -> None:
        if self._answer is None:  # taken back by the client: there is no answer, only an end
            await self._reply.plain(202)
        else:
            await self._reply.message(self._answer, status=self._status, headers=self._headers)


class _WayBack:
    """Implements `WayBack` for one POST. What the client answers comes with another POST, to `answers`."""

    def __init__(self, exchange: HttpExchange, answers: Waiting) -> None:
        self._exchange = exchange
        self._answers = answers

    async def notify(self, message: Message) -> None:
        try:
            self._exchange.say(message)
        except CannotAsk:
            return

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        number = f"server-{secrets.token_hex(8)}"
        self._answers.open(number)
        try:
            self._exchange.say({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return result_of(await self._answers.answer(number))
        except LinkLost as error:
            raise CannotAsk(str(error)) from None
        finally:
            self._answers.forget(number)


def _event(message: Message) -> bytes:
    return b"event: message\ndata: " + encode(message) + b"\n"
