"""How long whoever reads a session may take to see a message before something is asked or done because of it.

Clients and tracers were written for a slower runtime: asked at once, they answer a question about a message that their own
reader has not seen yet. One variable says how long; 0 is not at all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import anyio

CALLBACK_PAUSE_MS = 2.0
PAUSE_VARIABLE = "TOOLWRIGHT_CALLBACK_PAUSE_MS"
SLICES = 20
"""A pause is taken in so many parts: on a busy machine, or beside a busy event loop, the reader gets as many turns."""


async def pause(seconds: float) -> None:
    for _ in range(SLICES):
        await anyio.sleep(seconds / SLICES)


async def until(done: Callable[[], Awaitable[None]], seconds: float) -> None:
    """Wait for `done`, for as long as a pause takes at most."""
    for _ in range(SLICES):
        with anyio.move_on_after(seconds / SLICES):
            await done()
            return


async def at_once() -> None:
    """No moment at all: for whoever cannot tell what the other side has seen."""


def callback_pause(env: Mapping[str, str]) -> float:
    """In seconds. A value that is no number counts as none given."""
    try:
        return min(max(float(env.get(PAUSE_VARIABLE, CALLBACK_PAUSE_MS)), 0.0), 1000.0) / 1000
    except ValueError:
        return CALLBACK_PAUSE_MS / 1000
