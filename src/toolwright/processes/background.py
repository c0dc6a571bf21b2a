"""Commands that run beside the conversation: started, followed, ended.

What they write goes into a private file each as it comes and never gathers in memory. One task follows all shells of a session
(three descriptors each), and only while some run. Who is told of a start or an end is the business of `on_change`; whether a
command may run is not asked here.
"""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

import anyio
from anyio.lowlevel import checkpoint

from toolwright.base.concurrency import OwnedTask, spawn
from toolwright.base.worker_threads import inline
from toolwright.base.workspace_errors import CommandNotStarted, FileChanged, UnknownShell
from toolwright.processes.child_process import Launched
from toolwright.processes.output_log import ShellLog
from toolwright.processes.process_tree import Mark, end_tree
from toolwright.processes.shell import CommandContext, shell_path, starting
from toolwright.processes.watchdog import Guard

if TYPE_CHECKING:
    from toolwright.processes.command_limits import Looking

MAX_RUNNING = 256
"""Shells that one session may have running at once."""
MAX_BYTES = 1 << 30
"""What one shell may write; then it is ended."""
MAX_TOTAL_BYTES = 4 << 30
"""What all shells of a session may write together."""

_GRACE = 0.1
"""Seconds for what a finished command left behind to finish its sentence."""
_TICK = 0.01
_TAIL = 1 << 16
"""How much of the end of the output is looked at for the reason of a failure."""
_PIPE_HOLDS = 1 << 16
"""What Linux keeps in a pipe: no more than that can still be there of a command that has ended."""

Status = Literal["running", "completed", "failed", "killed"]


class BackgroundShell:
    """One command in the background."""

    __slots__ = (
        "_ended",
        "around",
        "call",
        "command",
        "description",
        "ended_at",
        "ending",
        "exit_code",
        "id",
        "launched",
        "leaving_at",
        "log",
        "notices",
        "problem",
        "silent",
        "status",
        "stopping",
        "told",
    )

    def __init__(
        self, command: str, launched: Launched, *, around: CommandContext, log: ShellLog, description: str, call: str
    ) -> None:
        self.id = f"b{os.urandom(4).hex()}"
        """Random: an id in an older part of a resumed conversation must not mean a shell of today."""
        self.command = command
        self.description = description or command
        self.call = call
        """The id of the tool call that started it."""
        self.log = log
        self.status: Status = "running"
        self.exit_code: int | None = None
        self.ended_at = 0.0
        self.problem: str | None = None
        """Why it was ended, if nobody asked for that."""
        self.notices: tuple[str, ...] = ()
        """Once it has ended: which limit it ran into, and what its sandbox kept it from, in words."""
        self.told = False
        """Whether the model has been told that it ended; set by who tells it."""
        self.around = around
        """What it was given; the folder is no longer open."""
        self.launched = launched
        self.leaving_at: float | None = None
        """When a command that has exited is let go of, whoever still holds its output."""
        self.silent = False
        """Whether nobody can write to it any more."""
        self.stopping = False
        """Whether it is being ended: it is let go of when that is done, so that its number cannot go to another process."""
        self.ending: OwnedTask | None = None
        self._ended = anyio.Event()

    @property
    def running(self) -> bool:
        return self.status == "running"

    async def wait(self, seconds: float) -> bool:
        """Wait until it has ended, or so long; say whether it has."""
        with anyio.move_on_after(seconds):
            await self._ended.wait()
        return not self.running

    def settle(self, code: int) -> None:
        self.exit_code = 128 - code if code < 0 else code
        self.status = "killed" if self.stopping else "failed" if code else "completed"
        self.ended_at = time.time()
        self._ended.set()


class BackgroundShells:
    """The background commands of one session, in the order they were started."""

    __slots__ = (
        "_all",
        "_follower",
        "_guard",
        "_most_bytes",
        "_open_log",
        "_session",
        "_written",
        "on_change",
    )

    def __init__(
        self,
        session: Mark,
        open_log: Callable[[], tuple[int, str]],
        *,
        guard: Guard | None = None,
        most_bytes: int = MAX_BYTES,
    ) -> None:
        self._session = session
        self._guard = Guard(session.session) if guard is None else guard
        self._most_bytes = most_bytes
        self._open_log = open_log
        self._all: dict[str, BackgroundShell] = {}
        self._follower: _Follower | None = None
        self._written = 0
        self.on_change: Callable[[BackgroundShell], None] | None = None
        """Told of each shell that has started or ended."""

    def __iter__(self) -> Iterator[BackgroundShell]:
        return iter(self._all.values())

    def get(self, shell_id: str) -> BackgroundShell:
        """Raises `UnknownShell`, which tells the ids there are."""
        if shell_id not in self._all:
            raise UnknownShell(shell_id, [f"{shell.id} ({shell.status})" for shell in self])
        return self._all[shell_id]

    @property
    def running(self) -> list[BackgroundShell]:
        return [] if self._follower is None else list(self._follower.shells)

    async def start(self, command: str, surroundings: CommandContext, *, description: str, call: str) -> BackgroundShell:
        if len(self.running) >= MAX_RUNNING:
            raise CommandNotStarted(
                f"{MAX_RUNNING} commands run in the background already, which is the most a session may have. "
                "End one with KillShell, or wait for one."
            )
        await checkpoint()  # who starts very many must not keep the event loop from everything else
        with starting():
            log = ShellLog(*await inline(self._open_log))
        try:
            with starting():
                await inline(lambda: self._guard.begin(shell_path()))
        except BaseException:
            log.close()
            raise
        try:
            launched = await surroundings.launch(command)  # its sandbox, if any, is left when it is let go of
            shell = BackgroundShell(command, launched, around=surroundings, log=log, description=description, call=call)
            self._follow(shell)
        except BaseException:
            await surroundings.left()
            log.close()
            self._guard.end()
            raise
        self._all[shell.id] = shell
        self._tell(shell)
        return shell

    async def end(self, shell: BackgroundShell) -> int:
        """End it and everything that came of it, also what it left behind. Returns how many processes there were."""
        ended = 0
        with anyio.CancelScope(shield=True):
            if not shell.running or shell.leaving_at is not None:
                ended = await shell.around.end_all(0)
            else:
                shell.stopping = True
                ended = await shell.around.end_all(shell.launched.process.pid)
                self._let_go(shell)
        return ended

    async def close(self) -> None:
        """End every process of the session, in the background or left behind, and give everything back. Nobody is told."""
        self.on_change = None
        shells = self.running
        for shell in shells:
            shell.stopping = True
        await end_tree(self._session)
        for shell in shells:
            self._let_go(shell)
        self._guard.close()

    def _let_go(self, shell: BackgroundShell) -> None:
        if self._follower is not None:
            self._follower.let_go(shell)

    def _follow(self, shell: BackgroundShell) -> None:
        try:
            if self._follower is None:
                self._follower = _Follower(self._keep, self._ended, self._give_up)
            self._follower.add(shell)
        except BaseException:  # no descriptor left to wait with: do not lose it
            shell.launched.collect()
            raise

    def _keep(self, shell: BackgroundShell, piece: bytes) -> None:
        """Into the file, as far as there is room; a shell that floods it is ended."""
        room = min(self._most_bytes - shell.log.size, MAX_TOTAL_BYTES - self._written)
        before = shell.log.size
        try:
            shell.log.append(piece[:room])
        except OSError as error:
            self._give_up(shell, f"its output could not be written: {error.strerror or error}")
        self._written += shell.log.size - before
        if len(piece) > room:
            most = f"{self._most_bytes:,} bytes of one command, {MAX_TOTAL_BYTES:,} of all in the background"
            self._give_up(shell, f"it wrote too much (no more is kept than {most})")

    def _give_up(self, shell: BackgroundShell, problem: str) -> None:
        if shell.problem is not None or shell.stopping:
            return
        shell.problem = problem

        async def end() -> None:
            await self.end(shell)

        shell.ending = spawn(end, name="toolwright ends a shell")

    def _ended(self, shell: BackgroundShell) -> None:
        shell.notices = tuple(_explained(shell))
        if not self.running:
            self._follower = None
        self._guard.end()
        self._tell(shell)

    def _tell(self, shell: BackgroundShell) -> None:
        if self.on_change is not None:
            self.on_change(shell)


def _explained(shell: BackgroundShell) -> list[str]:
    """What can be told about how a command ended, from its exit code and the end of its output."""
    code, around = shell.exit_code, shell.around
    if code is None or shell.stopping:
        return []
    with suppress(OSError, FileChanged):
        tail = shell.log.tail(_TAIL) if code else ""  # of a success nothing is asked
        limit = None if around.bounds is None else around.bounds.explain(code, tail)
        return [*([] if limit is None else [limit]), *around.notices(shell.command, code, tail)]
    return []


class _Follower:
    """One task that waits for all running shells at once. It ends when the last of them is let go of.

    Every second it looks whether the scratch folder, which all shells of a session share, is too full (`on_full`).
    """

    __slots__ = ("_keep", "_looking", "_next_look", "_on_end", "_on_full", "_selector", "_task", "shells")

    def __init__(
        self,
        keep: Callable[[BackgroundShell, bytes], None],
        on_end: Callable[[BackgroundShell], None],
        on_full: Callable[[BackgroundShell, str], None],
    ) -> None:
        self._keep = keep
        self._on_end = on_end
        self._on_full = on_full
        self._looking: Looking | None = None
        self._next_look = 0.0
        self._selector = selectors.DefaultSelector()
        self._task: OwnedTask | None = None
        self.shells: dict[BackgroundShell, None] = {}

    def add(self, shell: BackgroundShell) -> None:
        for descriptor in (shell.launched.output, shell.launched.exit):
            self._selector.register(descriptor, selectors.EVENT_READ, shell)
        self.shells[shell] = None
        if self._looking is None and shell.around.bounds is not None and shell.around.bounds.limits.scratch_mb:
            self._looking = shell.around.bounds.looking()
            self._next_look = anyio.current_time() + self._looking.pause
        if self._task is None:
            self._task = spawn(self._run, name="toolwright background shells")

    def let_go(self, shell: BackgroundShell) -> None:
        if shell not in self.shells:
            return
        self._take_output(shell)
        del self.shells[shell]
        for descriptor in (shell.launched.output, shell.launched.exit):
            self._forget(descriptor)
        shell.log.close()
        code = shell.launched.collect()
        shell.around.leave()
        shell.settle(code)
        if not self.shells and self._task is not None:
            self._task.cancel()
        self._on_end(shell)

    async def _run(self) -> None:
        try:
            while self.shells:
                with anyio.move_on_after(self._patience()):
                    await anyio.wait_readable(self._selector.fileno())
                for key, _ in self._selector.select(0):
                    self._notice(key.data, key.fd)
                for shell in self._leaving():
                    if shell.around.is_over:
                        self.let_go(shell)
                    else:  # its sandbox is about to end: nobody is kept waiting for that
                        shell.leaving_at = anyio.current_time() + _TICK
                if self._looking is not None and anyio.current_time() >= self._next_look:
                    await self._look(self._looking)
        finally:
            self._selector.close()  # not before: the event loop may be waiting with it

    async def _look(self, looking: Looking) -> None:
        full = await looking.finds_full()
        self._next_look = anyio.current_time() + looking.pause
        for shell in list(self.shells) if full else ():  # nobody can tell which of them filled it
            self._on_full(shell, looking.notice)

    def _notice(self, shell: BackgroundShell, descriptor: int) -> None:
        if descriptor == shell.launched.output:
            self._take_output(shell)
        else:
            self._forget(descriptor)
            shell.leaving_at = anyio.current_time() + (0 if shell.silent else _GRACE)

    def _take_output(self, shell: BackgroundShell) -> None:
        try:
            piece = os.read(shell.launched.output, _PIPE_HOLDS)
        except BlockingIOError:
            return
        if piece:
            self._keep(shell, piece)
            return
        self._forget(shell.launched.output)
        shell.silent = True
        if shell.leaving_at is not None:
            shell.leaving_at = anyio.current_time()

    def _leaving(self) -> list[BackgroundShell]:
        now = anyio.current_time()
        return [
            shell for shell in self.shells if not shell.stopping and shell.leaving_at is not None and shell.leaving_at <= now
        ]

    def _patience(self) -> float | None:
        times = [shell.leaving_at for shell in self.shells if not shell.stopping and shell.leaving_at is not None]
        times += [] if self._looking is None else [self._next_look]
        return max(0, min(times) - anyio.current_time()) if times else None

    def _forget(self, descriptor: int) -> None:
        with suppress(KeyError):
            self._selector.unregister(descriptor)
