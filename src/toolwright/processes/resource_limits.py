"""How much of the machine one command may take, and how bash takes those limits upon itself before it runs anything.

The limits of a process (rlimits) cost nothing: a few words at the head of the script, inherited by all that follows. They only
ever tighten what this process has itself. Limits on a whole command (cgroups) are made elsewhere. It starts no process.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping
from functools import cache

from msgspec import Struct, field
from msgspec.structs import replace

MEGABYTE = 1 << 20
CPU_GRACE = 5
"""Seconds between SIGXCPU, which a program may catch, and the end."""
UNSET_EXIT_CODE = 125
SETTINGS_KEYS = {  # how the settings call what is here
    "cpuSeconds": "cpu_seconds",
    "memoryMb": "memory_mb",
    "processes": "processes",
    "openFiles": "open_files",
    "fileSizeMb": "file_size_mb",
    "scratchMb": "scratch_mb",
}


def half_of_memory() -> int:
    """Half of what this machine has, in MB, but room enough for a build."""
    return max(2048, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MEGABYTE // 2)


class ChildLimits(Struct, frozen=True):
    """What one command may take; 0 is no limit. The defaults let a large build through and stop a fork bomb."""

    cpu_seconds: int = 4 * 3600
    """Processor time of each process."""
    memory_mb: int = field(default_factory=half_of_memory)
    """Of all processes together in a cgroup; else of each, as a soft limit, since rlimits know no more."""
    processes: int = 1024
    """Processes and threads of a command in a cgroup; else how many more the user may have than the machine has now."""
    open_files: int = 16_384
    """Of each process."""
    file_size_mb: int = 16_384
    """Of each file that is written."""
    scratch_mb: int = 4096
    """All files in the session's scratch folder."""


@cache
def default_limits() -> ChildLimits:
    """The defaults on this machine."""
    return ChildLimits()


def chosen_limits(said: Mapping[str, int | None]) -> ChildLimits:
    """The limits by their names here; where None is said, or nothing, the default holds."""
    return ChildLimits(**{name: number for name, number in said.items() if number is not None})


def lowered(limits: ChildLimits, caps: Mapping[str, int | None]) -> ChildLimits:
    """The limits, where `caps` are lower: those. None and 0 cap nothing."""
    held = {name: min(filter(None, (getattr(limits, name), cap))) for name, cap in caps.items() if cap}
    return replace(limits, **held)


class _Bound(Struct, frozen=True):
    """One rlimit: bash's letter for it, the unit bash counts in, and what soft and hard limit should be at most."""

    letter: str
    kind: int
    soft: int
    hard: int
    unit: int = 1


def limit_words(limits: ChildLimits, *, memory_in_group: bool = False) -> str:
    """The words that make bash limit itself; they end bash if that fails. Empty if there is nothing to tighten."""
    bounds = _bounds(limits, memory_in_group)
    words = [word for hard in (False, True) if (word := _ulimit(bounds, hard=hard))]
    if not words:
        return ""
    refusal = f"{{ builtin echo 'The limits for commands could not be set: nothing was run.' >&2; exit {UNSET_EXIT_CODE}; }}"
    return f"{' && '.join(words)} || {refusal}; "


def _bounds(limits: ChildLimits, memory_in_group: bool) -> list[_Bound]:
    cpu, files = limits.cpu_seconds, limits.open_files
    size = limits.file_size_mb * MEGABYTE
    bounds = [
        _Bound("t", resource.RLIMIT_CPU, cpu, cpu and cpu + CPU_GRACE),
        _Bound("n", resource.RLIMIT_NOFILE, files, files),
        _Bound("f", resource.RLIMIT_FSIZE, size, size, 1024),
    ]
    if limits.processes:
        most = limits.processes + machine_threads()
        bounds.append(_Bound("u", resource.RLIMIT_NPROC, most, most))
    if not memory_in_group:
        # Soft alone: it holds for each process only, so it stops accidents. What asks for terabytes of address space by design
        # (sanitizers) can lift it.
        bounds.append(_Bound("d", resource.RLIMIT_DATA, limits.memory_mb * MEGABYTE, 0, 1024))
    return bounds


def machine_threads() -> int:
    """How many threads the machine runs: the user's own are among them, whichever they are."""
    try:
        with open("/proc/loadavg", "rb") as file:
            return int(file.read().split()[3].partition(b"/")[2])
    except (OSError, ValueError, IndexError):
        return 4096  # no such file: a desktop's worth


def _ulimit(bounds: list[_Bound], *, hard: bool) -> str:
    words = []
    for bound in bounds:
        wanted = bound.hard if hard else bound.soft
        given = resource.getrlimit(bound.kind)[hard]
        if wanted and (given == resource.RLIM_INFINITY or wanted < given):
            words.append(f"-{bound.letter} {wanted // bound.unit}")
    return f"ulimit -{'H' if hard else 'S'} {' '.join(words)}" if words else ""
