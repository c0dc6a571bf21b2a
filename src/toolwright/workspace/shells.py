"""Run one command line in bash and bring back its output, its exit code and the folder it ended in.

Every call is a fresh bash without start-up files, in a session of its own, with an empty stdin. It does not judge commands.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import anyio

from toolwright.workspace.captured import Captured, OutputCollector
from toolwright.workspace.children import Account, ChildProcess, start
from toolwright.workspace.errors import ProgramMissing
from toolwright.workspace.limits import inline
from toolwright.workspace.trees import Mark, end_tree

_SHELLS = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash")
_REPORT_DESCRIPTOR = 200
_LONGEST_PATH = 4096
# The mark that finds every descendant, the report of the last folder, then the command itself, with nothing of ours in $1.
_SCRIPT = (
    "ulimit -S -x {mark} 2>/dev/null; trap 'builtin pwd -P >&{report} 2>/dev/null' EXIT; "
    'TOOLWRIGHT_COMMAND=$1; shift; eval -- "$TOOLWRIGHT_COMMAND"'
)


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


async def run_command(
    command: str,
    *,
    directory: int,
    environment: Mapping[str, str],
    mark: Mark,
    collector: OutputCollector,
    timeout: float,
    account: Account | None = None,
) -> CommandResult:
    """Run `command` in the folder that `directory` stands on. On timeout and cancellation its whole process tree is ended."""
    report, report_end = _report_pipe()
    try:
        script = _SCRIPT.format(mark=mark.value, report=report_end)
        argv = (shell_path(), "--noprofile", "--norc", "-c", script, "bash", command)
        keep = (report_end,)
        child = await inline(lambda: start(argv, directory=directory, environment=environment, account=account, keep=keep))
        return await _follow(child, collector, mark=mark, timeout=timeout, report=report)
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
