"""How much file work goes on at once, where it runs, and when it is tried again. It does not know what the work is."""

from __future__ import annotations

import errno
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from anyio.lowlevel import RunVar

from toolwright.base.threads import run_in_thread

T = TypeVar("T")

MAX_AT_ONCE = 100
RETRIES = 3
FIRST_DELAY = 0.1
MAX_DELAY = 5.0
PASSING = frozenset({errno.EMFILE, errno.ENFILE, errno.EAGAIN})
"""Out of descriptors or processes for the moment: worth another try. Anything else is not."""
_NO_THREAD = "can't start new thread"
"""How Python says that the kernel refused a thread, which is a process to it (EAGAIN)."""

_limiter: RunVar[anyio.CapacityLimiter] = RunVar("toolwright_file_operations")


async def in_thread(work: Callable[[], T], *, abandon: bool = False) -> T:
    """Run blocking `work` in a worker thread, with at most `MAX_AT_ONCE` of them, trying again when descriptors are short.

    With `abandon`, a cancelled caller does not wait for a thread that hangs (reads only: an abandoned write goes on unseen).
    """

    async def attempt() -> T:
        return await _threaded(work, abandon=abandon)

    return await _with_second_tries(attempt)


async def inline(work: Callable[[], T]) -> T:
    """Run short `work` here and now (a thread costs more than a small file), with the same second tries."""

    async def attempt() -> T:
        return work()

    return await _with_second_tries(attempt)


async def _with_second_tries(attempt: Callable[[], Awaitable[T]]) -> T:
    for attempt_number in range(RETRIES):
        try:
            return await attempt()
        except OSError as error:
            if error.errno not in PASSING:
                raise
        await anyio.sleep(retry_delay(attempt_number))
    return await attempt()


def retry_delay(attempt_number: int) -> float:
    """Exponential, with jitter so that many callers do not come back together."""
    import random  # hardly ever needed

    delay: float = min(MAX_DELAY, FIRST_DELAY * 2**attempt_number)
    return delay * random.uniform(0.5, 1.0)


async def _threaded(work: Callable[[], T], *, abandon: bool = False) -> T:
    try:
        return await run_in_thread(work, limiter=limiter_of_loop(_limiter, MAX_AT_ONCE), abandon=abandon)
    except RuntimeError as error:
        if str(error) != _NO_THREAD:
            raise
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error


def limiter_of_loop(variable: RunVar[anyio.CapacityLimiter], most: int) -> anyio.CapacityLimiter:
    """The limiter that this event loop has for one kind of work, made when it is first wanted."""
    try:
        return variable.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(most)
        variable.set(limiter)
        return limiter
