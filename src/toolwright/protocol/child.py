"""A child process as seen from its parent: how it is heard, and how it is ended.

Its own children may keep its pipes open after it is gone, so nothing here waits for a pipe without a bound.
"""

from __future__ import annotations

import logging
import os
import signal
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from functools import partial

import anyio
from anyio.abc import ByteReceiveStream, Process

from toolwright.base.concurrency import spawn

EXIT_SECONDS = 5.0
KEPT_LINES = 50
"""How many of its last lines of diagnostics are kept."""

GONE = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError)

_LOOK_SECONDS = 0.25
_QUIET_SECONDS = 2.0
_PIECE_BYTES = 64 * 1024
_log = logging.getLogger("toolwright.protocol")


class Diagnostics:
    """The child's error output: each line goes to the callback, the last ones are kept."""

    __slots__ = ("_callback", "_kept")

    def __init__(self, callback: Callable[[str], None] | None = None) -> None:
        self._callback = callback
        self._kept: deque[str] = deque(maxlen=KEPT_LINES)

    def text(self) -> str:
        return "\n".join(self._kept)

    async def listen(self, stream: ByteReceiveStream) -> None:
        """Read to the end, so that a talkative child never waits for a full pipe."""
        rest = b""
        with suppress(*GONE):
            while True:
                *lines, rest = (rest + await stream.receive()).split(b"\n")
                if len(rest) > _PIECE_BYTES:  # a flood without line ends is given out in pieces
                    lines, rest = [*lines, rest], b""
                for line in lines:
                    self._take(line)
        self._take(rest)

    def _take(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").rstrip()
        if text:
            self._kept.append(text)
            self._call(text)

    def _call(self, text: str) -> None:
        try:
            if self._callback is not None:
                self._callback(text)
        except Exception:  # noqa: BLE001 — a host callback: its failure must not end the session
            _log.exception("the stderr callback raised")


async def output(process: Process) -> AsyncGenerator[bytes, None]:
    """The child's output until it ends, or until the child is gone and nothing comes any more."""
    assert process.stdout is not None
    while True:
        data = b""
        with anyio.move_on_after(_QUIET_SECONDS):
            try:
                data = await process.stdout.receive()
            except GONE:
                return
        if data:
            yield data
        elif process.returncode is not None:
            return


async def exited(process: Process, seconds: float) -> bool:
    """Wait for the end, and say whether it came. Looks now and then: on asyncio `wait` may wait for the pipes as well."""
    deadline = anyio.current_time() + seconds
    while process.returncode is None and anyio.current_time() < deadline:
        with anyio.move_on_after(_LOOK_SECONDS):
            await process.wait()
    return process.returncode is not None


async def ended(process: Process, seconds: float) -> None:
    """Make it end, its input being closed: wait; SIGTERM, wait; SIGKILL to it and its group."""
    draining = spawn(partial(_drain, process), name="child output")
    try:
        for stop in (_no_force, _terminate, _kill):
            stop(process)
            if await exited(process, seconds):
                return
    finally:
        draining.cancel()
        await draining.wait()


async def released(process: Process) -> None:
    """Let go of the pipes of a child that has ended."""
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(*GONE, OSError):
                await stream.aclose()
    # asyncio holds its ends of the pipes until the other ends close, which the child's children may never do.
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:
        transport.close()


def exit_text(code: int) -> str:
    if code >= 0:
        return f"Command failed with exit code {code}"
    try:
        return f"Command was ended by signal {signal.Signals(-code).name}"
    except ValueError:
        return f"Command was ended by signal {-code}"


async def _drain(process: Process) -> None:
    """Throw the rest of the output away: a child that waits for its reader cannot end."""
    assert process.stdout is not None
    with suppress(*GONE, anyio.BusyResourceError):
        while True:
            await process.stdout.receive()


def _no_force(process: Process) -> None:
    """The closed input is the first request to end."""


def _terminate(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(ProcessLookupError):
        process.kill()
