"""Which mechanism holds each limit on this machine, and which limit nothing holds. It is for people; it decides nothing."""

from __future__ import annotations

import os

from msgspec import Struct

from toolwright.processes.cgroup_location import CgroupLocation, find_place

_DELEGATION = "run toolwright in a delegated cgroup (systemd: Delegate=yes and DelegateSubgroup=main)"


class HeldLimit(Struct, frozen=True):
    """One row of the survey."""

    key: str
    """As in `sandbox.limits`."""
    mechanism: str
    holds: bool
    missing: str = ""
    """What would make it hold, or hold better."""


def survey_limits() -> tuple[HeldLimit, ...]:
    """The limits of commands on this machine, for children of this user."""
    return held_limits(find_place(), root=os.geteuid() == 0)


def held_limits(place: CgroupLocation | None, *, root: bool) -> tuple[HeldLimit, ...]:
    return (
        HeldLimit("cpuSeconds", "RLIMIT_CPU, each process", True),
        _memory(place),
        _processes(place, root),
        HeldLimit("openFiles", "RLIMIT_NOFILE, each process", True),
        HeldLimit("fileSizeMb", "RLIMIT_FSIZE, each file", True),
        HeldLimit("scratchMb", "measured every second while commands run", True),
    )


def _memory(place: CgroupLocation | None) -> HeldLimit:
    if place is not None and place.limits_memory:
        return HeldLimit("memoryMb", f"cgroup v{place.version} memory, the whole command", True)
    counts = "counts neither the processes of a command together nor memfd, /dev/shm and shared memory"
    return HeldLimit("memoryMb", f"RLIMIT_DATA, each process, soft: stops accidents, not intent; {counts}", True, _DELEGATION)


def _processes(place: CgroupLocation | None, root: bool) -> HeldLimit:
    if place is not None:
        return HeldLimit("processes", f"cgroup v{place.version} pids, the whole command", True)
    if root:
        return HeldLimit("processes", "none: RLIMIT_NPROC does not bind root", False, f"do not run as root, or {_DELEGATION}")
    return HeldLimit("processes", "RLIMIT_NPROC, all processes of the user", True)
