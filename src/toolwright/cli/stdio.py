"""Standard input and output, a line at a time, without threads and without a limit on a line.

Both ends wait for readiness and then make one call that cannot block, so the event loop stays free, a slow reader slows
the writer down, and no thread is left hanging in a read when the process wants to exit. The descriptors' flags are left
alone: a terminal shares them with the shell. What the lines mean is not known here.
"""

from __future__ import annotations

import fcntl
import os
import select
import stat
import sys
import termios
from collections.abc import AsyncGenerator

import anyio

from toolwright.cli.plain_output import OutputClosed, harmless_json
from toolwright.protocol.lines import LineSplitter

READ_SIZE = 1 << 16
PIPE_ATOM = 4096
"""A pipe that is ready takes this much without blocking (PIPE_BUF)."""
LOOK_SECONDS, MAX_LOOKS = 0.001, 250
"""How often it is looked whether a reader has taken what lies in the pipe; one that does not read is not waited for."""


async def read_chunk(descriptor: int) -> bytes:
    """The next bytes, or b"" at the end of input (or when there is no such descriptor)."""
    if not _ready(descriptor, select.POLLIN):
        await anyio.wait_readable(descriptor)
    try:
        return os.read(descriptor, READ_SIZE)
    except OSError:  # closed under us, or a terminal that hung up: no more will come
        return b""


async def read_all(descriptor: int) -> bytes:
    chunks = bytearray()
    while chunk := await read_chunk(descriptor):
        chunks += chunk
    return bytes(chunks)


async def read_lines(descriptor: int) -> AsyncGenerator[bytes, None]:
    """Each line without its end, the last one also if it has none. Holds one line and at most one chunk more."""
    splitter = LineSplitter()
    while chunk := await read_chunk(descriptor):
        for line in splitter.feed(chunk):
            yield line
    if rest := splitter.end():
        yield rest


class Output:
    """Writes whole lines of JSON in the order of the calls. `write` returns when the kernel has taken all of it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.is_terminal = os.isatty(descriptor)
        self._turn = anyio.Lock()
        self._scope: anyio.CancelScope | None = None
        self._abandoned = False

    async def write(self, data: bytes) -> None:
        """A line once begun is finished even if its writer is cancelled: half a line would spoil the next one."""
        if self.is_terminal:
            data = harmless_json(data)
        async with self._turn:
            with anyio.CancelScope(shield=not self._abandoned) as self._scope:
                await self._write_all(memoryview(data))

    async def taken(self) -> None:
        """Wait until the other side has read what was written, for a moment at most."""
        for _ in range(MAX_LOOKS):
            if not unread(self._descriptor):
                return
            await anyio.sleep(LOOK_SECONDS)

    def abandon(self) -> None:
        """The process is to end: stop waiting for a reader that does not read."""
        self._abandoned = True
        if self._scope is not None:
            self._scope.shield = False

    async def _write_all(self, rest: memoryview) -> None:
        while rest:
            if not _ready(self._descriptor, select.POLLOUT):
                await anyio.wait_writable(self._descriptor)
            rest = rest[self._write_some(rest) :]

    def _write_some(self, rest: memoryview) -> int:
        try:
            return os.write(self._descriptor, rest[:PIPE_ATOM])
        except BlockingIOError:  # someone else made it non-blocking and it filled up meanwhile
            return 0
        except BrokenPipeError:
            raise OutputClosed from None


def unread(descriptor: int) -> int:
    """The bytes in a pipe or socket that its reader has not taken yet; 0 where nobody can tell (a file, a terminal)."""
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISFIFO(kind):
            answer = fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4))
        elif stat.S_ISSOCK(kind):
            answer = fcntl.ioctl(descriptor, termios.TIOCOUTQ, bytes(4))
        else:
            return 0
    except OSError:
        return 0
    return int.from_bytes(answer, sys.byteorder)


def _ready(descriptor: int, events: int) -> bool:
    """Ready now? Files, /dev/null and closed descriptors always are, which is why the event loop cannot wait for them."""
    poll = select.poll()
    poll.register(descriptor, events)
    return bool(poll.poll(0))
