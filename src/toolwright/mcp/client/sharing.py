"""Sessions of one event loop that name the same stdio server use one process of it, each as if it were alone.

Every user has a virtual link: its ids and progress tokens are changed on the way out and back, so nothing reaches another's
ears. The handshake happens once. The process is started by whoever comes first, kept as long as anybody holds it, and belongs
to none of them. What the server asks by itself goes to the one user whose call is running, or is refused where that is unclear.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import anyio
from anyio.lowlevel import current_token
from msgspec import Struct

from toolwright.base.concurrency import OwnedTask, spawn
from toolwright.mcp.client.stdio import END_TIMEOUT, STRANGERS_TIMEOUT, ServerLaunch, StdioProcess
from toolwright.mcp.client.transport import Inbox, LinkError, LinkLost, Message, Waiting, is_answer, request_error

IDLE_SECONDS = 1800.0
_MAX_CANCELLABLE = 1000
_STANDING = "subscriptions/listen"
"""A request that stays open as long as the connection: nobody waits for its answer."""
_PROGRESS = "notifications/progress"
_TO_ONE = frozenset({_PROGRESS, "notifications/message", "notifications/elicitation/complete"})
"""Notifications that belong to somebody's call. All others are about the server itself and go to everybody."""


class Sharing(Struct, frozen=True):
    """What users of one process must have in common. `private` is an object of one's own for who does not want to share."""

    launch: ServerLaunch
    introduction: bytes = b""
    """What the client says of itself in the handshake: it is said once, for all."""
    roots: tuple[str, ...] = ()
    private: Hashable = None


class SharedProcess:
    """A process and its users."""

    def __init__(self, key: Sharing, registry: dict[Sharing, SharedProcess], *, idle_seconds: float) -> None:
        self._key = key
        self._registry = registry
        self._waiting = Waiting()
        self._ids = itertools.count(1)
        self._handshake: Message | LinkError = LinkLost("the handshake was not finished")
        self._handshake_done: anyio.Event | None = None
        self._initialized = False
        self._starting = anyio.Lock()
        self.started = False
        self.users: set[VirtualLink] = set()
        self.dropped = 0
        """Messages that make no sense, and notifications of which it could not be told whose they are."""
        self._tasks: set[OwnedTask] = set()
        self.process = StdioProcess(key.launch, self, is_idle=self._is_idle, idle_seconds=idle_seconds)

    async def start(self) -> None:
        async with self._starting:
            if not self.started:
                await self.process.start()
                self.started = True

    async def leave(self, user: VirtualLink) -> None:
        self.users.discard(user)
        if not self.users:
            self.forget()
            await self.process.close(STRANGERS_TIMEOUT if isinstance(self._handshake, LinkError) else END_TIMEOUT)

    def forget(self) -> None:
        if self._registry.get(self._key) is self:
            del self._registry[self._key]

    # from the users

    async def exchange(self, user: VirtualLink, message: Message) -> Message:
        if message["method"] == "initialize":
            return await self._shake_hands(user, message) | {"id": message["id"]}
        return await self._exchange(user, message)

    async def _exchange(self, user: VirtualLink | None, message: Message) -> Message:
        number = next(self._ids)
        self._waiting.open(number, None if message["method"] == _STANDING else user or self)
        if user is not None:
            user.outgoing(message, number)
        try:
            await self.process.write(_renumbered(message, number))
            answer = await self._waiting.answer(number) | {"id": message["id"]}
        except BaseException:
            self._waiting.forget(number)
            raise
        if user is not None:
            user.answered(message)
        return answer

    async def _shake_hands(self, user: VirtualLink, message: Message) -> Message:
        """The first user's handshake serves all; it goes on when that user leaves."""
        if self._handshake_done is None:
            self._handshake_done = anyio.Event()
            self._spawn(partial(self._first_handshake, message))
        await self._handshake_done.wait()
        if isinstance(self._handshake, LinkError):
            raise LinkLost(str(self._handshake))
        return self._handshake

    async def _first_handshake(self, message: Message) -> None:
        assert self._handshake_done is not None
        try:
            self._handshake = await self._exchange(None, message)
        except LinkError as error:
            self._handshake = error
        finally:
            self._handshake_done.set()

    async def send(self, message: Message) -> None:
        if message.get("method") == "notifications/initialized":
            if self._initialized:
                return
            self._initialized = True
        await self.process.write(message)

    def _is_idle(self) -> bool:
        return self._waiting.owners() <= {None}

    def _spawn(self, work: Any) -> None:
        self._tasks = {task for task in self._tasks if not task.done}
        self._tasks.add(spawn(work, name="mcp shared server"))

    # from the process

    def heard(self, message: Message) -> None:
        if is_answer(message):
            self._waiting.deliver(message)
        elif not isinstance(message.get("method"), str):
            self.dropped += 1
        elif "id" in message:
            self._asked(message)
        else:
            self._notified(message)

    def ended(self, reason: str) -> None:
        self.forget()
        self._waiting.lose(reason)
        for user in tuple(self.users):
            user.lost(reason)

    def _asked(self, message: Message) -> None:
        user = next(iter(self.users), None) if message.get("method") in ("ping", "roots/list") else self._concerned()
        if user is not None:
            user.received(message)
            return
        text = "Several sessions share this server and it cannot be told whose request this is: configure it with shared=false."
        self._spawn(partial(self._refuse, request_error(message["id"], -32603, text)))

    async def _refuse(self, answer: Message) -> None:
        try:
            await self.process.write(answer)
        except LinkError:
            pass  # it is gone, and its question with it

    def _notified(self, message: Message) -> None:
        if message.get("method") == _PROGRESS:
            self._progressed(message)
        elif message.get("method") not in _TO_ONE:
            for user in tuple(self.users):
                user.received(message)
        elif (concerned := self._concerned()) is not None:
            concerned.received(message)
        else:
            self.dropped += 1

    def _progressed(self, message: Message) -> None:
        params = message.get("params")
        number = params.get("progressToken") if isinstance(params, dict) else None
        owner = self._waiting.owner_of(number)
        if not isinstance(owner, VirtualLink) or not isinstance(params, dict):
            self.dropped += 1
            return
        owner.received({**message, "params": {**params, "progressToken": owner.own_id(number)}})

    def _concerned(self) -> VirtualLink | None:
        """The only one who can be meant: the only user there is, or the only one with a call that runs."""
        candidates = self.users if len(self.users) == 1 else {o for o in self._waiting.owners() if isinstance(o, VirtualLink)}
        return next(iter(candidates)) if len(candidates) == 1 else None


class VirtualLink:
    """One user's link to a shared process. Implements `Link`."""

    def __init__(self, key: Sharing, *, idle_seconds: float = IDLE_SECONDS) -> None:
        self.inbox: Inbox | None = None
        self._key = key
        self._idle_seconds = idle_seconds
        self._shared: SharedProcess | None = None
        self._own_to_wire: dict[Any, int] = {}
        self._wire_to_own: dict[Any, Any] = {}

    @property
    def pid(self) -> int:
        return 0 if self._shared is None else self._shared.process.pid

    @property
    def shared(self) -> SharedProcess | None:
        return self._shared

    async def open(self) -> None:
        shared = _shared_process(self._key, self._idle_seconds)
        shared.users.add(self)
        self._shared = shared
        try:
            await shared.start()
        except BaseException:
            await self.close()
            raise

    async def exchange(self, message: Message) -> Message:
        return await self._process().exchange(self, message)

    async def send(self, message: Message) -> None:
        if message.get("method") == "notifications/cancelled":
            number = self._own_to_wire.pop(message["params"]["requestId"], None)
            if number is None:
                return
            message = {**message, "params": {**message["params"], "requestId": number}}
        await self._process().send(message)

    async def ready(self, protocol_version: str, *, listen: bool) -> None:
        """Nothing to do: the process talks whenever it likes."""

    async def close(self) -> None:
        shared, self._shared = self._shared, None
        if shared is not None:
            with anyio.CancelScope(shield=True):
                await shared.leave(self)

    # for the shared process

    def outgoing(self, message: Message, number: int) -> None:
        self._own_to_wire[message["id"]] = number
        self._wire_to_own[number] = message["id"]
        if len(self._own_to_wire) > _MAX_CANCELLABLE:  # calls that were given up and never taken back
            oldest = next(iter(self._own_to_wire))
            self._wire_to_own.pop(self._own_to_wire.pop(oldest), None)

    def answered(self, message: Message) -> None:
        self._wire_to_own.pop(self._own_to_wire.pop(message["id"], None), None)

    def own_id(self, number: Any) -> Any:
        return self._wire_to_own.get(number, number)

    def received(self, message: Message) -> None:
        if self.inbox is not None:
            self.inbox.received(message)

    def lost(self, reason: str) -> None:
        if self.inbox is not None:
            self.inbox.lost(reason)

    def _process(self) -> SharedProcess:
        if self._shared is None:
            raise LinkLost("it is not connected")
        return self._shared


def _renumbered(message: Message, number: int) -> Message:
    """The message with the number it has on the wire, also as its progress token."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    if isinstance(params, dict) and isinstance(meta, dict) and "progressToken" in meta:
        params = {**params, "_meta": {**meta, "progressToken": number}}
    return {**message, "id": number, **({"params": params} if params is not None else {})}


_by_loop: WeakKeyDictionary[Any, dict[Sharing, SharedProcess]] = WeakKeyDictionary()


def _shared_process(key: Sharing, idle_seconds: float) -> SharedProcess:
    """The process for `key` on this event loop: descriptors and tasks belong to one loop."""
    registry = _by_loop.setdefault(current_token().native_token, {})
    if key not in registry:
        registry[key] = SharedProcess(key, registry, idle_seconds=idle_seconds)
    return registry[key]
