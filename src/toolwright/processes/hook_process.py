"""Run a command that is given something on stdin and answers on stdout: a hook.

Memory stays flat however much it says: the beginning of what it writes is kept, the rest is read and counted. It does not
know what is asked or answered, and judges no commands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import anyio
from msgspec import Struct, field

from toolwright.base.worker_threads import inline
from toolwright.processes.child_process import MAX_ERROR_BYTES, Account, ChildProcess, start
from toolwright.processes.process_tree import Mark, end_tree
from toolwright.processes.shell import COMMAND, MARKED, shell_path, starting
from toolwright.processes.worker_process import nameless_file

if TYPE_CHECKING:  # loaded by who makes them
    from toolwright.processes.command_limits import CommandLimits

MAX_BYTES = 1 << 20
"""How much of an answer is kept."""
_PROGRAM = 'exec -- "$@"'


class Asked(Struct, frozen=True):
    """A command line for bash, or (with `args`) a program with its arguments; and where it is to run."""

    command: str
    args: Sequence[str] | None
    directory: int
    environment: Mapping[str, str]
    mark: Mark
    account: Account | None = None
    bounds: CommandLimits | None = None

    def argv(self) -> tuple[str, ...]:
        bounding = "" if self.bounds is None else self.bounds.words
        script = MARKED.format(mark=self.mark.value) + bounding + (COMMAND if self.args is None else _PROGRAM)
        return (shell_path(), "--noprofile", "--norc", "-c", script, "bash", self.command, *(self.args or ()))


class HookOutput(Struct):
    """What a command answered. A signal's exit code is 128 + its number, as a shell reports it."""

    exit_code: int = 0
    output: bytearray = field(default_factory=bytearray)
    """The first `MAX_BYTES` of it."""
    total_bytes: int = 0
    errors: str = ""
    """The beginning of what it wrote to stderr."""

    @property
    def text(self) -> str:
        shown = self.output.decode("utf-8", "replace")
        if self.total_bytes == len(self.output):
            return shown
        return f"{shown}\n[cut: the first {len(self.output):,} of {self.total_bytes:,} bytes]"

    def take(self, piece: bytes) -> None:
        self.total_bytes += len(piece)
        self.output += piece[: MAX_BYTES - len(self.output)]


async def exchange(asked: Asked, *, stdin: bytes, on_output: Callable[[bytes], None]) -> HookOutput:
    """Run to the end. `on_output` sees every piece of stdout as it comes. Cancellation ends the whole process tree."""
    answer = HookOutput()
    with starting(), nameless_file(stdin) as source:
        child = await inline(
            lambda: start(
                asked.argv(),
                directory=asked.directory,
                environment=asked.environment,
                account=asked.account,
                separate_errors=True,
                stdin=source,
                keep=() if asked.bounds is None else asked.bounds.doors,
            )
        )
    try:
        while piece := await child.read():
            answer.take(piece)
            on_output(piece)
    finally:
        if not child.exited:
            with anyio.CancelScope(shield=True):
                await end_tree(asked.mark, child.pid)
                if asked.bounds is not None:
                    await asked.bounds.end_rest()
        child.close()
    answer.exit_code = 128 - child.returncode if child.returncode < 0 else child.returncode
    answer.errors = _errors(child)
    return answer


def _errors(child: ChildProcess) -> str:
    text = bytes(child.error_output).decode("utf-8", "replace")
    return text if len(child.error_output) < MAX_ERROR_BYTES else f"{text}\n[cut: the first {MAX_ERROR_BYTES:,} bytes]"
