"""The link seam: how JSON-RPC messages get to one MCP server and back, whatever carries them.

A link takes a request and gives its answer, sends what wants no answer, and hands over what the server says by itself. It does
not know methods, eras or tools. `Waiting` is the common half of links whose answers come on one stream.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import anyio

Message = dict[str, Any]

MAX_MESSAGE_SIZE = 64 * 1024 * 1024
"""Bytes of one message from a server. A longer one ends the connection: nothing could use it, and memory is finite."""
MAX_MESSAGE_DEPTH = 100
"""Levels of one message, from either side. The stack is finite too, and whoever handles a message later stands higher on it."""


class LinkError(Exception):
    """A message could not be carried; the text says why, without the server's name."""


class LinkLost(LinkError):
    """The connection is gone; only a new one helps."""


class SessionGone(LinkLost):
    """The server has forgotten our session (HTTP 404): shake hands again."""


class NeedsAuthorization(LinkError):
    """The server wants us to log in. `challenge` is its WWW-Authenticate header."""

    def __init__(self, text: str, challenge: str = "") -> None:
        super().__init__(text)
        self.challenge = challenge


class Inbox(Protocol):
    """Who hears what a server says by itself."""

    def received(self, message: Message) -> None:
        """A request or a notification of the server's. Must not block."""
        ...

    def lost(self, reason: str) -> None:
        """The connection ended without being asked to."""
        ...


class Link(Protocol):
    """A way to one server."""

    inbox: Inbox | None

    async def open(self) -> None:
        """Raises `LinkError`."""
        ...

    async def exchange(self, message: Message) -> Message:
        """Send a request and wait for its answer. Raises `LinkError`. Cancelling it only stops the waiting."""
        ...

    async def send(self, message: Message) -> None:
        """Send a notification or an answer. Raises `LinkError`."""
        ...

    async def ready(self, protocol_version: str, *, listen: bool) -> None:
        """The handshake is done. `listen`: the server may have something to say by itself."""
        ...

    async def close(self) -> None:
        """May be called more than once."""
        ...


class _Place:
    __slots__ = ("answer", "event", "owner")

    def __init__(self, owner: object) -> None:
        self.event = anyio.Event()
        self.answer: Message | None = None
        self.owner = owner


class Waiting:
    """Requests whose answers will come on a stream, by id. An answer that nobody waits for is counted and dropped."""

    def __init__(self) -> None:
        self._places: dict[Any, _Place] = {}
        self._lost: str | None = None
        self.unexpected = 0
        """Answers to nothing: an unknown id, a second answer, one that came after the waiting ended."""

    def open(self, number: int | str, owner: object = None) -> None:
        self._places[number] = _Place(owner)

    def owners(self) -> set[object]:
        return {place.owner for place in self._places.values()}

    def owner_of(self, number: Any) -> object | None:
        place = self._places.get(number) if isinstance(number, int | str) else None
        return None if place is None else place.owner

    async def answer(self, number: int | str) -> Message:
        """Wait for the answer to a request that was opened; afterwards, or when cancelled, the id is forgotten."""
        place = self._places[number]
        try:
            if self._lost is None:
                await place.event.wait()
        finally:
            self._places.pop(number, None)
        if place.answer is None:
            raise LinkLost(self._lost or "the connection ended")
        return place.answer

    def forget(self, number: int | str) -> None:
        self._places.pop(number, None)

    async def exchange(self, message: Message, send: Callable[[Message], Awaitable[None]]) -> Message:
        """Send a request and wait for its answer."""
        self.open(message["id"])
        try:
            await send(message)
            return await self.answer(message["id"])
        finally:
            self.forget(message["id"])

    def deliver(self, message: Message) -> None:
        number = message.get("id")
        place = self._places.get(number) if isinstance(number, int | str) and not isinstance(number, bool) else None
        if place is None or place.event.is_set():
            self.unexpected += 1
            return
        place.answer = message
        place.event.set()

    def lose(self, reason: str) -> None:
        """Nothing will come any more."""
        self._lost = self._lost or reason
        for place in self._places.values():
            place.event.set()


def is_too_deep(data: bytes, decoded: Any) -> bool:
    """Whether the message in `data` has more levels than `MAX_MESSAGE_DEPTH`; few are even looked into."""
    if data.count(b"{") + data.count(b"[") <= MAX_MESSAGE_DEPTH:
        return False
    level = [decoded]
    for _ in range(MAX_MESSAGE_DEPTH):
        level = [inner for one in level if type(one) in (dict, list) for inner in (one.values() if type(one) is dict else one)]
    return any(type(one) in (dict, list) for one in level)


def is_answer(message: Message) -> bool:
    return "method" not in message and ("result" in message or "error" in message)


def request_error(number: Any, code: int, text: str) -> Message:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}
