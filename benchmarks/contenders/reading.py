"""Reads what this process and its children cost, from /proc and the clock. Every contender imports it."""

from __future__ import annotations

import gc
import os
import time
from dataclasses import dataclass

TICKS = os.sysconf("SC_CLK_TCK")

has_children = False
"""Set by a contender that starts processes: looking for them costs time, which the others need not pay."""


@dataclass(frozen=True, slots=True)
class Clock:
    """A moment: CPU seconds of this process and its children up to now, and the wall clock."""

    cpu: float
    wall: float

    @classmethod
    def now(cls) -> Clock:
        return cls(cpu_seconds(), time.perf_counter())

    def since(self, start: Clock) -> Clock:
        return Clock(self.cpu - start.cpu, self.wall - start.wall)


def cpu_seconds() -> float:
    """This process, the children that have ended, and the descendants that are alive."""
    return time.process_time() + _ended_children() + sum(_ticks(pid) for pid in descendants()) / TICKS


def _ended_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _ticks(pid: int) -> int:
    fields = _stat(pid)
    return sum(int(field) for field in fields[11:15]) if fields else 0


def _stat(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat after the name; none if the process is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def descendants() -> list[int]:
    if not has_children:
        return []
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := _stat(int(name))):
            children.setdefault(int(fields[1]), []).append(int(name))
    found, waiting = [], [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def resident_kb() -> int:
    """What this process holds in memory, after its garbage is gone."""
    gc.collect()
    return _status("VmRSS:")


def peak_kb() -> int:
    return _status("VmHWM:")


def children_kb() -> int:
    """The descendants' proportional share of memory: pages that several of them share are counted once."""
    return sum(_proportional_kb(pid) for pid in descendants())


def _proportional_kb(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0


def _status(key: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key))
