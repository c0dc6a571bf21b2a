"""Threads that have bound themselves for good, kept for a while: what such a thread starts inherits its bounds for nothing.

Landlock, seccomp filters and capabilities belong to a thread. A command that starts in one that is bound already costs no more
than any other. A thread that nobody used for some seconds ends. What else happens to run in one, a finalizer for instance, is
bound as well.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from queue import Empty, SimpleQueue
from typing import TypeVar

from msgspec import Struct

T = TypeVar("T")

LINGER_SECONDS = 5.0
MAX_THREADS = 64
"""So many are kept; any more are used once."""


class _Job(Struct, frozen=True):
    work: Callable[[], object]
    answer: SimpleQueue[tuple[object, BaseException | None]]


_threads: dict[Hashable, SimpleQueue[_Job]] = {}
_guard = threading.Lock()


def run_restricted(bounds: Hashable, restrict: Callable[[], None], work: Callable[[], T]) -> T:
    """Do `work` in a thread that `restrict` has bound, and wait for it; `bounds` says which threads are bound alike."""
    job = _Job(work, SimpleQueue())
    with _guard:
        jobs = _threads.get(bounds)
        if jobs is None:
            jobs = SimpleQueue()
            is_kept = len(_threads) < MAX_THREADS
            threading.Thread(target=_serve, args=(bounds, jobs, restrict), daemon=True, name="toolwright-cage").start()
            if is_kept:
                _threads[bounds] = jobs
        jobs.put(job)
    value, error = job.answer.get()
    if error is not None:
        raise error
    return value  # type: ignore[return-value]  # what `work` gave


def _serve(bounds: Hashable, jobs: SimpleQueue[_Job], restrict: Callable[[], None]) -> None:
    failure: BaseException | None = None
    try:
        restrict()
    except BaseException as error:  # noqa: BLE001 — handed to whoever wants work done here; none of it is done
        failure = error
    while (job := _next(bounds, jobs)) is not None:
        if failure is not None:
            job.answer.put((None, failure))
            continue
        try:
            job.answer.put((job.work(), None))
        except BaseException as error:  # noqa: BLE001 — handed to the caller's thread and raised there
            job.answer.put((None, error))


def _next(bounds: Hashable, jobs: SimpleQueue[_Job]) -> _Job | None:
    """The next work; None when there was none for so long that the thread may end."""
    try:
        return jobs.get(timeout=LINGER_SECONDS)
    except Empty:
        pass
    with _guard:
        try:
            return jobs.get_nowait()
        except Empty:
            if _threads.get(bounds) is jobs:
                del _threads[bounds]
            return None
