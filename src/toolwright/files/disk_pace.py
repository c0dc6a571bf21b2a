"""How quick disks are, by what writing to them has taken: a quick one is waited for, a slow one gets a thread.

To send a small write through the event loop into a thread and back costs more time, and more of the processor's, than to wait
for a quick disk. It does not know what the work is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")

QUICK = 0.005
"""Seconds for which an event loop may typically be held up: any thread may keep the interpreter from it for as long."""
_UNKNOWN = 2 * QUICK
_WEIGHT = 0.25
"""How much the last write counts: some four quick ones make a disk known as quick, and the more a slow one took, the longer it
is not forgotten (after a second some twenty)."""


class Pace:
    """What is known of one disk."""

    __slots__ = ("_typical",)

    def __init__(self) -> None:
        self._typical = _UNKNOWN

    @property
    def is_quick(self) -> bool:
        return self._typical <= QUICK

    def note(self, seconds: float) -> None:
        self._typical += _WEIGHT * (seconds - self._typical)

    def timed(self, work: Callable[[], T]) -> T:
        """Do `work` and learn from how long it took."""
        started = time.perf_counter()
        result = work()
        self.note(time.perf_counter() - started)
        return result


_paces: dict[int, Pace] = {}


def pace_of(folder: str) -> Pace:
    """The pace of the disk that a folder is on; nothing is known of one that is gone."""
    try:
        return _pace_at(folder)
    except OSError:
        return Pace()


@lru_cache(maxsize=64)
def _pace_at(folder: str) -> Pace:
    """Looked up once: if another disk is mounted there later, its pace is learnt where the old one's was."""
    return _paces.setdefault(os.stat(folder).st_dev, Pace())
