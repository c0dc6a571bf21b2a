"""Worker threads after a burst of work."""

from __future__ import annotations

import threading

import anyio
import pytest

from toolwright.base.threads import IDLE_SECONDS, run_in_thread
from toolwright.base.worker_threads import in_thread

pytestmark = pytest.mark.anyio

BURST = 30


async def burst() -> int:
    """How many threads a burst of work took."""
    before, meeting = threading.active_count(), threading.Barrier(BURST + 1)
    async with anyio.create_task_group() as group:
        for _ in range(BURST):
            group.start_soon(in_thread, meeting.wait)
        await run_in_thread(meeting.wait)
        taken = threading.active_count() - before
    return taken


async def test_threads_end_when_a_burst_is_over() -> None:
    before = threading.active_count()
    assert await burst() >= BURST
    await anyio.sleep(IDLE_SECONDS / 2)
    await run_in_thread(lambda: None)  # other work meanwhile must not keep the rest alive for ever
    with anyio.fail_after(IDLE_SECONDS * 2 + 10):
        while threading.active_count() > before + 1:
            await anyio.sleep(0.1)
