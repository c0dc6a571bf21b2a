"""Owner tasks and channels: the two things that let an async generator be closed from anywhere.

A generator that holds a task group or a cancel scope across a `yield` breaks when another task closes it. So work that
outlives one call runs in an `OwnedTask`, and hands its values over a `Channel`. Both run on asyncio and on trio.
Neither knows what the work is.

A shielded scope does not stop a native `Task.cancel()` (`asyncio.timeout`, `wait_for`, `TaskGroup`): that one breaks into
whatever its task awaits, tidying up included. So what a caller must not break runs in an owner task as well: see `owned` and
`ended`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Generic, Self, TypeVar

import anyio
from anyio.lowlevel import current_token

T = TypeVar("T")


class ChannelClosed(Exception):
    """The channel was closed and everything put into it has been taken."""


class Channel(Generic[T]):
    """A bounded queue with one end that says "no more".

    A slow reader slows the writer down: `put` waits while more than `limit` items are waiting to be taken, or several that are
    heavier together than `most_weight`, as `weigh` tells it. After `close`, what is already inside can still be taken; then
    `get` raises the error given to `close`, or `ChannelClosed`.
    """

    __slots__ = (
        *("_changed", "_closed", "_error", "_items", "_limit", "_most_weight"),
        *("_rested", "_waiting_readers", "_weigh", "_weight"),
    )

    def __init__(self, limit: int = 100, *, most_weight: int = 0, weigh: Callable[[T], int] = lambda _: 0) -> None:
        self._items: list[T] = []  # a tenth of an empty deque's size, and as fast at these lengths
        self._limit = limit
        self._most_weight = most_weight
        self._weigh = weigh
        self._weight = 0
        self._closed = False
        self._error: BaseException | None = None
        self._changed: anyio.Event | None = None
        self._waiting_readers = 0
        self._rested: anyio.Event | None = None

    @property
    def closed(self) -> bool:
        return self._closed

    async def put(self, item: T) -> None:
        """Put, then wait while more than `limit` items wait to be taken: a writer that is cancelled has lost nothing."""
        self.put_now(item)
        await self.room()

    async def room(self) -> None:
        """Wait until no more items wait to be taken than there may, and no heavier ones."""
        while not self._closed and self._is_full():
            await self._wait()

    def _is_full(self) -> bool:
        return len(self._items) > self._limit or (len(self._items) > 1 and self._weight > self._most_weight)

    def put_now(self, item: T) -> None:
        """Put without waiting, past the limit if need be; into a closed channel it is dropped."""
        if not self._closed:
            self._items.append(item)
            self._weight += self._weigh(item)
            self._wake()

    async def get(self) -> T:
        while not self._items:
            if self._closed:
                raise self._error or ChannelClosed
            await self._wait_for_items()
        item = self._items.pop(0)
        self._weight = self._weight - self._weigh(item) if self._items else 0  # somebody may have changed an item meanwhile
        self._wake()
        return item

    def __aiter__(self) -> Self:
        """The channel is its own iterator: unlike a generator it may be left at any time without being closed."""
        return self

    async def __anext__(self) -> T:
        try:
            return await self.get()
        except ChannelClosed:
            raise StopAsyncIteration from None

    def close(self, error: BaseException | None = None) -> None:
        if not self._closed:
            self._closed = True
            self._error = error
            self._wake()
            self._tell_rested()

    async def rested(self) -> None:
        """Wait until everything was taken and a reader is back for more: it has seen what there was."""
        while not self._closed and (self._items or not self._waiting_readers):
            if self._rested is None:
                self._rested = anyio.Event()
            await self._rested.wait()

    async def _wait_for_items(self) -> None:
        self._waiting_readers += 1
        self._tell_rested()
        try:
            await self._wait()
        finally:
            self._waiting_readers -= 1

    def _tell_rested(self) -> None:
        if self._rested is not None:
            self._rested.set()
            self._rested = None

    async def _wait(self) -> None:
        if self._changed is None:
            self._changed = anyio.Event()
        await self._changed.wait()

    def _wake(self) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None


class OwnedTask:
    """A task that belongs to whoever holds this object, not to a scope around the call that started it."""

    __slots__ = ("_done", "_keep_alive", "_scope", "error")

    def __init__(self) -> None:
        self._scope = anyio.CancelScope()
        self._done = anyio.Event()
        self._keep_alive: object = None
        self.error: BaseException | None = None
        """What the work raised, if it raised; a cancelled task has none."""

    @property
    def done(self) -> bool:
        return self._done.is_set()

    def cancel(self) -> None:
        self._scope.cancel()

    async def wait(self) -> None:
        await self._done.wait()

    async def _run(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            with self._scope:
                await work()
        except Exception as error:  # noqa: BLE001 — kept for the owner, who decides what it means
            self.error = error
        finally:
            self._done.set()


def spawn(work: Callable[[], Awaitable[None]], *, name: str) -> OwnedTask:
    """Start `work` as a task of its own and return its handle."""
    task = OwnedTask()
    if type(current_token().native_token).__module__.startswith("trio"):
        import trio  # the optional backend: only there if it is running us

        trio.lowlevel.spawn_system_task(task._run, work, name=name, context=copy_context())
    else:
        import asyncio

        native = asyncio.get_running_loop().create_task(task._run(work), name=name)
        # A loop that shuts down cancels tasks that never ran a step: their owner must not wait for ever.
        native.add_done_callback(lambda _: task._done.set())
        task._keep_alive = native
    return task


async def owned(work: Callable[[], Awaitable[T]], *, name: str) -> T:
    """Run `work` in a task of its own and hand back its value, or raise what it raised.

    Whatever cancels the caller, natively too, reaches the work as the cancellation of a scope, so that shields inside it hold.
    The caller is cancelled when the work has ended; its value may be lost then.
    """
    values: list[T] = []

    async def keep() -> None:
        values.append(await work())

    task = spawn(keep, name=name)
    await _waited(task, on_cancel=task.cancel)
    if task.error is not None:
        raise task.error
    if not values:
        raise anyio.get_cancelled_exc_class()  # a loop that shuts down has cancelled the task itself
    return values[0]


async def ended(task: OwnedTask) -> None:
    """Wait for the end of a task that nothing may break off. Who is cancelled meanwhile is cancelled after that end."""
    with anyio.CancelScope(shield=True):
        await _waited(task, on_cancel=lambda: None)
    if task.error is not None:
        raise task.error


async def _waited(task: OwnedTask, *, on_cancel: Callable[[], None]) -> None:
    cancelled: BaseException | None = None
    while not task.done:
        try:
            with anyio.CancelScope(shield=cancelled is not None):
                await task.wait()
        except anyio.get_cancelled_exc_class() as error:
            cancelled = cancelled or error
            on_cancel()
    if cancelled is not None:
        raise cancelled
