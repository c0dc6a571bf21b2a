"""The listener: takes connections, reads requests within time limits, hands them to the endpoint. Ends when it is cancelled.

However many connections are open and say nothing, or say it slowly, whoever has something to say is heard.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import anyio
from anyio.abc import SocketAttribute, SocketStream

from toolwright.mcp.server.connection_limits import ConnectionSlot, Places
from toolwright.mcp.server.http_messages import BadHttp, HttpConnection, PeerGone, Request, Room, full_room

IDLE_SECONDS = 60.0
"""How long a connection may stay that has been served and asks nothing."""
HEAD_SECONDS = 10.0
"""How long a new connection may be silent, and the head of a request may take to arrive."""
BODY_SECONDS = 60.0
LAST_WORDS_SECONDS = 5.0
_ALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
"""When a peer that answers nothing at all, not even to the kernel, is taken for gone."""

T = TypeVar("T")
Serve = Callable[[Request, HttpConnection], Awaitable[None]]


async def listen(host: str, port: int) -> anyio.abc.SocketListener:
    """A listening socket. Raises `OSError`."""
    multi = await anyio.create_tcp_listener(
        local_host=host, local_port=port, family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=100
    )
    return multi.listeners[0]  # type: ignore[return-value]  # one address, one family: one TCP listener


def port_of(listener: anyio.abc.SocketListener) -> int:
    return int(listener.extra(SocketAttribute.local_port))


async def serve_http(listener: anyio.abc.SocketListener, serve: Serve, room: Room = full_room) -> None:
    """Serve until cancelled."""
    places = Places()

    async def handle(stream: SocketStream) -> None:
        async with stream:
            _keep_alive(stream)
            connection = HttpConnection(stream, room)
            with places.one(_address(stream)) as place:
                if place is None:
                    await _refuse(connection, 503, "all connections are at work; try again later")
                    return
                with place.scope:
                    await _converse(connection, serve, place)

    async with listener:
        await listener.serve(handle)


async def _converse(connection: HttpConnection, serve: Serve, place: ConnectionSlot) -> None:
    """One connection: a mistake ends it and nothing else."""
    try:
        while not connection.closing and (request := await _next(connection, place)) is not None:
            with place.at_work():
                await serve(request, connection)
            if not request.keeps_alive:
                return
    except BadHttp as error:
        await _refuse(connection, error.status, str(error))
    except PeerGone:
        return


async def _refuse(connection: HttpConnection, status: int, text: str) -> None:
    with anyio.move_on_after(LAST_WORDS_SECONDS):
        try:
            await connection.respond(status, {"content-type": "text/plain; charset=utf-8"}, f"{text}\n".encode(), close=True)
        except PeerGone:
            return


async def _next(connection: HttpConnection, place: ConnectionSlot) -> Request | None:
    """The next request; None if none begins in time. Raises `BadHttp` for one that comes too slowly."""
    with anyio.move_on_after(IDLE_SECONDS if place.has_asked else HEAD_SECONDS) as silence:
        await connection.begin()
    if silence.cancelled_caught:
        return None
    head = await _in_time(connection.read_head, HEAD_SECONDS)
    return None if head is None else await _in_time(lambda: connection.read_body(head), BODY_SECONDS)


async def _in_time(read: Callable[[], Awaitable[T]], seconds: float) -> T:
    with anyio.move_on_after(seconds):
        return await read()
    raise BadHttp(408, f"the request did not arrive within {seconds:g} seconds")


def _address(stream: SocketStream) -> str:
    try:
        return str(stream.extra(SocketAttribute.remote_address)[0])
    except (anyio.TypedAttributeLookupError, OSError):  # it went away at once
        return ""


def _keep_alive(stream: SocketStream) -> None:
    raw = stream.extra(SocketAttribute.raw_socket)
    with suppress(OSError):
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _ALIVE.items():
            if hasattr(socket, name):
                raw.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
