from __future__ import annotations

import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

import anyio
import pytest

from toolwright.workspace.limits import promptly
from toolwright.workspace.standby import Job, Standby

pytestmark = pytest.mark.anyio
LONG = 30.0
T = TypeVar("T")


class Thing:
    """Something that can be watched."""


def begun(standby: Standby, work: Callable[[], T]) -> Job[T]:
    job = standby.begin(work)
    assert job is not None
    return job


def test_work_is_done_by_another_thread_and_its_result_handed_back() -> None:
    job = begun(Standby(), threading.get_ident)
    assert job.wait(LONG)
    assert job.result() not in (None, threading.get_ident())


def test_what_the_work_raises_is_raised_where_its_result_is_taken() -> None:
    standby = Standby()
    job = begun(standby, lambda: dict[str, int]()["missing"])
    assert job.wait(LONG)
    with pytest.raises(KeyError, match="missing"):
        job.result()
    assert begun(standby, lambda: 1).wait(LONG)


def test_a_busy_thread_takes_nothing_more() -> None:
    standby, go = Standby(), threading.Event()
    first = begun(standby, lambda: go.wait(LONG))
    assert standby.begin(lambda: None) is None
    go.set()
    assert first.wait(LONG)
    assert begun(standby, lambda: None).wait(LONG)


def test_after_waiting_in_vain_nobody_is_made_to_wait_for_a_while() -> None:
    standby, go = Standby(), threading.Event()
    slow = begun(standby, lambda: go.wait(LONG))
    assert not standby.is_soon_done(slow)
    go.set()
    assert slow.wait(LONG)
    assert standby.begin(lambda: None) is None


def test_nothing_of_the_work_is_kept() -> None:
    standby, things = Standby(), [Thing()]
    watched = weakref.ref(things[0])
    job = begun(standby, things.pop)
    assert job.wait(LONG)
    job.result()
    second = begun(standby, lambda: None)  # the thread has turned to something else
    assert second.wait(LONG)
    assert watched() is None


_FORK = """
import os
from toolwright.workspace.standby import Standby

standby = Standby()
assert standby.begin(lambda: None).wait(30)
child = os.fork()
if child == 0:
    os._exit(0 if standby.begin(lambda: None).wait(30) else 1)
print(os.waitpid(child, 0)[1])
"""


def test_a_fork_gets_a_thread_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", _FORK], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("0", "")


async def test_the_event_loop_goes_on_while_slow_work_goes_on() -> None:
    go = threading.Event()

    async def let_go() -> None:
        go.set()

    async with anyio.create_task_group() as group:
        group.start_soon(let_go)
        assert await promptly(lambda: go.wait(LONG))


async def test_work_of_a_cancelled_caller_is_not_begun() -> None:
    begun_work: list[int] = []
    with anyio.CancelScope() as scope:
        scope.cancel()
        await promptly(lambda: begun_work.append(1))
    assert scope.cancelled_caught
    assert begun_work == []


async def test_work_that_has_begun_is_waited_for_when_its_caller_is_cancelled() -> None:
    started, go, finished = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        go.wait(LONG)
        finished.set()

    async with anyio.create_task_group() as group:
        group.start_soon(promptly, work)
        while not started.is_set():
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
        go.set()
    assert finished.is_set()
