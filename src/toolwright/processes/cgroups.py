"""A cgroup for each command, where the machine lets us make one: it bounds all processes of the command together, root's too.

bash enters the group itself with its first words, through a descriptor that we opened: so nothing can fork before, it works as
any user and from inside a sandbox, and no process is needed for it. Groups carry their owner in their names; what a killed
process left is ended and removed by the next. It does not know what is run.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress

from msgspec import Struct
from msgspec.structs import replace

from toolwright.processes.cgroup_location import CgroupLocation, find_place
from toolwright.processes.descriptors import DOOR, MEMORY_DOOR, moved_up
from toolwright.processes.limit_notices import GroupEvents
from toolwright.processes.resource_limits import MEGABYTE, UNSET_EXIT_CODE, ChildLimits
from toolwright.processes.temp_files import Owner

_KIND = "toolwright"
_DOORS = {1: "tasks", 2: "cgroup.procs"}
"""bash has one thread, so both mean the same; by "tasks" the kernel lets it in without halting all forks of the machine."""
_MIN_COUNT = 2
"""bash and one command: with less, nothing runs at all."""
_LOOKS = 2
_TRIES = 200
_PAUSE = 0.001
_SWAP = frozenset({"memory.swap.max", "memory.memsw.limit_in_bytes"})
"""Files that a kernel without swap accounting lacks."""
_swept: set[str] = set()


class CommandGroup(Struct, frozen=True):
    """The group of one command. `door` is the open file that a process enters by, for the child to inherit."""

    path: str
    door: int
    limits_memory: bool
    memory_path: str = ""
    """The group's twin in the tree of the memory controller, where that is a tree of its own (version 1)."""
    memory_door: int = -1

    @property
    def doors(self) -> tuple[int, ...]:
        return (self.door, self.memory_door) if self.memory_path else (self.door,)

    @property
    def words(self) -> str:
        """What bash must run first: enter, and shut the doors. It ends bash if it cannot."""
        refusal = (
            f"{{ builtin echo 'The limits for commands could not be set: nothing was run.' >&2; exit {UNSET_EXIT_CODE}; }}"
        )
        enter = " && ".join(f"builtin echo 0 >&{door}" for door in self.doors)
        shut = " ".join(f"{door}>&-" for door in self.doors)
        return f"{enter} || {refusal}; exec {shut}; "

    def members(self) -> set[int]:
        """The processes in it now."""
        return _numbers(f"{self.path}/cgroup.procs")

    def events(self) -> GroupEvents:
        """What the kernel refused or ended."""
        refused = _counts(f"{self.path}/pids.events").get("max", 0)
        memory = self.memory_path or self.path
        of_memory = _counts(f"{memory}/memory.events") or _counts(f"{memory}/memory.oom_control")  # version 2, version 1
        return GroupEvents(refused, of_memory.get("oom_kill", 0))

    def kill(self) -> None:
        """End every process in it. Blocks for a moment where the kernel cannot do it at once."""
        _kill(self.path)

    def shut(self) -> None:
        """Give the descriptors back."""
        for door in self.doors:
            os.close(door)

    def remove(self) -> bool:
        """Remove the group; False as long as a process is in it."""
        return _remove(self.path) and (not self.memory_path or _remove(self.memory_path))


class CommandGroups:
    """The groups of one session. Those of commands that left something running are kept until it has ended."""

    __slots__ = ("_awaited", "_kept", "_limits")

    def __init__(self, limits: ChildLimits) -> None:
        self._limits = limits
        self._kept: deque[CommandGroup] = deque()
        self._awaited: dict[str, Callable[[], bool]] = {}

    @contextmanager
    def one(self) -> Iterator[CommandGroup | None]:
        """A group for one command; None where there can be none: then rlimits are all there is."""
        group = make_group(self._limits)
        try:
            yield group
        finally:
            if group is not None:
                group.shut()
                self._remove_some(group)

    def keep_while(self, group: CommandGroup | None, running: Callable[[], bool]) -> None:
        """Do not remove a group as long as the command that it was made for runs: it may not have entered yet."""
        if group is not None:
            self._awaited[group.path] = running

    def _remove_some(self, last: CommandGroup) -> None:
        """The last one, if nothing is left in it, and a few of the old: with very many, looking at all each time would cost."""
        if not self._is_removed(last):
            self._kept.append(last)
        for _ in range(min(_LOOKS, len(self._kept))):
            kept = self._kept.popleft()
            if not self._is_removed(kept):
                self._kept.append(kept)

    def _is_removed(self, group: CommandGroup) -> bool:
        running = self._awaited.get(group.path)
        if running is not None and running():
            return False
        self._awaited.pop(group.path, None)
        return group.remove()

    def close(self) -> None:
        """End what is still in any of the groups, and remove them. Blocks for a moment. What stays, the next process sweeps."""
        for group in self._kept:
            _end(group.path)
            if group.memory_path:
                _end(group.memory_path)
        self._kept.clear()
        self._awaited.clear()


def make_group(limits: ChildLimits, place: CgroupLocation | None = None) -> CommandGroup | None:
    """A new group with these limits; None if there is no place for it, or nothing that it could limit."""
    place = place or find_place()
    if place is None or not (limits.processes or (limits.memory_mb and place.limits_memory)):
        return None
    _sweep_once(place.path)
    name = Owner.this_process().new_name(_KIND)
    path, bounds_memory = os.path.join(place.path, name), bool(place.limits_memory and limits.memory_mb)
    memory = _memory_files(limits, place.version) if bounds_memory else {}
    pids = {"pids.max": str(max(_MIN_COUNT, limits.processes))} if limits.processes else {}
    door = _open_group(path, place.version, pids if place.memory_path else {**pids, **memory}, number=DOOR)
    if door is None:
        return None
    group = CommandGroup(path, door, bounds_memory and not place.memory_path)
    return _with_twin(group, os.path.join(place.memory_path, name), memory) if memory and place.memory_path else group


def _with_twin(group: CommandGroup, path: str, files: Mapping[str, str]) -> CommandGroup:
    """The group with its twin in the tree of the memory controller; without, if none can be made."""
    _sweep_once(os.path.dirname(path))
    try:
        door = _open_group(path, 1, files, number=MEMORY_DOOR)
    except OSError:
        group.shut()
        group.remove()
        raise
    return group if door is None else replace(group, limits_memory=True, memory_path=path, memory_door=door)


def _open_group(path: str, version: int, files: Mapping[str, str], *, number: int) -> int | None:
    """Make the group with what is to stand in its files, and open its door; None if that cannot be done here."""
    try:
        os.mkdir(path)
        for name, text in files.items():
            with suppress(OSError) if name in _SWAP else nullcontext():
                _write(f"{path}/{name}", text)
        return moved_up(os.open(f"{path}/{_DOORS[version]}", os.O_WRONLY | os.O_CLOEXEC), number)
    except OSError as error:
        with suppress(OSError):
            os.rmdir(path)
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise
        return None


def sweep(folder: str) -> None:
    """End and remove the groups in `folder` whose owner has ended."""
    for name in os.listdir(folder):
        owner, path = Owner.of(name), os.path.join(folder, name)
        if owner is None or not name.startswith(f"{_KIND}-"):
            continue
        with suppress(OSError):
            if not owner.is_gone(time.time() - os.stat(path).st_mtime):
                continue
            if owner.namespace == Owner.this_process().namespace:  # of another container we know too little to end anything
                _end(path)
            else:
                _remove(path)


def _sweep_once(folder: str) -> None:
    """Once per process."""
    if folder not in _swept:
        _swept.add(folder)
        with suppress(OSError):
            sweep(folder)


def _memory_files(limits: ChildLimits, version: int) -> dict[str, str]:
    """What holds the memory, in the order in which it must be written; version 1 counts swap together with memory."""
    most = str(limits.memory_mb * MEGABYTE)
    if version == 1:
        return {"memory.limit_in_bytes": most, "memory.memsw.limit_in_bytes": most}
    return {"memory.max": most, "memory.swap.max": "0"}


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _kill(path: str) -> None:
    """Version 2 ends all at once; for version 1 nobody may fork any more, and then each is ended."""
    with suppress(OSError):
        _write(f"{path}/cgroup.kill", "1")
        return
    with suppress(OSError):
        _write(f"{path}/pids.max", "0")
    for _ in range(_TRIES):
        members = _numbers(f"{path}/cgroup.procs") - {0, os.getpid()}
        if not members:
            return
        for pid in members:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PAUSE)


def _end(path: str) -> None:
    """End what is in a group and remove it, once the kernel has let go of the last process."""
    _kill(path)
    for _ in range(_TRIES):
        if _remove(path):
            return
        time.sleep(_PAUSE)


def _remove(path: str) -> bool:
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _numbers(path: str) -> set[int]:
    try:
        with open(path, "rb") as file:
            return {int(word) for word in file.read().split()}
    except OSError:
        return set()


def _counts(path: str) -> dict[str, int]:
    try:
        with open(path, "rb") as file:
            pairs = (line.split() for line in file)
            return {pair[0].decode(): int(pair[1]) for pair in pairs if len(pair) == 2}
    except OSError:
        return {}
