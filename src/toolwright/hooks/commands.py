"""Hooks that are commands: the input as JSON on stdin, the answer as exit code and stdout.

A command whose first line is `{"async": true}` is not waited for any longer. How a process is started is handed in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import anyio
from msgspec import Struct

from toolwright.hooks.answers import as_object, of_exit
from toolwright.hooks.background import Background
from toolwright.hooks.hook import HookReply, NoReply
from toolwright.hooks.outcome import HookOutcome, MalformedOutput, merge, read_answer

MAX_FIRST_LINE_LENGTH = 4096
ASYNC_SECONDS = 600.0
"""How long a command may go on alone that does not say so itself."""


class CommandEnd(Struct, frozen=True):
    """How a command ended. A signal's exit code is 128 + its number. Of a long output only the beginning is there."""

    exit_code: int
    stdout: str
    stderr: str


class RunCommand(Protocol):
    """Runs a command line in bash, or a program with its arguments; cancelling ends all its processes."""

    async def __call__(
        self, command: str, args: tuple[str, ...] | None, *, stdin: bytes, on_output: Callable[[bytes], None]
    ) -> CommandEnd: ...


Late = Callable[[str, HookOutcome], None]


class CommandWork(Struct, frozen=True):
    """One command, ready to be run for any input."""

    event: str
    command: str
    args: tuple[str, ...] | None
    run: RunCommand
    background: Background
    late: Late | None = None

    async def __call__(self, payload: dict[str, Any]) -> HookReply:
        running = _Running(self, to_json(payload))
        task = self.background.start(running.play)
        try:
            await running.settled.wait()
        finally:
            if not running.alone:
                task.cancel()
                with anyio.CancelScope(shield=True):
                    await task.wait()
        if running.alone:
            return HookReply(stdout=running.first_line)
        if running.end is None:
            raise NoReply(str(task.error or "it was ended before it answered"))
        return of_exit(self.event, running.end.exit_code, stdout=running.end.stdout, stderr=running.end.stderr)


class _Running:
    """One run of a command, until it has ended or goes on alone."""

    def __init__(self, work: CommandWork, stdin: bytes) -> None:
        self._work = work
        self._stdin = stdin
        self._head = b""
        self._scope = anyio.CancelScope()
        self.settled = anyio.Event()
        self.alone = False
        self.first_line = ""
        self.end: CommandEnd | None = None

    async def play(self) -> None:
        work = self._work
        try:
            with self._scope:
                self.end = await work.run(work.command, work.args, stdin=self._stdin, on_output=self._listen)
        finally:
            self.settled.set()
        if self.alone and self.end is not None:
            self._come_late(self.end)

    def _listen(self, piece: bytes) -> None:
        """Look whether the first line says that nobody need wait."""
        if self.first_line or len(self._head) > MAX_FIRST_LINE_LENGTH:
            return
        self._head += piece[: MAX_FIRST_LINE_LENGTH + 1]
        line, newline, _ = self._head.partition(b"\n")
        if not newline:
            return
        self.first_line = line.decode("utf-8", "replace")
        answer = as_object(self.first_line)
        if answer is not None and answer.get("async") is True:
            self.alone = True
            self._scope.deadline = anyio.current_time() + _async_seconds(answer.get("asyncTimeout"))
            self.settled.set()

    def _come_late(self, end: CommandEnd) -> None:
        stdout = end.stdout.partition("\n")[2]
        reply = of_exit(self._work.event, end.exit_code, stdout=stdout, stderr=end.stderr)
        try:
            outcome = merge(self._work.event, [read_answer(self._work.event, reply.output)])
        except MalformedOutput:
            return  # nobody waits for it, so nothing depends on it
        if self._work.late is not None:
            self._work.late(self._work.event, outcome)


def _async_seconds(milliseconds: Any) -> float:
    given = isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool) and milliseconds > 0
    return min(milliseconds / 1000, ASYNC_SECONDS) if given else ASYNC_SECONDS


def to_json(payload: dict[str, Any]) -> bytes:
    """One line without spaces, as scripts that look for a word in it expect."""
    import json  # only for sessions whose settings have hooks

    text = json.dumps(payload, default=str, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates somewhere: only an escape can tell of it
        return json.dumps(payload, default=str, separators=(",", ":")).encode()
