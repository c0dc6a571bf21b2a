"""A task that ticks beside some work, and tells how long the work kept the event loop from it."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable

import anyio

MAX_STALL_LENGTH = 0.025
MAX_WHEN_BUSY_LENGTH = 0.1
"""Where more wants to run than there are processors, threads get the interpreter later; real stalls were ten times this."""
TRIES = 5


async def longest_stall(work: Callable[[], Awaitable[object]]) -> float:
    """Seconds of our own processor time that passed, at worst, while a tick was due.

    Processor time, because a machine that has other things to do also keeps a tick waiting.
    """
    worst = 0.0

    async def tick() -> None:
        nonlocal worst
        while True:
            began = time.process_time()
            await anyio.sleep(0.001)
            worst = max(worst, time.process_time() - began)

    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        await anyio.sleep(0.01)
        worst = 0.0
        await work()
        await anyio.sleep(0)
        group.cancel_scope.cancel()
    return worst


async def assert_no_stall(work: Callable[[], Awaitable[object]]) -> None:
    """Work that holds up the loop does so every time; anything else happens now and then. So the best of some tries counts."""
    stalls = []
    for _ in range(TRIES):
        stalls.append(await longest_stall(work))
        is_busy = os.getloadavg()[0] > (os.cpu_count() or 1)
        if stalls[-1] <= (MAX_WHEN_BUSY_LENGTH if is_busy else MAX_STALL_LENGTH):
            return
    raise AssertionError(f"the event loop stood still for {[f'{stall * 1000:.0f} ms' for stall in stalls]}")
