"""A server on standard streams: one JSON-RPC message per line, one client.

A bad line gets an error for an answer; nothing but the end of its input ends the server.

Reads and writes by functions that are handed in; knows no descriptors.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup

from toolwright.mcp.client.transport import MAX_MESSAGE_DEPTH, LinkLost, is_too_deep
from toolwright.mcp.server.client import Client
from toolwright.mcp.server.requests import PARSE_ERROR, Incoming, Message, Refused, number_of, read_message
from toolwright.mcp.server.tool_provider import CannotAsk, OpenOffer
from toolwright.protocol.lines import encode

MAX_LINE_SIZE = 64 * 1024 * 1024
LAST_SECONDS = 60.0
"""How long running requests may take to end after the input has ended."""

Write = Callable[[bytes], Awaitable[None]]


async def serve_stdio(lines: AsyncIterator[bytes], write: Write, open_offer: OpenOffer) -> None:
    """Serve until `lines` end; what is running then is answered first."""
    await _Stdio(write, open_offer).serve(lines)


class _Stdio:
    """Also the `WayBack` of its requests: there is only one way."""

    def __init__(self, write: Write, open_offer: OpenOffer) -> None:
        self._write = write
        self._client = Client(open_offer)
        self._numbers = itertools.count(1)

    async def serve(self, lines: AsyncIterator[bytes]) -> None:
        try:
            async with anyio.create_task_group() as group:
                async for line in lines:
                    if line.strip():
                        await self._take(line, group)
                self._client.answers.lose("the input has ended")
                group.cancel_scope.deadline = anyio.current_time() + LAST_SECONDS
        finally:
            with anyio.CancelScope(shield=True):
                await self._client.aclose()

    async def _take(self, line: bytes, group: TaskGroup) -> None:
        try:
            decoded = decoded_json(line)
        except Refused as refusal:
            await self.notify(refusal.answer(None))
            return
        await self._take_message(decoded, group)

    async def _take_message(self, decoded: Any, group: TaskGroup) -> None:
        try:
            incoming = read_message(decoded)
        except Refused as refusal:
            await self.notify(refusal.answer(number_of(decoded)))
            return
        match incoming.kind:
            case "answer":
                self._client.answers.deliver(incoming.message)
            case "notification":
                self._client.notified(incoming)
            case "request" if incoming.method == "initialize":
                await self._answer(incoming)  # what follows it needs it
            case "request":
                group.start_soon(self._answer, incoming)

    async def _answer(self, request: Incoming) -> None:
        answer = await self._client.answer(request, self)
        if answer is not None:
            await self.notify(answer)

    async def notify(self, message: Message) -> None:
        await self._write(encode(message))

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        number = f"server-{next(self._numbers)}"
        self._client.answers.open(number)
        await self.notify({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            return result_of(await self._client.answers.answer(number))
        except LinkLost as error:
            raise CannotAsk(str(error)) from None


def decoded_json(data: bytes) -> Any:
    """Raises `Refused`."""
    if len(data) > MAX_LINE_SIZE:
        raise Refused(PARSE_ERROR, f"A message is longer than {MAX_LINE_SIZE // 1024 // 1024} MB.")
    try:
        decoded = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(PARSE_ERROR, f"Parse error: {str(error)[:200]}") from None
    if is_too_deep(data, decoded):
        raise Refused(PARSE_ERROR, f"A message is nested deeper than {MAX_MESSAGE_DEPTH} levels.")
    return decoded


def result_of(answer: Message) -> dict[str, Any]:
    """The result in a client's answer. Raises `CannotAsk`."""
    result = answer.get("result")
    if not isinstance(result, dict):
        error = answer.get("error")
        said = str(error.get("message", "")) if isinstance(error, dict) else "its answer has no result"
        raise CannotAsk(f"the client could not answer: {said[:200]}")
    return result
