"""Runs one piece of work to its exit code, and ends it in good order on Ctrl-C, SIGTERM or a closed output.

Work that can end by itself is asked to, and has some seconds for it. Then it is cancelled, closes its session and is waited
for. A second Ctrl-C ends that time; a further one is Python's own: it ends the process at once.
"""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
from anyio.abc import TaskStatus

from toolwright.cli.failures import EXIT_FAILED, EXIT_OUTPUT_CLOSED, complain_about

GRACE_SECONDS = 2.0
"""So long has a turn that is interrupted to give its result, and a reader to take it."""


class Stopping:
    """How work is told to end: `stop(code)` cancels it and fixes the exit code; `before` runs first, if set."""

    def __init__(self, scope: anyio.CancelScope) -> None:
        self._scope = scope
        self.code: int | None = None
        self.before: Callable[[], None] | None = None
        self.leave: Callable[[], None] | None = None
        """Asks the work to end by itself."""

    def stop(self, code: int) -> None:
        if self.code is None:
            self.code = code
        if self.before is not None:
            self.before()
        self._scope.cancel()

    async def stop_in_time(self, code: int, *, sooner: AsyncIterator[object]) -> None:
        """Let the work end by itself, if it can, until something comes from `sooner`; then stop it."""
        self.code = self.code or code
        if self.leave is not None:
            self.leave()
            with anyio.move_on_after(GRACE_SECONDS):
                await anext(sooner, None)
        self.stop(code)

    def output_closed(self) -> None:
        self.stop(EXIT_OUTPUT_CLOSED)


Work = Callable[[Stopping], Awaitable[int]]


def run(work: Work, *, debug: bool = False) -> int:
    return anyio.run(_supervise, work, debug)


async def _supervise(work: Work, debug: bool) -> int:
    async with anyio.create_task_group() as group:
        stopping = Stopping(group.cancel_scope)
        await group.start(_stop_on_signals, stopping)
        code = await _outcome(work, stopping, debug)
        group.cancel_scope.cancel()
    return code if stopping.code is None else stopping.code


async def _outcome(work: Work, stopping: Stopping, debug: bool) -> int:
    try:
        return await work(stopping)
    except Exception as error:  # noqa: BLE001 — the outermost boundary: it becomes a line on stderr and an exit code
        if stopping.code is None:
            complain_about(error, debug=debug)
        return EXIT_FAILED


async def _stop_on_signals(stopping: Stopping, *, task_status: TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for number in signals:
            return await stopping.stop_in_time(128 + number, sooner=signals)
