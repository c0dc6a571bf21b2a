"""Start a command line in bash; wait for it and bring back its output, its exit code and the folder it ended in.

Every command is a fresh bash without start-up files, in a session of its own, with an empty stdin. A `CommandContext` starts
it, whether it is waited for here or left to `background`. Nothing here decides about commands.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Literal

import anyio
from msgspec import Struct

from toolwright.base.worker_threads import in_thread, inline
from toolwright.base.workspace_errors import CommandNotStarted, ProgramMissing
from toolwright.processes.child_process import Account, ChildProcess, Launched, adopt, launch
from toolwright.processes.descriptors import REPORT, moved_up
from toolwright.processes.output_buffer import Captured, OutputCollector
from toolwright.processes.process_tree import Mark, end_left, end_tree, mark_process

if TYPE_CHECKING:  # loaded by who makes them
    from toolwright.processes.command_limits import CommandLimits
    from toolwright.sandbox.cage.cage import CagedCommand
    from toolwright.sandbox.sandbox import SandboxedCommand

_SHELLS = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash")
_MAX_PATH_LENGTH = 4096
# The mark that finds every descendant, the report of the last folder, then the command itself, with nothing of ours in $1.
MARKED = "ulimit -S -x {mark} 2>/dev/null; "
_REPORTING = "trap 'builtin pwd -P >&{report} 2>/dev/null' EXIT; "
COMMAND = 'TOOLWRIGHT_COMMAND=$1; shift; eval -- "$TOOLWRIGHT_COMMAND"'


@contextmanager
def starting() -> Iterator[None]:
    """Tried again and again, and still no process or descriptor to be had: say so in words."""
    try:
        yield
    except OSError as error:
        raise CommandNotStarted(f"The command could not be started: {error.strerror or error}. Try again later.") from error


class CommandContext(Struct, frozen=True):
    """What a command is given: the folder it stands in, its variables, the mark of its processes, the user it runs as."""

    directory: int
    environment: Mapping[str, str]
    mark: Mark
    account: Account | None = None
    bounds: CommandLimits | None = None
    """What limits it."""
    enclosed: SandboxedCommand | CagedCommand | None = None
    """The sandbox or the cage it runs in."""

    async def launch(self, command: str, *, report: int | None = None) -> Launched:
        """Start `command`; if there is a descriptor `report`, bash writes the folder it ends in there."""
        argv = (shell_path(), "--noprofile", "--norc", "-c", self._script(report), "bash", command)
        keep = (*(() if report is None else (report,)), *(() if self.bounds is None else self.bounds.doors))
        with starting():
            if self.enclosed is not None:
                return await self._launch_enclosed(self.enclosed, argv, keep)
            return await inline(lambda: self._launch(argv, self.environment, keep, self.account))

    async def _launch_enclosed(
        self, enclosed: SandboxedCommand | CagedCommand, argv: tuple[str, ...], keep: tuple[int, ...]
    ) -> Launched:
        inside = await enclosed.enter(argv, self.environment)

        def work() -> Launched:
            account = None if inside.becomes_user else self.account
            return self._launch(inside.argv, inside.environment, (*keep, *inside.keep), account)

        return await inline(lambda: inside.start(work))

    def _launch(
        self, argv: Sequence[str], environment: Mapping[str, str], keep: tuple[int, ...], account: Account | None
    ) -> Launched:
        launched = launch(argv, directory=self.directory, environment=environment, account=account, keep=keep)
        mark_process(launched.process.pid, self.mark)
        return launched

    @property
    def is_over(self) -> bool:
        """Whether `leave` has nothing to wait for."""
        return self.enclosed is None or self.enclosed.is_over()

    @property
    def leaves_nothing(self) -> bool:
        """Whether what the command started ends with it."""
        return self.enclosed is not None and self.enclosed.leaves_nothing

    def leave(self) -> None:
        """The command has ended; what its sandbox needed on the host goes. May be called more than once, and may block."""
        if self.enclosed is not None:
            self.enclosed.leave()

    async def left(self) -> None:
        """The same without keeping the event loop waiting."""
        if self.is_over:
            self.leave()
        else:
            try:
                with anyio.CancelScope(shield=True):
                    await in_thread(self.leave)
            except OSError:  # no thread to be had
                self.leave()

    def notices(self, command: str, exit_code: int, output: str) -> tuple[str, ...]:
        """What to tell about what the sandbox kept `command` from."""
        return () if self.enclosed is None else tuple(self.enclosed.notices(command, exit_code, output))

    def _script(self, report: int | None) -> str:
        reporting = "" if report is None else _REPORTING.format(report=report)
        bounding = "" if self.bounds is None else self.bounds.words
        marking = MARKED.format(mark=self.mark.value)
        if self.enclosed is not None:
            marking = self.enclosed.first_words(marking)
        return marking + bounding + reporting + COMMAND

    async def end_all(self, leader: int, *, on_tick: Callable[[], None] = lambda: None) -> int:
        """End the command with all that came of it. Returns how many processes there were."""
        is_keeper = self.enclosed is not None and self.enclosed.has_keeper
        ended = await end_tree(self.mark, leader, leader_is_keeper=is_keeper, on_tick=on_tick)
        return ended if self.bounds is None else ended + await self.bounds.end_rest()

    async def end_left(self, leader: int) -> int:
        """End what the command left behind when it ended by itself. Returns how many processes there were."""
        ended = await end_left(self.mark, leader)
        return ended if self.bounds is None else ended + await self.bounds.end_rest()


class CommandResult(Struct, frozen=True):
    """How a command went. A signal's exit code is 128 + its number, as a shell reports it."""

    output: Captured
    exit_code: int
    timed_out: bool
    processes_ended: int
    """How many processes had to be ended after a timeout."""
    last_directory: str | None
    """Where the shell stood when it ended; None if it could not say."""
    limit: str | None = None
    """Which limit it ran into, in words."""
    notices: tuple[str, ...] = ()
    """What its sandbox kept it from, in words."""


async def run_to_end(
    command: str, surroundings: CommandContext, *, collector: OutputCollector, timeout: float
) -> CommandResult:
    """Run `command` to its end. On timeout and cancellation its whole process tree is ended."""
    report, report_end = _report_pipe()
    try:
        child = adopt(await surroundings.launch(command, report=report_end))
        return await _follow(child, command, surroundings, collector=collector, timeout=timeout, report=report)
    finally:
        await surroundings.left()
        os.close(report)
        os.close(report_end)


@cache
def shell_path() -> str:
    """bash from its fixed place: never from PATH, never $SHELL."""
    for path in _SHELLS:
        if os.access(path, os.X_OK):
            return path
    raise ProgramMissing(f"bash was not found at {', '.join(_SHELLS)}: install it to run commands.")


async def _follow(
    child: ChildProcess, command: str, surroundings: CommandContext, *, collector: OutputCollector, timeout: float, report: int
) -> CommandResult:
    stopped, ended = None, 0
    try:
        stopped = await _read(child, collector, timeout=timeout, bounds=surroundings.bounds)
    finally:
        if not child.exited:
            with anyio.CancelScope(shield=True):
                ended = await surroundings.end_all(child.pid, on_tick=lambda: _take(child, collector))
        elif surroundings.leaves_nothing:
            with anyio.CancelScope(shield=True):
                await surroundings.end_left(child.pid)
        child.close()
    code = child.returncode
    output, code = collector.finish(), 128 - code if code < 0 else code
    return CommandResult(
        output=output,
        exit_code=code,
        timed_out=stopped == "timeout",
        processes_ended=ended,
        last_directory=_reported(report),
        limit=_limit(surroundings.bounds, code, output.text, stopped),
        notices=surroundings.notices(command, code, output.text),
    )


async def _read(
    child: ChildProcess, collector: OutputCollector, *, timeout: float, bounds: CommandLimits | None
) -> Literal["timeout", "scratch"] | None:
    """Collect output to its end. If that is not the end of the command, the answer says why it has to be stopped."""
    deadline = anyio.current_time() + timeout
    looking = None if bounds is None else bounds.looking()
    while True:
        left = deadline - anyio.current_time()
        with anyio.move_on_after(left if looking is None else min(left, looking.pause)) as scope:
            while piece := await child.read():
                collector.feed(piece)
        if not scope.cancelled_caught:
            return None
        if anyio.current_time() >= deadline:
            return "timeout"
        if looking is not None and await looking.finds_full():
            return "scratch"


def _limit(bounds: CommandLimits | None, code: int, output: str, stopped: str | None) -> str | None:
    if bounds is None or stopped == "timeout":
        return None
    return bounds.scratch_notice if stopped == "scratch" else bounds.explain(code, output)


def _take(child: ChildProcess, collector: OutputCollector) -> None:
    for _ in range(32):
        piece = child.read_now()
        if not piece:
            return
        collector.feed(piece)


def _report_pipe() -> tuple[int, int]:
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    return ours, moved_up(theirs, REPORT)


def _reported(report: int) -> str | None:
    try:
        path = os.read(report, _MAX_PATH_LENGTH)
    except BlockingIOError:
        return None
    return os.fsdecode(path.removesuffix(b"\n")) or None
