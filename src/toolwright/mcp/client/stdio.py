"""One MCP server as a child process: its lines in, its lines out, its error output kept, and its whole tree ended at the end.

The process belongs to a task of its own, not to whoever asked for it first. Writers leave whole lines in a buffer, so that one
who is cancelled in the middle of a line does not tear it. Knows lines of JSON; knows no method and no client.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import anyio
from msgspec import Struct

from toolwright.base.concurrency import OwnedTask, spawn
from toolwright.mcp.client.transport import (
    MAX_MESSAGE_DEPTH,
    MAX_MESSAGE_SIZE,
    LinkError,
    LinkLost,
    Message,
    is_answer,
    is_too_deep,
    request_error,
)
from toolwright.processes.environment import SERVER_NAMES, child_environment
from toolwright.protocol.lines import LineSplitter, decode, encode
from toolwright.types import CLIJSONDecodeError

if TYPE_CHECKING:
    from toolwright.processes.child_process import Account, ChildProcess
    from toolwright.processes.process_tree import Mark

END_TIMEOUT = 2.0
"""How long a server may take to end by itself once its input is closed."""
STRANGERS_TIMEOUT = 0.2
"""The same for one that never shook hands."""
_ERROR_TAIL = 4096
_SHOWN_ERROR = 600
_LOCKS_LIMIT = 10
"""Linux's RLIMIT_LOCKS, which nothing enforces: it carries the mark by which a tree is found (see workspace.trees)."""


class ServerLaunch(Struct, frozen=True):
    """What is started, as whom and where. Two servers with equal launches may be one process."""

    command: str
    args: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    cwd: str = "/"
    account: Account | None = None
    isolation: Hashable = None
    """What else must be equal before two sessions may share a process."""


def environment_for(explicit: Mapping[str, str], base: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Six harmless variables of `base`, and what the configuration says."""
    return tuple(sorted((child_environment({}, base, only=SERVER_NAMES) | dict(explicit)).items()))


def find_program(command: str, *, path: str, cwd: str, untrusted: Sequence[str] = ()) -> str:
    """The absolute path of `command`. A bare name is never found through a relative folder or below one of `untrusted`,
    where the model could have put it. Raises `LinkError`."""
    if "/" in command:
        return os.path.normpath(os.path.join(cwd, os.path.expanduser(command)))
    passed_over = []
    for folder in path.split(os.pathsep):
        candidate = os.path.join(folder, command)
        if not os.path.isabs(folder) or not (os.path.isfile(candidate) and os.access(candidate, os.X_OK)):
            continue
        if not _is_below(os.path.realpath(folder), untrusted):
            return candidate
        passed_over.append(candidate)
    hint = f" ({passed_over[0]} lies in the workspace: write its whole path if it is meant)" if passed_over else ""
    raise LinkError(f"the command {command!r} was not found on PATH{hint}")


def _is_below(folder: str, roots: Sequence[str]) -> bool:
    return any(folder == root or folder.startswith(root.rstrip("/") + "/") for root in roots)


class ProcessListener(Protocol):
    """Who hears a process."""

    def heard(self, message: Message) -> None: ...
    def ended(self, reason: str) -> None: ...


class StdioProcess:
    """A running server. `start`, `write`, `close`; what it says goes to the listener."""

    def __init__(
        self, launch: ServerLaunch, listener: ProcessListener, *, is_idle: Callable[[], bool], idle_seconds: float
    ) -> None:
        self._launch = launch
        self._listener = listener
        self._is_idle = is_idle
        self._idle_seconds = idle_seconds
        self._child: ChildProcess | None = None
        self._stdin = -1
        self._mark: Mark | None = None
        self._reader: OwnedTask | None = None
        self._outgoing: deque[memoryview] = deque()
        self._outgoing_size = 0
        self._writing = anyio.Lock()
        self._reason = ""
        self.garbage = 0
        """Lines that were no message."""

    @property
    def pid(self) -> int:
        return 0 if self._child is None else self._child.pid

    @property
    def running(self) -> bool:
        return self._reader is not None and not self._reader.done

    async def start(self) -> None:
        """Raises `LinkError`."""
        from toolwright.base.worker_threads import inline
        from toolwright.processes import watchdog
        from toolwright.processes.process_tree import Mark

        self._mark = Mark.new_session()
        self._have_it_watched()  # before it runs: we may be killed at any moment
        try:
            self._child = await inline(self._start)
        except BaseException:
            watchdog.release(self._mark_session)
            raise
        self._reader = spawn(self._listen, name=f"mcp server {self._launch.command}")

    def _start(self) -> ChildProcess:
        from toolwright.processes.child_process import start  # here, because only who starts a server needs subprocess
        from toolwright.workspace import WorkspaceError

        try:
            directory = os.open(self._launch.cwd, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise LinkError(f"its folder {self._launch.cwd} cannot be used: {error.strerror}") from None
        theirs, ours = os.pipe()
        try:
            child = start(
                (self._launch.command, *self._launch.args),
                directory=directory,
                environment=dict(self._launch.environment),
                account=self._launch.account,
                separate_errors=True,
                stdin=theirs,
            )
        except WorkspaceError as error:
            os.close(ours)
            raise LinkError(str(error)) from None
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
            os.close(directory)
        os.set_blocking(ours, False)
        self._stdin = ours
        self._put_mark(child.pid)
        return child

    def _have_it_watched(self) -> None:
        """When we are killed the server sees its input end; one that does not care is ended by the watchdog."""
        from toolwright.base.workspace_errors import WorkspaceError
        from toolwright.processes import watchdog
        from toolwright.processes.shell import shell_path

        with suppress(OSError, WorkspaceError):  # no bash, no process to be had: then the end of its input has to do
            watchdog.watch(self._mark_session, shell=shell_path(), patiently=True)

    @property
    def _mark_session(self) -> int:
        return 0 if self._mark is None else self._mark.session

    def _put_mark(self, pid: int) -> None:
        if sys.platform == "linux" and self._mark is not None:
            import resource

            with suppress(OSError, ValueError):  # gone already, or somebody else's
                _, hard = resource.prlimit(pid, _LOCKS_LIMIT)
                resource.prlimit(pid, _LOCKS_LIMIT, (self._mark.value, hard))

    # writing

    async def write(self, message: Message) -> None:
        """Raises `LinkLost`."""
        line = encode(message)
        if self._outgoing and self._outgoing_size + len(line) > MAX_MESSAGE_SIZE:
            raise LinkError("it does not read what is sent to it; nothing more is sent until it does")
        self._outgoing.append(memoryview(line))
        self._outgoing_size += len(line)
        async with self._writing:
            while self._outgoing:
                await self._write_some()

    async def _write_some(self) -> None:
        if self._stdin < 0:
            raise LinkLost(self._reason or "it is not running")
        try:
            self._take_away(os.write(self._stdin, self._outgoing[0]))
        except BlockingIOError:
            await anyio.wait_writable(self._stdin)
        except OSError:  # it closed its input: the reader tells how it ended
            if self._reader is not None:
                with anyio.move_on_after(END_TIMEOUT):
                    await self._reader.wait()
            raise LinkLost(self._reason or "it has closed its input") from None

    def _take_away(self, written: int) -> None:
        rest = self._outgoing[0][written:]
        self._outgoing_size -= written
        if rest:
            self._outgoing[0] = rest
        else:
            self._outgoing.popleft()

    # reading

    async def _listen(self) -> None:
        assert self._child is not None
        splitter = LineSplitter(MAX_MESSAGE_SIZE)
        try:
            while piece := await self._next_piece(self._child):
                for line in splitter.feed(piece):
                    self._take(line)
            if not self._reason:
                self._take(splitter.end())
        except CLIJSONDecodeError:
            self._reason = f"it sent a message longer than {MAX_MESSAGE_SIZE // 1024 // 1024} MB; the connection was closed"
        finally:
            with anyio.CancelScope(shield=True):
                await self._clean_up(self._child)

    async def _next_piece(self, child: ChildProcess) -> bytes:
        """The next output; empty at the end, also when nobody has wanted anything for long."""
        while True:
            with anyio.move_on_after(self._idle_seconds):
                piece = await child.read()
                del child.error_output[:-_ERROR_TAIL]
                return piece
            if self._is_idle():
                self._reason = f"it was ended after {self._idle_seconds:g} seconds without a call; the next one starts it again"
                return b""

    def _take(self, line: bytes) -> None:
        message = read_message(line)
        if message is not None:
            self._listener.heard(message)
        elif line.strip():
            self.garbage += 1

    # the end

    async def close(self, patience: float = END_TIMEOUT) -> None:
        """Close its input, give it a moment, then end it and all that came of it."""
        self._reason = self._reason or "it was closed"
        self._close_input()
        if self._reader is None:
            return
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(patience):
                await self._reader.wait()
            self._reader.cancel()
            await self._reader.wait()

    def _close_input(self) -> None:
        if self._stdin >= 0:
            descriptor, self._stdin = self._stdin, -1
            os.close(descriptor)

    async def _clean_up(self, child: ChildProcess) -> None:
        from toolwright.processes import watchdog
        from toolwright.processes.process_tree import end_tree

        exited, mark = child.exited, self._mark
        try:
            if mark is not None:
                await end_tree(mark, child.pid)
        finally:
            watchdog.release(self._mark_session)
            child.close()
            self._close_input()
            self._reason = self._reason or self._how_it_ended(child, exited)
            self._listener.ended(self._reason)

    def _how_it_ended(self, child: ChildProcess, exited: bool) -> str:
        code = child.returncode
        if not exited:
            how = "it closed its output"
        elif code >= 0:
            how = f"it ended with exit code {code}"
        else:
            how = f"it was ended by {_signal_name(-code)}"
        if self.garbage:
            how += f", having written {self.garbage} lines that are no messages"
        said = bytes(child.error_output).decode("utf-8", "replace").strip()
        return f"{how}; it said: {said[-_SHOWN_ERROR:]}" if said else how


def read_message(line: bytes) -> Message | None:
    """The message on a line; None for what is none. Of an answer that is nested too deeply only that is left."""
    try:
        message = decode(line)
    except CLIJSONDecodeError:
        return None
    if message is None or not is_too_deep(line, message):
        return message
    if not is_answer(message):
        return None
    return request_error(message.get("id"), -32700, f"its answer is nested deeper than {MAX_MESSAGE_DEPTH} levels")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
