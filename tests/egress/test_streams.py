"""Bounded reads however bytes are cut, back-pressure, and relays that end."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from support_egress import TIMEOUT
from toolwright.egress.streams import Relay, Stream, StreamEnded, dial

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def _pair() -> AsyncIterator[tuple[Stream, Stream]]:
    one, other = map(Stream, socket.socketpair())
    try:
        yield one, other
    finally:
        one.close()
        other.close()


async def test_what_was_read_too_much_stays_for_the_next_read() -> None:
    async with _pair() as (one, other):
        await one.send(b"head\r\n\r\nbody and more")
        assert await other.peek() == ord("h")
        assert await other.until(b"\r\n\r\n", 100) == b"head\r\n\r\n"
        assert await other.exactly(4) == b"body"
        assert await other.receive(4) == b" and"
        one.finish()
        assert await other.receive() == b" more"
        assert await other.receive() == b""
        assert await other.peek() is None


@pytest.mark.parametrize("most", [8, 9, 1000])
async def test_a_mark_within_the_bound_is_found_byte_by_byte(most: int) -> None:
    async with _pair() as (one, other), anyio.create_task_group() as group:

        async def drip() -> None:
            for byte in b"head\r\n\r\n":
                await one.send(bytes((byte,)))
                await anyio.lowlevel.checkpoint()

        group.start_soon(drip)
        assert await other.until(b"\r\n\r\n", most) == b"head\r\n\r\n"


async def test_a_mark_beyond_the_bound_or_never_is_an_end() -> None:
    async with _pair() as (one, other):
        await one.send(b"head\r\n\r\n")
        with pytest.raises(StreamEnded, match="more than 7 bytes"):
            await other.until(b"\r\n\r\n", 7)
    async with _pair() as (one, other):
        await one.send(b"hea")
        one.finish()
        with pytest.raises(StreamEnded, match="ended early"):
            await other.until(b"\r\n\r\n", 100)


async def test_a_relay_takes_no_more_than_the_slower_side_gives_away() -> None:
    """Nobody reads at the far end, so the near end soon cannot write any more."""
    near_socket, ours = socket.socketpair()
    theirs, far_socket = socket.socketpair()
    near_socket.setblocking(False)
    counted: list[int] = []
    with near_socket, far_socket:
        async with anyio.create_task_group() as group:
            relay = Relay(600)

            async def run() -> None:
                near, far = Stream(ours), Stream(theirs)
                await relay.run(near, far, sent=counted.append, received=counted.append)

            group.start_soon(run)
            written, stuck = 0, 0
            while stuck < 100:
                try:
                    written += near_socket.send(b"x" * 65536)
                    stuck = 0
                except BlockingIOError:
                    stuck += 1
                await anyio.lowlevel.checkpoint()
            assert written < 16 << 20
            group.cancel_scope.cancel()
    ours.close()
    theirs.close()


async def test_a_relay_ends_when_one_side_breaks() -> None:
    async with _pair() as (near, client):
        listening = socket.create_server(("127.0.0.1", 0))
        far = await dial(["127.0.0.1"], listening.getsockname()[1], TIMEOUT)
        accepted, _ = listening.accept()
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        accepted.close()  # with a reset
        with anyio.fail_after(TIMEOUT):
            await Relay(600).run(near, far, sent=lambda _: None, received=lambda _: None)
        far.close()
        listening.close()
        assert client is not None


async def test_dialling_tries_the_next_address() -> None:
    with socket.create_server(("127.0.0.2", 0)) as listening:
        port = listening.getsockname()[1]
        stream = await dial(["127.0.0.1", "127.0.0.2"], port, TIMEOUT)
        stream.close()
    with pytest.raises(ConnectionRefusedError):
        await dial(["127.0.0.1", "127.0.0.2"], port, TIMEOUT)
    with pytest.raises(OSError, match="no address"):
        await dial([], port, TIMEOUT)
