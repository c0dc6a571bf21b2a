"""How long whoever reads a session may take to see a message before something is asked or done because of it.

Clients and tracers were written for a slower runtime: asked at once, they answer a question about a message that their own
reader has not seen yet. One variable says how long; 0 is not at all.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping

import anyio

CALLBACK_PAUSE_MS = 2.0
PAUSE_VARIABLE = "TOOLWRIGHT_CALLBACK_PAUSE_MS"
LATE, MAX_PAUSES = 2.0, 10
"""A pause that took so many times as long as it should was taken on a busy machine, where the reader is late as well: it is
taken again, so often at most."""
MAX_LENGTH = 0.1
"""The most seconds that a slow reader at the other end of a wire gets."""
TIMEOUT = 25.0
"""How many pauses a reader in this process is waited for that is not back for more; one that is back is not waited for."""


async def taken_in(taken: Callable[[], Awaitable[None]], seconds: float) -> None:
    """Wait until the other side has taken what was written, then as long as it may need to look at it.

    One that was slow to take it is slow to look at it as well: it gets twice as long as it took.
    """
    begun = time.perf_counter()
    await taken()
    await pause(max(seconds, min(2 * (time.perf_counter() - begun), MAX_LENGTH)))


async def pause(seconds: float) -> None:
    for _ in range(MAX_PAUSES):
        begun = time.perf_counter()
        await anyio.sleep(seconds)
        if time.perf_counter() - begun < LATE * seconds:
            return


async def at_once() -> None:
    """No moment at all: for whoever cannot tell what the other side has seen."""


def callback_pause(env: Mapping[str, str]) -> float:
    """In seconds. A value that is no number counts as none given."""
    try:
        return min(max(float(env.get(PAUSE_VARIABLE, CALLBACK_PAUSE_MS)), 0.0), 1000.0) / 1000
    except ValueError:
        return CALLBACK_PAUSE_MS / 1000
