"""A transport to a child process: JSON lines over its standard input and output.

Nothing is left behind: no zombie, no descriptor, no child that outlives `close`. A failure carries the child's own words.
Knows nothing of command-line flags or of what the lines say.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakSet

import anyio
from anyio.abc import Process

from toolwright.base.access import closed_folder_in_words
from toolwright.base.concurrency import OwnedTask, spawn
from toolwright.protocol import child
from toolwright.protocol.lines import Frame, FrameReader, LineSplitter, decode_rest
from toolwright.protocol.private_arguments import out_of_sight
from toolwright.protocol.transport import Transport
from toolwright.types import CLIConnectionError, CLINotFoundError, ProcessError

_log = logging.getLogger("toolwright.protocol")


class SubprocessTransport(Transport):
    """Runs `command` and talks to it. `env` is its whole environment; None is this process's own.

    It is the leader of a process group of its own, so that a Ctrl-C meant for the caller does not reach it. There is no
    limit on the length of a line unless `max_buffer_size` (bytes) sets one. Arguments that are in `private` are kept out of
    the list of processes: the child finds a path in their place, and the text there.
    """

    exit_seconds = child.EXIT_SECONDS
    """How long it may take to end: after its input is closed, after SIGTERM, and after SIGKILL."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        stderr: Callable[[str], None] | None = None,
        user: str | None = None,
        max_buffer_size: int | None = None,
        private: Collection[str] = (),
    ) -> None:
        self._command = [_absolute(command[0]), *command[1:]]
        self._cwd = cwd
        self._env = env
        self._user = user
        self._private = private
        self._max_buffer_size = max_buffer_size
        self._diagnostics = child.Diagnostics(stderr)
        self._process: Process | None = None
        self._input_open = False
        self._may_write = anyio.Semaphore(1)
        self._tasks: list[OwnedTask] = []

    @property
    def pid(self) -> int | None:
        """The child's process id, while there is one."""
        return None if self._process is None else self._process.pid

    async def connect(self) -> None:
        if self._process is None:
            _check_folder(self._cwd)
            with anyio.CancelScope(shield=True):  # half started it would be nobody's; this does not wait for the child
                self._process = process = await self._start()
            self._input_open = True
            _running.add(self)
            assert process.stderr is not None
            listen = partial(self._diagnostics.listen, process.stderr)
            self._tasks = [spawn(listen, name="child diagnostics")]

    async def write(self, data: str) -> None:
        """Send a line. It goes whole or not at all, also when the caller is cancelled meanwhile."""
        await self._may_write.acquire()
        if not self.is_ready():
            self._may_write.release()
            raise CLIConnectionError(f"Cannot write to {self._command[0]}: {self._why_not_ready()}")
        line = _Line(data.encode())
        task = spawn(partial(self._send, line), name="child input")
        self._tasks[1:] = [task]
        await task.wait()
        if not line.sent:
            raise CLIConnectionError(f"Cannot write to {self._command[0]}: {self._why_not_ready()}") from task.error

    async def read_messages(self) -> AsyncIterator[Frame]:
        process = self._connected()
        lines, frames = LineSplitter(self._max_buffer_size), FrameReader(self._max_buffer_size)
        async with aclosing(child.output(process)) as chunks:
            async for data in chunks:
                for line in lines.feed(data):
                    frame = frames.take(line)
                    if frame is not None:
                        yield frame
        frame = self._last_frame(frames.end(lines.end()))
        if frame is not None:
            yield frame
        await self._check_exit(process)

    async def close(self) -> None:
        """Close its input and wait; SIGTERM and wait; SIGKILL to it and its group: three times `exit_seconds` at most."""
        process, self._process = self._process, None
        if process is None:
            return
        with anyio.CancelScope(shield=True):
            for task in self._tasks[1:]:
                task.cancel()
            await self._close_input(process)
            await child.ended(process, self.exit_seconds)
            _running.discard(self)
            for task in self._tasks:
                task.cancel()
                await task.wait()
            await child.released(process)

    def is_ready(self) -> bool:
        return self._process is not None and self._input_open and self._process.returncode is None

    async def end_input(self) -> None:
        if self._process is not None and self._input_open:
            async with self._may_write:
                await self._close_input(self._process)

    async def _start(self) -> Process:
        try:
            with out_of_sight(self._command, self._private) as (command, keep):
                return await anyio.open_process(
                    command, cwd=self._cwd, env=self._env, start_new_session=True, pass_fds=keep, **_identity(self._user)
                )
        except FileNotFoundError as error:
            raise CLINotFoundError("The command-line program does not exist", self._command[0]) from error
        except KeyError as error:
            raise CLIConnectionError(f"Cannot start {self._command[0]}: there is no user {self._user!r}") from error
        except (OSError, ValueError) as error:
            why = self._kept_from_user(error) or error
            raise CLIConnectionError(f"Cannot start {self._command[0]}: {why}") from error

    def _kept_from_user(self, error: Exception) -> str | None:
        """Says which folder keeps the user, as whom the program was to run, from it."""
        if not isinstance(error, PermissionError) or self._user is None:
            return None
        who = _identity(self._user)
        return closed_folder_in_words(self._command[0], self._user, uid=who["user"], groups=who["extra_groups"])

    async def _send(self, line: _Line) -> None:
        """Runs as a task of its own, so that cancelling the writer cannot cut a line in half."""
        try:
            process = self._connected()
            assert process.stdin is not None
            await process.stdin.send(line.data)
            line.sent = True
        except (*child.GONE, OSError):
            self._input_open = False
            raise
        finally:
            self._may_write.release()

    async def _close_input(self, process: Process) -> None:
        self._input_open = False
        assert process.stdin is not None
        with suppress(*child.GONE, OSError):
            await process.stdin.aclose()

    def _last_frame(self, rest: bytes) -> Frame | None:
        frame = decode_rest(rest)
        if frame is None and rest.strip():
            _log.warning("the last line from %s was unfinished: its %d bytes are dropped", self._command[0], len(rest))
        return frame

    async def _check_exit(self, process: Process) -> None:
        """The output ended: a failed child becomes an error that carries its diagnostics."""
        await child.exited(process, self.exit_seconds)
        with anyio.move_on_after(1):
            await self._tasks[0].wait()
        if process.returncode:
            raise ProcessError(child.exit_text(process.returncode), process.returncode, self._diagnostics.text() or None)

    def _connected(self) -> Process:
        if self._process is None:
            raise CLIConnectionError("Not connected. Call connect() first.")
        return self._process

    def _why_not_ready(self) -> str:
        if self._process is None:
            return "not connected"
        if self._process.returncode is None:
            return "its input is closed"
        return f"{child.exit_text(self._process.returncode)}. {self._diagnostics.text()}".strip()


def _identity(name: str | None) -> dict[str, Any]:
    """The user `name` with their groups, as `open_process` takes it; nothing for our own. Raises KeyError."""
    if name is None:
        return {}
    import pwd  # few programs run as another user

    entry = pwd.getpwnam(name)
    if entry.pw_uid == os.geteuid():
        return {}
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": os.getgrouplist(name, entry.pw_gid)}


class _Line:
    """A line on its way, and whether it went."""

    __slots__ = ("data", "sent")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.sent = False


_running: WeakSet[SubprocessTransport] = WeakSet()


@atexit.register
def _end_children() -> None:
    """The last resort, for transports that nobody closed."""
    for transport in list(_running):
        with suppress(ProcessLookupError, PermissionError):
            if transport.pid is not None:
                os.kill(transport.pid, signal.SIGTERM)


def _absolute(program: str) -> str:
    """A path is meant from here, not from the child's folder; a bare name is looked up in PATH."""
    return str(Path(program).expanduser().absolute()) if os.sep in program else program


def _check_folder(cwd: str | Path | None) -> None:
    if cwd is not None and not Path(cwd).is_dir():
        raise CLIConnectionError(f"Working directory does not exist: {cwd}")
