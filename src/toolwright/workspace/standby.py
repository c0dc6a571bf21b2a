"""A thread that stands by for short blocking work, while its caller waits right there, but never for long.

To send work through the event loop into a thread and back costs as much as a small write to a quick disk. So the caller itself
waits for as long as any thread may keep the interpreter from it anyway; work that takes longer goes on, and who asked can wait
for it in another way. Knows no event loop.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")

PATIENCE = 0.005
"""Seconds a caller waits at most: the interpreter's own switch interval."""
REST = 1.0
"""Seconds for which nobody is made to wait after somebody did in vain: a slow disk stays slow for a while."""


class Job(Generic[T]):
    """Work that another thread does. It is run once, and its result taken once."""

    __slots__ = ("_done", "_error", "_result", "_work")

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._result: list[T] = []
        self._error: BaseException | None = None
        self._done = threading.Lock()
        self._done.acquire()

    def run(self, free: threading.Lock) -> None:
        try:
            self._result.append(self._work())
        except BaseException as error:  # noqa: BLE001 — raised again where the result is taken
            self._error = error
        free.release()  # first: who has the result may come with the next work at once
        self._done.release()

    def wait(self, seconds: float = -1) -> bool:
        """Wait until it is done, or for so long; whether it is done."""
        return self._done.acquire(timeout=seconds)

    def result(self) -> T:
        """To be called after `wait`. Raises what the work raised."""
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error = None  # else it would hold itself alive by its traceback
        return self._result.pop()


class Standby:
    """One thread, started when it is first needed, for one piece of work at a time."""

    def __init__(self) -> None:
        self._free = threading.Lock()
        self._jobs: SimpleQueue[Job[object]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._resting_until = 0.0

    def begin(self, work: Callable[[], T]) -> Job[T] | None:
        """Hand over `work`. None if that would not be quick: others are at it, or the last one to wait did so in vain."""
        if time.monotonic() < self._resting_until or not self._free.acquire(blocking=False):
            return None
        job = Job(work)
        if self._thread is None or not self._thread.is_alive():  # a fork has no threads but the one that forked
            self._start()
        self._jobs.put(job)  # type: ignore[arg-type]  # the thread hands nothing on: whatever the result, it fits
        return job

    def is_soon_done(self, job: Job[T]) -> bool:
        """Wait for it as long as that harms nobody."""
        done = job.wait(PATIENCE)
        if not done:
            self._resting_until = time.monotonic() + REST
        return done

    def _start(self) -> None:
        self._jobs = SimpleQueue()
        thread = threading.Thread(target=_serve, args=(self._jobs, self._free), name="toolwright standby", daemon=True)
        thread.start()
        self._thread = thread


def _serve(jobs: SimpleQueue[Job[object]], free: threading.Lock) -> None:
    while True:
        jobs.get().run(free)  # nothing of it is kept here while waiting for the next
