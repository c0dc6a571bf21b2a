"""Start a command line in bash; wait for it and bring back its output, its exit code and the folder it ended in.

Every command is a fresh bash without start-up files, in a session of its own, with an empty stdin. `Surroundings` start it, be
it waited for here or left to `background`. It does not judge commands.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import anyio

from toolwright.workspace.captured import Captured, OutputCollector
from toolwright.workspace.children import Account, ChildProcess, Launched, adopt, launch
from toolwright.workspace.errors import ProgramMissing
from toolwright.workspace.limits import inline
from toolwright.workspace.trees import Mark, end_tree

_SHELLS = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash")
_REPORT_DESCRIPTOR = 200
_LONGEST_PATH = 4096
# The mark that finds every descendant, the report of the last folder, then the command itself, with nothing of ours in $1.
_MARKED = "ulimit -S -x {mark} 2>/dev/null; "
_REPORTING = "trap 'builtin pwd -P >&{report} 2>/dev/null' EXIT; "
_COMMAND = 'TOOLWRIGHT_COMMAND=$1; shift; eval -- "$TOOLWRIGHT_COMMAND"'


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a command is given: the folder it stands in, its variables, the mark of its processes, the user it runs as."""

    directory: int
    environment: Mapping[str, str]
    mark: Mark
    account: Account | None = None

    async def launch(self, command: str, *, report: int | None = None) -> Launched:
        """Start `command`; if there is a descriptor `report`, bash writes the folder it ends in there."""
        argv = (shell_path(), "--noprofile", "--norc", "-c", self._script(report), "bash", command)
        keep = () if report is None else (report,)
        return await inline(
            lambda: launch(argv, directory=self.directory, environment=self.environment, account=self.account, keep=keep)
        )

    def _script(self, report: int | None) -> str:
        reporting = "" if report is None else _REPORTING.format(report=report)
        return _MARKED.format(mark=self.mark.value) + reporting + _COMMAND


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command went. A signal's exit code is 128 + its number, as a shell reports it."""

    output: Captured
    exit_code: int
    timed_out: bool
    processes_ended: int
    """How many processes had to be ended after a timeout."""
    last_directory: str | None
    """Where the shell stood when it ended; None if it could not say."""


async def run_to_end(command: str, surroundings: Surroundings, *, collector: OutputCollector, timeout: float) -> CommandResult:
    """Run `command` to its end. On timeout and cancellation its whole process tree is ended."""
    report, report_end = _report_pipe()
    try:
        child = adopt(await surroundings.launch(command, report=report_end))
        return await _follow(child, collector, mark=surroundings.mark, timeout=timeout, report=report)
    finally:
        os.close(report)
        os.close(report_end)


@cache
def shell_path() -> str:
    """bash from its fixed place: never from PATH, never $SHELL."""
    for path in _SHELLS:
        if os.access(path, os.X_OK):
            return path
    raise ProgramMissing(f"bash was not found at {', '.join(_SHELLS)}: install it to run commands.")


async def _follow(child: ChildProcess, collector: OutputCollector, *, mark: Mark, timeout: float, report: int) -> CommandResult:
    ended = 0
    try:
        with anyio.move_on_after(timeout) as scope:
            while piece := await child.read():
                collector.feed(piece)
    finally:
        if not child.exited:
            with anyio.CancelScope(shield=True):
                ended = await end_tree(mark, child.pid, on_tick=lambda: _take(child, collector))
        child.close()
    code = child.returncode
    return CommandResult(
        output=collector.finish(),
        exit_code=128 - code if code < 0 else code,
        timed_out=scope.cancelled_caught,
        processes_ended=ended,
        last_directory=_reported(report),
    )


def _take(child: ChildProcess, collector: OutputCollector) -> None:
    for _ in range(32):
        piece = child.read_now()
        if not piece:
            return
        collector.feed(piece)


def _report_pipe() -> tuple[int, int]:
    """A pipe whose writing end has a number that no script uses by hand."""
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    try:
        high = fcntl.fcntl(theirs, fcntl.F_DUPFD_CLOEXEC, _REPORT_DESCRIPTOR)
    except OSError:  # a small limit on open files: the low number has to do
        return ours, theirs
    os.close(theirs)
    return ours, high


def _reported(report: int) -> str | None:
    try:
        path = os.read(report, _LONGEST_PATH)
    except BlockingIOError:
        return None
    return os.fsdecode(path.removesuffix(b"\n")) or None
