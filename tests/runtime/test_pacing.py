"""The pause before questions."""

import time

import anyio
import anyio.lowlevel
import pytest

from toolwright.runtime.pacing import pause, taken_in

pytestmark = pytest.mark.anyio


async def test_a_pause_beside_a_busy_loop_is_taken_again() -> None:
    done: list[str] = []

    async def keep_busy() -> None:
        for _ in range(4):
            time.sleep(0.02)
            await anyio.lowlevel.checkpoint()
        done.append("busy")

    async with anyio.create_task_group() as group:
        group.start_soon(keep_busy)
        await pause(0.002)
        done.append("paused")
    assert done == ["busy", "paused"]


async def test_a_machine_that_is_always_busy_is_not_waited_for() -> None:
    async def keep_busy() -> None:
        while True:
            time.sleep(0.005)
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group:
        group.start_soon(keep_busy)
        with anyio.fail_after(5):
            await pause(0.001)
        group.cancel_scope.cancel()


async def test_who_is_slow_to_take_a_message_has_longer_to_look_at_it() -> None:
    moments: list[float] = []

    async def taken() -> None:
        await anyio.sleep(0.02)
        moments.append(time.perf_counter())

    await taken_in(taken, 0.001)
    assert time.perf_counter() - moments[0] >= 0.04
