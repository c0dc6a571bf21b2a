"""Bytes over one socket, and between two: bounded reads, back-pressure by waiting for the slower side, half-close.

Plain non-blocking sockets, so that the address dialled is exactly the one given. Knows nothing of what the bytes mean.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Sequence

import anyio
from anyio.lowlevel import checkpoint

_PIECE = 1 << 16
_SEND_SECONDS = 600.0
_LINGER_SECONDS = 2.0
_LINGER_BYTES = 1 << 20


class StreamEnded(Exception):
    """The other side ended, or sent more than was to be taken, before what was waited for had come."""


class Stream:
    """One connected socket. One task may receive while another sends; `close` only when neither does."""

    __slots__ = ("_buffer", "_socket")

    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        self._socket = connected
        self._buffer = b""

    async def receive(self, most: int = _PIECE) -> bytes:
        """The next bytes; empty at the end."""
        await checkpoint()  # a flood must not keep the event loop from everything else
        if not self._buffer:
            self._buffer = await self._receive_more()
        piece, self._buffer = self._buffer[:most], self._buffer[most:]
        return piece

    async def peek(self) -> int | None:
        """The next byte, left where it is; None at the end."""
        if not self._buffer:
            self._buffer = await self._receive_more()
        return self._buffer[0] if self._buffer else None

    async def exactly(self, count: int) -> bytes:
        while len(self._buffer) < count:
            await self._need_more()
        piece, self._buffer = self._buffer[:count], self._buffer[count:]
        return piece

    async def until(self, mark: bytes, most: int) -> bytes:
        """All up to and including `mark`. Raises `StreamEnded` if it does not come within `most` bytes."""
        searched = 0
        while (position := self._buffer.find(mark, searched, most)) < 0:
            if len(self._buffer) >= most:
                raise StreamEnded(f"more than {most} bytes")
            searched = max(0, len(self._buffer) - len(mark) + 1)
            await self._need_more()
        return await self.exactly(position + len(mark))

    async def send(self, data: bytes) -> None:
        """Send all of it. Raises `OSError` if the other side is gone, or takes nothing for ten minutes."""
        view = memoryview(data)
        while view:
            try:
                view = view[self._socket.send(view) :]
            except BlockingIOError:
                with anyio.fail_after(_SEND_SECONDS):
                    await anyio.wait_writable(self._socket)

    def finish(self) -> None:
        """Say that nothing more will be sent."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the other side is gone already

    async def part(self) -> None:
        """Finish, and for a moment take what still comes: closing with bytes unread would destroy our last words."""
        self.finish()
        taken = 0
        with anyio.move_on_after(_LINGER_SECONDS):
            while taken < _LINGER_BYTES and (piece := await self.receive()):
                taken += len(piece)

    def close(self) -> None:
        self._socket.close()

    async def _need_more(self) -> None:
        piece = await self._receive_more()
        if not piece:
            raise StreamEnded("the connection ended early")
        self._buffer += piece

    async def _receive_more(self) -> bytes:
        while True:
            try:
                return self._socket.recv(_PIECE)
            except BlockingIOError:
                await anyio.wait_readable(self._socket)


async def dial(addresses: Sequence[str], port: int, seconds: float) -> Stream:
    """Connect to the first address that answers. Raises `OSError` (`TimeoutError` after `seconds`)."""
    failure: OSError = OSError(errno.EADDRNOTAVAIL, "no address to connect to")
    with anyio.fail_after(seconds):
        for address in addresses:
            try:
                with anyio.fail_after(seconds / len(addresses)):
                    return await _connect(address, port)
            except OSError as error:
                failure = error
    raise failure


async def _connect(address: str, port: int) -> Stream:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    connecting = socket.socket(family, socket.SOCK_STREAM)
    try:
        connecting.setblocking(False)
        code = connecting.connect_ex((address, port))
        if code == errno.EINPROGRESS:
            await anyio.wait_writable(connecting)
            code = connecting.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))
        connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Stream(connecting)
    except BaseException:
        connecting.close()
        raise


class Relay:
    """Carries bytes both ways between two streams until both have ended, one breaks, or nothing moved for `idle_seconds`."""

    __slots__ = ("_idle", "_last", "_scope")

    def __init__(self, idle_seconds: float) -> None:
        self._idle = idle_seconds
        self._last = 0.0
        self._scope = anyio.CancelScope()

    async def run(self, near: Stream, far: Stream, *, sent: Callable[[int], None], received: Callable[[int], None]) -> None:
        """`sent` and `received` are told how many bytes went to `far` and came from it."""
        self._last = anyio.current_time()
        with self._scope:
            async with anyio.create_task_group() as group:
                group.start_soon(self._carry, near, far, sent)
                group.start_soon(self._carry, far, near, received)

    async def _carry(self, source: Stream, target: Stream, count: Callable[[int], None]) -> None:
        try:
            while piece := await self._receive(source):
                await target.send(piece)
                count(len(piece))
                self._last = anyio.current_time()
            target.finish()
        except OSError:
            self._scope.cancel()

    async def _receive(self, source: Stream) -> bytes:
        while True:
            with anyio.move_on_at(self._last + self._idle) as scope:
                return await source.receive()
            if scope.cancelled_caught and anyio.current_time() >= self._last + self._idle:
                self._scope.cancel()
                await checkpoint()
