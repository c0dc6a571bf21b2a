"""Find and end every process that came out of a command, however it tried to leave: setsid, double fork, a cleared environment.

A command is marked before it runs: its soft limit on file locks, which Linux has not enforced for twenty years, is set to a
number of ours, by us as soon as there is a process (so that a sandbox that is being set up is found as well) and by bash. Every
descendant inherits the number through fork and exec, and /proc shows it. Beside the mark, members of the command's session and
children of what was found count as well. Where there is no /proc, the process group is all there is.

It is no jail: a process that changes its own limits on purpose and leaves its parent and session gets away.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress

import anyio
from msgspec import Struct

from toolwright.base.worker_threads import in_thread

TERM_GRACE = 1.0
KILL_TIMEOUT = 5.0
_TICK = 0.02
_KILL_ROUNDS = 20
CALL_BITS = 20
FIRST_SESSION = 1 << 39
"""Sessions have numbers from here on, far from what anybody sets as a limit."""
_LIMIT_NAME = b"Max file locks"
_LOCKS = 10
"""RLIMIT_LOCKS, for which Python has no name."""


class Mark(Struct, frozen=True):
    """The number all processes of one session share in its high bits, and those of one call entirely."""

    session: int
    call: int = 0

    @property
    def value(self) -> int:
        return self.session << CALL_BITS | self.call

    @classmethod
    def new_session(cls) -> Mark:
        return cls(int.from_bytes(os.urandom(5), "big") | FIRST_SESSION)

    def fits(self, value: int) -> bool:
        return value == self.value or (self.call == 0 and value >> CALL_BITS == self.session)


def mark_process(pid: int, mark: Mark) -> None:
    """Mark a process that has just been started, before it says its own first word, as far as we may."""
    if sys.platform == "linux":
        with suppress(OSError):  # another user's, or gone already
            hard = resource.prlimit(pid, _LOCKS)[1]
            resource.prlimit(pid, _LOCKS, (mark.value, hard))


class _Process(Struct, frozen=True):
    pid: int
    state: str
    parent: int
    session: int


async def end_tree(
    mark: Mark, leader: int = 0, *, leader_is_keeper: bool = False, on_tick: Callable[[], None] = lambda: None
) -> int:
    """Ask every process of the mark (and of `leader`'s session) to end, then make it. Returns how many there were.

    A `leader` that only keeps a sandbox is not asked: its end would be the end of all others at once. It follows them.
    `on_tick` runs while we wait, for instance to keep reading what they still say.
    """
    spared = {leader} if leader_is_keeper else set()
    ended: set[int] = set()
    for signal_number, patience in ((signal.SIGTERM, TERM_GRACE), (signal.SIGKILL, KILL_TIMEOUT)):
        deadline = time.monotonic() + patience
        told = False
        while alive := await in_thread(lambda: find_tree(mark, leader)):
            ended |= alive
            # SIGTERM once: a handler may start processes of its own to clean up. SIGKILL until none is left.
            if not told or signal_number == signal.SIGKILL:
                _send(alive if signal_number == signal.SIGKILL else alive - spared, signal_number)
                told = True
            on_tick()
            if time.monotonic() >= deadline:
                break
            await anyio.sleep(_TICK)
    on_tick()
    return len(ended)


async def end_left(mark: Mark, leader: int) -> int:
    """Kill what a command left behind that must leave nothing. Returns how many there were."""
    ended: set[int] = set()
    for _ in range(_KILL_ROUNDS):
        alive = await in_thread(lambda: find_left(mark, leader))
        if not alive:
            break
        ended |= alive
        _send(alive, signal.SIGKILL)
    return len(ended)


def kill_session(session: int) -> bool:
    """Kill what carries the mark of a session whose runtime is no more; say whether nothing is left. Does not wait."""
    if session < FIRST_SESSION:
        return True
    for _ in range(_KILL_ROUNDS):  # what forks faster than we look needs another round
        alive = find_tree(Mark(session))
        if not alive:
            return True
        _send(alive, signal.SIGKILL)
    return False


def find_tree(mark: Mark, leader: int = 0) -> set[int]:
    """The living processes of a mark."""
    if not os.path.isdir("/proc/self"):
        return _group_alone(leader)
    processes = _all_processes()
    found = {p.pid for p in processes if (leader and leader in (p.pid, p.session)) or _has_mark(p.pid, mark)}
    _add_children(found, processes)
    found.discard(os.getpid())
    return {p.pid for p in processes if p.pid in found and not _is_gone(p, leader)}


def find_left(mark: Mark, leader: int) -> set[int]:
    """The living processes of a mark that were started after `leader`, which has ended: a look at few processes."""
    if not os.path.isdir("/proc/self"):
        return _group_alone(leader)
    found = {p.pid for p in _all_processes(after=leader) if p.state not in "ZX" and _has_mark(p.pid, mark)}
    return found - {leader, os.getpid()}


def _all_processes(after: int = 0) -> list[_Process]:
    """All there are, or those with a higher number than `after`, unless numbers have begun anew since."""
    if after and _last_number() < after:
        after = 0
    numbers = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return [process for number in numbers if number > after and (process := _describe(number)) is not None]


def _last_number() -> int:
    """The number of the process that was started last."""
    try:
        with open("/proc/loadavg", "rb") as file:
            return int(file.read().split()[-1])
    except (OSError, ValueError, IndexError):
        return 0


def _describe(pid: int) -> _Process | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return _Process(pid, fields[0].decode(), int(fields[1]), int(fields[3]))


def _has_mark(pid: int, mark: Mark) -> bool:
    try:
        with open(f"/proc/{pid}/limits", "rb") as file:
            content = file.read()
    except OSError:
        return False
    value = content.partition(_LIMIT_NAME)[2].split(None, 1)[:1]
    return bool(value) and value[0].isdigit() and mark.fits(int(value[0]))


def _add_children(found: set[int], processes: list[_Process]) -> None:
    while more := {p.pid for p in processes if p.parent in found and p.pid not in found}:
        found |= more


def _is_gone(process: _Process, leader: int) -> bool:
    if process.state not in "ZX":
        return False
    if process.parent == os.getpid() and process.pid != leader:
        # Orphans come to us when we are init or a subreaper; nobody else would collect them.
        with suppress(OSError):
            os.waitpid(process.pid, os.WNOHANG)
    return True


def _group_alone(leader: int) -> set[int]:
    try:
        os.killpg(leader, 0)
    except OSError:
        return set()
    return {-leader}


def _send(pids: set[int], signal_number: int) -> None:
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, signal_number)
