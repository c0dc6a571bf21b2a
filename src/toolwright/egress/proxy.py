"""The egress proxy of one session: accepts connections of sandboxed commands and serves each as HTTP or SOCKS5.

The first byte tells which. It is handed its listening sockets; where they listen (a private network namespace, or the
loopback address with a token) is not its business. An idle one has one task per listener.
"""

from __future__ import annotations

import socket
from collections.abc import Collection

import anyio
from msgspec import Struct

from toolwright.base.concurrency import OwnedTask, spawn
from toolwright.egress.addresses import Lookup, look_up
from toolwright.egress.dialer import Dialer
from toolwright.egress.domains import DomainGate
from toolwright.egress.http_proxy import HttpProxy
from toolwright.egress.limits import ProxyLimits
from toolwright.egress.socks import VERSION as SOCKS_VERSION
from toolwright.egress.socks import SocksProxy
from toolwright.egress.streams import Relay, Stream, dial
from toolwright.egress.traffic import Traffic

_PAUSE_WITHOUT_DESCRIPTORS = 0.1


class OwnProxies(Struct, frozen=True):
    """Ports of this machine where the user runs proxies that decide in place of ours (`httpProxyPort`, `socksProxyPort`)."""

    http: int | None = None
    socks: int | None = None


class EgressProxy:
    """Serves on the listeners it is given until it is closed. Everything it opens is closed with it."""

    def __init__(
        self,
        gate: DomainGate,
        *,
        limits: ProxyLimits = ProxyLimits(),  # noqa: B008 — frozen
        token: str | None = None,
        own: OwnProxies = OwnProxies(),  # noqa: B008 — frozen
        lookup: Lookup = look_up,
        private_services: Collection[tuple[str, int]] = (),
    ) -> None:
        self.traffic = Traffic()
        dialer = Dialer(
            gate, self.traffic, connect_seconds=limits.connect_seconds, lookup=lookup, private_services=private_services
        )
        self._http = HttpProxy(dialer, self.traffic, limits=limits, token=token)
        self._socks = SocksProxy(dialer, self.traffic, limits=limits, token=token)
        self._own = own
        self._limits = limits
        self._tasks: list[OwnedTask] = []

    def serve(self, listener: socket.socket) -> None:
        """Accept connections on a listening TCP socket, which is ours from now on."""
        listener.setblocking(False)

        async def work() -> None:
            with listener:
                await self._accept(listener)

        self._tasks.append(spawn(work, name="egress proxy"))

    async def close(self) -> None:
        """End every connection and stop listening."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        with anyio.CancelScope(shield=True):
            for task in tasks:
                await task.wait()

    async def _accept(self, listener: socket.socket) -> None:
        free = anyio.Semaphore(self._limits.connections)
        async with anyio.create_task_group() as group:
            while True:
                await free.acquire()
                connected = await _next_connection(listener)
                self.traffic.connections += 1
                group.start_soon(self._serve_and_free, Stream(connected), free)

    async def _serve_and_free(self, client: Stream, free: anyio.Semaphore) -> None:
        try:
            await self._serve(client)
            await client.part()
        except Exception as error:  # noqa: BLE001 — one connection: whatever it does to us, the others go on
            if not isinstance(error, OSError):
                self.traffic.note_refusal("a connection", f"the proxy failed: {type(error).__name__}: {error}")
        finally:
            client.close()
            free.release()

    async def _serve(self, client: Stream) -> None:
        first = None
        with anyio.move_on_after(self._limits.head_seconds):
            first = await client.peek()
        if first is None:
            return
        is_socks = first == SOCKS_VERSION
        own = self._own.socks if is_socks else self._own.http
        if own is not None:
            await self._hand_over(client, own)
        else:
            await (self._socks if is_socks else self._http).serve(client)

    async def _hand_over(self, client: Stream, port: int) -> None:
        """Carry the bytes to the user's own proxy, unread: it decides."""
        try:
            host = await dial(["127.0.0.1"], port, self._limits.connect_seconds)
        except OSError as error:
            self.traffic.note_refusal(f"your own proxy at 127.0.0.1:{port}", error.strerror or str(error))
            return
        try:
            relay = Relay(self._limits.idle_seconds)
            await relay.run(client, host, sent=self.traffic.count_sent, received=self.traffic.count_received)
        finally:
            host.close()


async def _next_connection(listener: socket.socket) -> socket.socket:
    while True:
        try:
            connected, _ = listener.accept()
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connected
        except BlockingIOError:
            await anyio.wait_readable(listener)
        except OSError:  # no descriptor left, or the client is gone already: the next one may have more luck
            await anyio.sleep(_PAUSE_WITHOUT_DESCRIPTORS)
