"""Say which limit a command ran into, from how it ended. It does not know how limits are set.

What the kernel counted or signalled is certain. What a program printed is a hint, and the notice says so.
"""

from __future__ import annotations

import re
import signal

from msgspec import Struct

from toolwright.processes.resource_limits import SETTINGS_KEYS, ChildLimits

TAIL = 4096
"""How many characters of the end of the output are looked at."""
_CHANGE = "raise sandbox.limits.{key} in the settings if the work needs more"


class GroupEvents(Struct, frozen=True):
    """What the kernel counted for the cgroup of a command."""

    forks_refused: int = 0
    killed_for_memory: int = 0


class _Hint(Struct, frozen=True):
    """Words that programs print when they run into a limit."""

    key: str
    pattern: re.Pattern[str]


_UNITS = {
    "cpuSeconds": "seconds of processor time",
    "memoryMb": "MB of memory",
    "processes": "processes and threads",
    "openFiles": "open files",
    "fileSizeMb": "MB for one file",
    "scratchMb": "MB for it",
}
_HINTS = (
    _Hint(
        "processes",
        re.compile(
            r"Resource temporarily unavailable|can't start new thread|[Cc]annot fork|Can't fork|EAGAIN"
            r"|unable to create native thread"
        ),
    ),
    _Hint("openFiles", re.compile(r"Too many open files|EMFILE")),
    _Hint("fileSizeMb", re.compile(r"File size limit exceeded|File too large|EFBIG")),
    _Hint("cpuSeconds", re.compile(r"CPU time limit exceeded|Cputime limit exceeded")),
    _Hint(
        "memoryMb",
        re.compile(
            r"Cannot allocate memory|MemoryError|std::bad_alloc|[Oo]ut of memory|OutOfMemoryError|virtual memory exhausted"
            r"|[Mm]emory exhausted|ENOMEM|ReserveShadowMemoryRange failed"
        ),
    ),
)


def explain_limit(exit_code: int, tail: str, limits: ChildLimits, *, events: GroupEvents | None = None) -> str | None:
    """One sentence naming the limit a command ran into; None if it ran into none that can be seen."""
    return (
        _counted(exit_code, limits, events or GroupEvents())
        or _signalled(exit_code, limits)
        or _hinted(exit_code, tail, limits)
    )


def scratch_notice(limits: ChildLimits) -> str:
    """For a command that was ended because of what lies in the scratch folder."""
    return _sentence(
        "the scratch folder holds more than the", "scratchMb", limits, ending="the command was ended. Remove files there, or "
    )


def _counted(exit_code: int, limits: ChildLimits, events: GroupEvents) -> str | None:
    if events.killed_for_memory:
        return _sentence("the kernel ended a process at the", "memoryMb", limits)
    if events.forks_refused and exit_code != 0:
        return _sentence("no more processes could be started: the command reached the", "processes", limits)
    return None


def _signalled(exit_code: int, limits: ChildLimits) -> str | None:
    if exit_code == 128 + signal.SIGXCPU and limits.cpu_seconds:
        return _sentence("a process was ended at the", "cpuSeconds", limits)
    if exit_code == 128 + signal.SIGXFSZ and limits.file_size_mb:
        return _sentence("a process was ended for writing a file larger than the", "fileSizeMb", limits)
    return None


def _hinted(exit_code: int, tail: str, limits: ChildLimits) -> str | None:
    if exit_code == 0:
        return None
    for hint in _HINTS:
        if _amount(hint.key, limits) and hint.pattern.search(tail[-TAIL:]):
            return _sentence("this may be the", hint.key, limits)
    return None


def _sentence(beginning: str, key: str, limits: ChildLimits, *, ending: str = "") -> str:
    return f"{beginning} limit of {_shown(key, limits)}; {ending}{_CHANGE.format(key=key)}{_way_out(key)}"


def _way_out(key: str) -> str:
    return (
        ", or lift it for one command with `ulimit -S -d unlimited` where it is only a soft limit" if key == "memoryMb" else ""
    )


def _shown(key: str, limits: ChildLimits) -> str:
    return f"{_amount(key, limits):,} {_UNITS[key]}"


def _amount(key: str, limits: ChildLimits) -> int:
    return int(getattr(limits, SETTINGS_KEYS[key]))
