"""The stream-json conversation: frames in on stdin, frames out on stdout, until stdin ends.

What the frames say is the runtime's business (`runtime.served`); here they are only carried, and failures told.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing

from toolwright.cli.failures import complain, result_of
from toolwright.cli.frame_io import Frame, FrameOutput, read_frames
from toolwright.protocol.frames import system

Serve = Callable[[AsyncIterator[Frame], Callable[[Frame], Awaitable[None]]], Awaitable[int]]


async def converse(serve: Serve, *, stdin: int, output: FrameOutput) -> int:
    """Carry the conversation; the exit code."""

    async def report(text: str) -> None:
        complain(text)
        await output.write(system("informational", "", content=text, level="error"))

    async with aclosing(read_frames(stdin, report)) as frames:
        try:
            return await serve(frames, output.write)
        except Exception as error:  # told to the program as well, which may not read stderr; then passed on
            await output.write(result_of(error))
            raise
