"""The listener: takes connections, reads requests within time limits, hands them to the endpoint. Ends when it is cancelled."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import SocketAttribute, SocketStream

from toolwright.mcp.serving.http_messages import BadHttp, HttpConnection, PeerGone, Request, Room, full_room

REQUEST_SECONDS = 60.0
"""How long a request may take to arrive, and an idle connection may stay."""
LAST_WORDS_SECONDS = 5.0
MOST_CONNECTIONS = 200

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
    places = anyio.Semaphore(MOST_CONNECTIONS)

    async def handle(stream: SocketStream) -> None:
        async with stream, places:
            await _converse(HttpConnection(stream, room), serve)

    async with listener:
        await listener.serve(handle)


async def _converse(connection: HttpConnection, serve: Serve) -> None:
    """One connection: a mistake ends it and nothing else."""
    try:
        while (request := await _next(connection)) is not None:
            await serve(request, connection)
            if not request.keeps_alive:
                return
    except BadHttp as error:
        with anyio.move_on_after(LAST_WORDS_SECONDS):
            body = f"{error}\n".encode()
            await _last_words(connection, error.status, body)
    except PeerGone:
        return


async def _last_words(connection: HttpConnection, status: int, body: bytes) -> None:
    try:
        await connection.respond(status, {"content-type": "text/plain; charset=utf-8"}, body, close=True)
    except PeerGone:
        return


async def _next(connection: HttpConnection) -> Request | None:
    with anyio.move_on_after(REQUEST_SECONDS):
        return await connection.next_request()
    return None
