"""Worker threads that do not outstay a burst of work.

On trio a thread that had nothing to do for ten seconds ends by itself. On asyncio, anyio ends such threads only when the next
work comes, and a program that has become quiet would keep as many as it ever needed at once. So some seconds after the last
work there is one more piece of it, which does nothing; one thread stays. It does not know what the work is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakKeyDictionary

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

T = TypeVar("T")

IDLE_SECONDS = 10.5
"""A little longer than anyio keeps a thread that has nothing to do."""


async def run_in_thread(work: Callable[[], T], *, limiter: CapacityLimiter | None = None, abandon: bool = False) -> T:
    """Run blocking `work` in a worker thread. With `abandon`, a cancelled caller does not wait for it."""
    try:
        return await run_sync(work, limiter=limiter, abandon_on_cancel=abandon)
    finally:
        _sweep_later()


class _Sweeper:
    """Waits until a loop's threads have had nothing to do for long enough. It is a timer, not a task."""

    __slots__ = ("_last_use", "_loop", "_sweep", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._last_use = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._sweep: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._last_use = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_later(IDLE_SECONDS, self._look)

    def _look(self) -> None:
        rest = self._last_use + IDLE_SECONDS - self._loop.time()
        if rest > 0:
            self._timer = self._loop.call_later(rest, self._look)
        else:
            self._timer = None
            self._sweep = self._loop.create_task(run_sync(_nothing), name="toolwright ends idle threads")


_sweepers: WeakKeyDictionary[asyncio.AbstractEventLoop, _Sweeper] = WeakKeyDictionary()


def _sweep_later() -> None:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:  # trio
        return
    sweeper = _sweepers.get(loop)
    if sweeper is None:
        sweeper = _sweepers[loop] = _Sweeper(loop)
    sweeper.start()


def _nothing() -> None:
    pass
