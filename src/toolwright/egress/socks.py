"""The SOCKS5 side of the proxy (RFC 1928, and 1929 where a token is wanted): CONNECT only, names resolved by us."""

from __future__ import annotations

import hmac
from ipaddress import ip_address

import anyio

from toolwright.egress.dialer import Dialer
from toolwright.egress.errors import BadRequest, EgressRefused
from toolwright.egress.hosts import clean_host
from toolwright.egress.limits import ProxyLimits
from toolwright.egress.streams import Relay, Stream, StreamEnded
from toolwright.egress.traffic import Traffic

VERSION = 5
_OPEN, _PASSWORD, _NO_METHOD = 0, 2, 0xFF
_CONNECT = 1
_IPV4, _NAME, _IPV6 = 1, 3, 4
_SUCCEEDED, _COMMAND_NOT_SUPPORTED, _KIND_NOT_SUPPORTED = 0, 7, 8


class SocksProxy:
    """Serves one client connection that began with the byte 5."""

    __slots__ = ("_dialer", "_limits", "_token", "_traffic")

    def __init__(self, dialer: Dialer, traffic: Traffic, *, limits: ProxyLimits, token: str | None) -> None:
        self._dialer = dialer
        self._traffic = traffic
        self._limits = limits
        self._token = None if token is None else token.encode()

    async def serve(self, client: Stream) -> None:
        try:
            with anyio.fail_after(self._limits.head_seconds):
                target = await self._greet(client) and await self._read_target(client)
            if not target:
                return
            host = await self._dialer.dial(*target)
        except StreamEnded:
            return
        except EgressRefused as error:
            await client.send(_reply(error.socks_reply))
            return
        try:
            await client.send(_reply(_SUCCEEDED))
            relay = Relay(self._limits.idle_seconds)
            await relay.run(client, host, sent=self._traffic.count_sent, received=self._traffic.count_received)
        finally:
            host.close()

    async def _greet(self, client: Stream) -> bool:
        """Agree on how to sign in, and do it."""
        _, count = await client.exactly(2)
        methods = await client.exactly(count)
        wanted = _OPEN if self._token is None else _PASSWORD
        if wanted not in methods:
            await client.send(bytes((VERSION, _NO_METHOD)))
            return False
        await client.send(bytes((VERSION, wanted)))
        return self._token is None or await self._signs_in(client, self._token)

    async def _signs_in(self, client: Stream, token: bytes) -> bool:
        _, length = await client.exactly(2)
        await client.exactly(length)
        (length,) = await client.exactly(1)
        right = hmac.compare_digest(await client.exactly(length), token)
        await client.send(bytes((1, 0 if right else 1)))
        return right

    async def _read_target(self, client: Stream) -> tuple[str, int] | None:
        version, command, _, kind = await client.exactly(4)
        if version != VERSION or command != _CONNECT:
            await self._refuse(client, _COMMAND_NOT_SUPPORTED, f"SOCKS command {command} (only CONNECT is served)")
            return None
        if kind not in (_IPV4, _NAME, _IPV6):
            await self._refuse(client, _KIND_NOT_SUPPORTED, f"SOCKS address kind {kind}")
            return None
        name = await _read_name(client, kind)
        port = int.from_bytes(await client.exactly(2))
        try:
            if port == 0:
                raise BadRequest("the port is 0")
            return clean_host(name), port
        except EgressRefused as error:
            self._traffic.note_refusal(ascii(name), str(error))
            raise

    async def _refuse(self, client: Stream, code: int, what: str) -> None:
        self._traffic.note_refusal(what, "the proxy does not serve it")
        await client.send(_reply(code))


async def _read_name(client: Stream, kind: int) -> str:
    if kind != _NAME:
        return str(ip_address(await client.exactly(4 if kind == _IPV4 else 16)))
    (length,) = await client.exactly(1)
    return (await client.exactly(length)).decode("latin-1")  # what is not ASCII is refused as a host, not as an encoding


def _reply(code: int) -> bytes:
    return bytes((VERSION, code, 0, _IPV4)) + bytes(6)
