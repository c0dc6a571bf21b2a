"""Start one child process and hand over what it writes, without a thread and without waiting for its own children.

The end of the process ends the reading: something it left behind that keeps the pipe open is given a short grace, no more.
Works on any anyio backend. It does not know what is run or why.
"""

from __future__ import annotations

import errno
import fcntl
import os
import selectors
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import anyio
from anyio.lowlevel import checkpoint
from msgspec import Struct

from toolwright.base.access import closed_folder_in_words
from toolwright.base.worker_threads import PASSING
from toolwright.base.workspace_errors import CommandNotStarted

_LINUX: bool = sys.platform == "linux"
_CHUNK = 1 << 16
_READS_BEFORE_A_PAUSE = 16
_GRACE = 0.1
_PIPE_HOLDS = 1 << 16
"""What Linux keeps in a pipe that nobody made larger."""
MAX_ERROR_BYTES = 8192
_KILL_TIMEOUT = 1.0


class Account(Struct, frozen=True):
    """The OS user a child runs as."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str


def find_account(name: str) -> Account:
    """The account called `name`. Raises `CommandNotStarted` if there is none."""
    import pwd  # only for the few who run children as somebody else

    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise CommandNotStarted(f"There is no user {name!r} on this machine to run commands as.") from None
    return Account(name, entry.pw_uid, entry.pw_gid, tuple(os.getgrouplist(name, entry.pw_gid)), entry.pw_dir)


class Launched(Struct, frozen=True):
    """A process that has just been started, and our ends of it: what it writes, and what becomes readable when it has ended."""

    process: subprocess.Popen[bytes]
    output: int
    exit: int
    errors: int | None = None

    def collect(self) -> int:
        """The exit code of the process, minus a signal's number; one that still runs is killed. Closes our ends."""
        with suppress(subprocess.TimeoutExpired):  # stuck inside the kernel: not even SIGKILL helps at once
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait(_KILL_TIMEOUT)
        for descriptor in (self.output, self.exit, self.errors):
            if descriptor is not None:
                os.close(descriptor)
        return -signal.SIGKILL if self.process.returncode is None else self.process.returncode


class ChildProcess:
    """A running child. Use `read` until it gives nothing, then `returncode`; always `close`."""

    def __init__(self, launched: Launched) -> None:
        self._process = launched.process
        self._output = output = launched.output
        self._errors = errors = launched.errors
        self._exit = launched.exit
        self._selector = selectors.DefaultSelector()
        for descriptor in (output, self._exit, errors):
            if descriptor is not None:
                self._selector.register(descriptor, selectors.EVENT_READ)
        self._exited = False
        self._ended_at = 0.0
        self._late_bytes = 0
        self._pipe_holds = _PIPE_HOLDS
        self._reads = 0
        self.error_output = bytearray()
        """The first bytes of a separate stderr."""

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exited(self) -> bool:
        return self._exited

    @property
    def returncode(self) -> int:
        """The exit code; only after the process has ended. A signal's is negative."""
        code = self._process.poll()
        return -signal.SIGKILL if code is None else code

    async def read(self) -> bytes:
        """The next piece of output; empty when the process has ended and what it wrote has been read."""
        self._reads += 1
        if self._reads % _READS_BEFORE_A_PAUSE == 0:
            await checkpoint()  # a flood must not keep the event loop from everything else
        while True:
            piece = self.read_now()
            if piece:
                return b"" if self._is_someone_elses(piece) else piece
            if piece == b"":
                await self._wait_for_exit()
                return b""
            if self._exited and not await self._more_within_grace():
                return b""
            if not self._exited:
                await self._wait()

    def widen(self, size: int) -> None:
        """Let up to `size` bytes of output wait for us, where the system grants that."""
        with suppress(OSError):
            if _LINUX:
                self._pipe_holds = fcntl.fcntl(self._output, fcntl.F_SETPIPE_SZ, size)

    async def gather(self, seconds: float) -> None:
        """Let output gather for so long, or until the process has ended: a few large pieces cost less than many small ones."""
        with anyio.move_on_after(seconds):
            await anyio.wait_readable(self._exit)

    def read_now(self) -> bytes | None:
        """What is there already; None if nothing is, empty at the end of the stream."""
        try:
            return os.read(self._output, _CHUNK)
        except BlockingIOError:
            return None

    def kill(self) -> None:
        """End this one process now. (Its children are the business of `trees`.)"""
        with suppress(OSError):
            self._process.kill()
        with suppress(subprocess.TimeoutExpired):  # stuck inside the kernel: not even SIGKILL helps at once
            self._process.wait(_KILL_TIMEOUT)
        self._exited = True

    def close(self) -> None:
        """Give every descriptor back. A process that still runs is killed: no child is ever left uncollected."""
        if self._process.returncode is None:
            self.kill()
        self._selector.close()
        for descriptor in (self._output, self._exit, self._errors):
            if descriptor is not None:
                os.close(descriptor)

    async def _wait(self) -> None:
        await anyio.wait_readable(self._selector.fileno())
        for key, _ in self._selector.select(0):
            if key.fd == self._exit:
                self._exited = True
                self._ended_at = anyio.current_time()
            elif key.fd == self._errors:
                self._read_errors(key.fd)

    async def _wait_for_exit(self) -> None:
        with suppress(KeyError):
            self._selector.unregister(self._output)
        while not self._exited:
            await self._wait()
        if self._errors is not None:
            self._read_errors(self._errors)

    def _read_errors(self, descriptor: int) -> None:
        try:
            piece = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return
        self.error_output += piece[: MAX_ERROR_BYTES - len(self.error_output)]
        if not piece:
            with suppress(KeyError):
                self._selector.unregister(descriptor)

    def _is_someone_elses(self, piece: bytes) -> bool:
        """Whether a piece comes from a child that lives on: no more than a pipe holds can be from the process itself."""
        if not self._exited:
            return False
        self._late_bytes += len(piece)
        return self._late_bytes > self._pipe_holds and anyio.current_time() > self._ended_at + _GRACE

    async def _more_within_grace(self) -> bool:
        left = self._ended_at + _GRACE - anyio.current_time()
        with anyio.move_on_after(max(0, left)) as scope:
            await anyio.wait_readable(self._output)
        return not scope.cancelled_caught


def start(argv: Sequence[str], **how: Any) -> ChildProcess:
    """Start `argv` as `launch` does, to be read piece by piece."""
    return adopt(launch(argv, **how))


def launch(
    argv: Sequence[str],
    *,
    directory: int,
    environment: Mapping[str, str],
    account: Account | None = None,
    separate_errors: bool = False,
    stdin: int | None = None,
    keep: Sequence[int] = (),
) -> Launched:
    """Start `argv` in the folder that the descriptor `directory` stands on, in a session of its own, with an empty stdin.

    `keep` are descriptors the child inherits; all others it does not see.
    """
    output, output_end = _pipe()
    errors, errors_end = _pipe() if separate_errors else (None, output_end)
    try:
        process = subprocess.Popen(
            argv,
            cwd=_directory_path(directory),
            env=dict(environment),
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=output_end,
            stderr=errors_end,
            start_new_session=True,
            pass_fds=tuple(keep),
            **_identity(account),
        )
        return Launched(process, output, _watched(process), errors)
    except BaseException as error:
        for descriptor in (output, errors):
            if descriptor is not None:
                os.close(descriptor)
        _raise_in_words(error, argv[0], account)
        raise
    finally:
        for descriptor in {output_end, errors_end}:
            os.close(descriptor)


def adopt(launched: Launched) -> ChildProcess:
    try:
        return ChildProcess(launched)
    except BaseException:  # no descriptor left to wait with: do not lose it
        launched.collect()
        raise


def _watched(process: subprocess.Popen[bytes]) -> int:
    try:
        return _exit_descriptor(process)
    except BaseException:
        process.kill()
        process.wait()
        raise


def _raise_in_words(error: BaseException, program: str, account: Account | None) -> None:
    if not isinstance(error, OSError) or error.errno in PASSING:
        return
    why = error.strerror or str(error)
    if error.errno == errno.EACCES and account is not None:
        why = closed_folder_in_words(program, account.name, uid=account.uid, groups=account.groups) or why
    raise CommandNotStarted(f"{program} could not be started: {why}.") from error


def _pipe() -> tuple[int, int]:
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    return ours, theirs


def _directory_path(directory: int) -> str:
    """A path that means exactly the folder we have open, wherever it has been moved since."""
    if _LINUX:
        return f"/proc/self/fd/{directory}"
    name: bytes = fcntl.fcntl(directory, getattr(fcntl, "F_GETPATH", 50), bytes(1024))
    return os.fsdecode(name.rstrip(b"\0"))


def _identity(account: Account | None) -> dict[str, Any]:
    if account is None or account.uid == os.geteuid():
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": account.groups}


def _exit_descriptor(process: subprocess.Popen[bytes]) -> int:
    """A descriptor that becomes readable when the process has ended."""
    if _LINUX:
        return os.pidfd_open(process.pid)
    ours, theirs = os.pipe()

    def watch() -> None:
        process.wait()
        os.close(theirs)

    threading.Thread(target=watch, daemon=True).start()
    return ours
