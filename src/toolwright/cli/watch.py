"""A session that somebody watches: its frames are drawn as they come, with a status line that shows that it is alive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

from toolwright.base.concurrency import spawn
from toolwright.cli.ask import CLOSE_TIMEOUT, user_frame
from toolwright.cli.failures import error_result
from toolwright.cli.render import Renderer

if TYPE_CHECKING:
    from toolwright.runtime.interfaces import Session

TICK = 0.1


async def watch(session: Session, prompt: str, renderer: Renderer, *, drawing: anyio.Lock | None = None) -> dict[str, Any]:
    """Hold the conversation of one prompt and draw it; the result frame. Whoever holds `drawing` has the terminal."""
    turn = drawing or anyio.Lock()
    ticking = spawn(lambda: _keep_ticking(renderer, turn), name="status line") if renderer.terminal.live else None
    result = None
    try:
        await session.start()
        await session.send(user_frame(prompt))
        await session.end_input()
        async for frame in session.frames():
            async with turn:
                renderer.show(frame)
            result = frame if frame.get("type") == "result" else result
    finally:
        if ticking is not None:
            ticking.cancel()
        with anyio.move_on_after(CLOSE_TIMEOUT, shield=True):
            await session.close()
    return result or error_result("the session ended without a result")


async def _keep_ticking(renderer: Renderer, turn: anyio.Lock) -> None:
    while True:
        async with turn:
            renderer.tick()
        await anyio.sleep(TICK)
