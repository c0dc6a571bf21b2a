"""A transport without a wire: two ends in one process, for tests and for embedding.

Frames still travel as lines, so what arrives is what a pipe would have brought.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from toolwright.base.concurrency import Channel
from toolwright.protocol.lines import Frame, LineSplitter, decode, encode
from toolwright.protocol.transport import Transport
from toolwright.types import CLIConnectionError


class MemoryTransport(Transport):
    """The client's end."""

    __slots__ = ("_connected", "_from_peer", "_lines", "_to_peer")

    def __init__(self, to_peer: Channel[Frame], from_peer: Channel[Frame]) -> None:
        self._to_peer = to_peer
        self._from_peer = from_peer
        self._lines = LineSplitter()
        self._connected = False

    async def connect(self) -> None:
        self._connected = True

    async def write(self, data: str) -> None:
        if not self.is_ready():
            raise CLIConnectionError("The in-memory transport is not connected, or its input has ended.")
        for line in self._lines.feed(data.encode()):
            frame = decode(line)
            if frame is not None:
                await self._to_peer.put(frame)

    def read_messages(self) -> AsyncIterator[Frame]:
        return self._from_peer

    async def close(self) -> None:
        self._connected = False
        self._to_peer.close()
        self._from_peer.close()

    def is_ready(self) -> bool:
        return self._connected and not self._to_peer.closed

    async def end_input(self) -> None:
        self._to_peer.close()


class MemoryPeer:
    """The session's end: what the client wrote, and a way to write back."""

    __slots__ = ("_from_client", "_to_client")

    def __init__(self, from_client: Channel[Frame], to_client: Channel[Frame]) -> None:
        self._from_client = from_client
        self._to_client = to_client

    def frames(self) -> AsyncIterator[Frame]:
        """Every frame of the client, until it ends its input."""
        return self._from_client

    async def write(self, frame: Frame) -> None:
        """Send a frame to the client. One that is not JSON is refused here, as a pipe would refuse it."""
        wire = decode(encode(frame))
        if wire is not None:
            await self._to_client.put(wire)

    def end(self, error: BaseException | None = None) -> None:
        """Nothing more will come from this end; with an error, the client's reading fails with it."""
        self._to_client.close(error)
        self._from_client.close()


def memory_transport_pair(limit: int = 100) -> tuple[MemoryTransport, MemoryPeer]:
    """Two connected ends; each direction holds up to `limit` frames before its writer waits."""
    to_session: Channel[Frame] = Channel(limit)
    to_client: Channel[Frame] = Channel(limit)
    return MemoryTransport(to_session, to_client), MemoryPeer(to_session, to_client)
