"""What bounds one command: limits of each process, a cgroup around all of them, and the size of the scratch folder.

One value that goes with a command from its start to its end. How limits are set and named is said elsewhere.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from msgspec import Struct

from toolwright.base.worker_threads import in_thread
from toolwright.processes.cgroups import CommandGroup
from toolwright.processes.limit_notices import explain_limit, scratch_notice
from toolwright.processes.resource_limits import MEGABYTE, ChildLimits, limit_words

LOOK_PAUSE = 1.0
"""Seconds between two looks at the scratch folder."""
_LEAST_PER_ENTRY = 4096
"""What an empty file counts for: without it, very many of them would cost nothing."""


class CommandLimits(Struct, frozen=True):
    """`scratch` gives the session's scratch folder, if there is one by now."""

    limits: ChildLimits
    group: CommandGroup | None = None
    scratch: Callable[[], str | None] = lambda: None

    @property
    def words(self) -> str:
        """What bash must run before anything else."""
        if self.group is None:
            return limit_words(self.limits)
        return self.group.words + limit_words(self.limits, memory_in_group=self.group.limits_memory)

    @property
    def doors(self) -> tuple[int, ...]:
        """The descriptors that those words use."""
        return () if self.group is None else self.group.doors

    def explain(self, exit_code: int, output: str) -> str | None:
        """Which limit a command ran into, if any."""
        if exit_code == 0 and (self.group is None or not self.group.limits_memory):
            return None  # the usual case: nothing to look up
        return explain_limit(exit_code, output, self.limits, events=None if self.group is None else self.group.events())

    @property
    def scratch_notice(self) -> str:
        return scratch_notice(self.limits)

    def looking(self) -> Looking:
        return Looking(self)

    async def scratch_is_full(self) -> bool:
        """Whether the scratch folder holds more than it may."""
        folder, most = self.scratch(), self.limits.scratch_mb * MEGABYTE
        if folder is None or not most:
            return False
        return await in_thread(lambda: holds_more(folder, most), abandon=True)

    async def end_rest(self) -> int:
        """End what is still in the group, however it got away from its parents. Returns how many there were."""
        group = self.group
        rest = set() if group is None else group.members()
        if group is not None and rest:
            await in_thread(group.kill)
        return len(rest)


def holds_more(folder: str, most: int) -> bool:
    """Whether the files below `folder` take more than so many bytes of disk. Follows no link; stops as soon as it is sure."""
    total, waiting = 0, [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    total += _size(entry)
                    if total > most:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            continue  # gone meanwhile, or not ours to look into
    return False


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return max(_LEAST_PER_ENTRY, entry.stat(follow_symlinks=False).st_blocks * 512)
    except OSError:
        return 0


class Looking:
    """Looks at the scratch folder again and again; seldom, if looking takes long."""

    __slots__ = ("_bounds", "pause")

    def __init__(self, bounds: CommandLimits) -> None:
        self._bounds = bounds
        self.pause = LOOK_PAUSE
        """Seconds to wait before the next look."""

    @property
    def notice(self) -> str:
        """What to say if it is too full."""
        return self._bounds.scratch_notice

    async def finds_full(self) -> bool:
        started = time.monotonic()
        full = await self._bounds.scratch_is_full()
        self.pause = max(LOOK_PAUSE, 20 * (time.monotonic() - started))
        return full
