"""The HTTP side of the proxy: CONNECT tunnels, and plain requests with one decision each.

A connection carries one plain request. Its answer says `Connection: close`, so the next request, to whatever host, comes as a
new connection and is decided anew; bytes after the first request's body are never sent anywhere.
"""

from __future__ import annotations

import base64
import hmac
import re

import anyio

from toolwright.egress.dialer import Dialer
from toolwright.egress.errors import BLOCKED, BadHost, BadRequest, EgressRefused
from toolwright.egress.http_head import CHUNKED, ProxyRequest, find, parse_request, parse_response
from toolwright.egress.limits import ProxyLimits
from toolwright.egress.streams import Relay, Stream, StreamEnded
from toolwright.egress.traffic import Traffic

USER = "toolwright"
_PIECE = 1 << 16
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n")
_MAX_CHUNK_LINE = 4096


class HttpProxy:
    """Serves one client connection that began with a letter."""

    __slots__ = ("_dialer", "_limits", "_token", "_traffic")

    def __init__(self, dialer: Dialer, traffic: Traffic, *, limits: ProxyLimits, token: str | None) -> None:
        self._dialer = dialer
        self._traffic = traffic
        self._limits = limits
        self._token = token

    async def serve(self, client: Stream) -> None:
        try:
            request = await self._read_request(client)
            if not self._knows_token(request):
                await client.send(_answer(407, f"{BLOCKED}: the proxy wants its token."))
                return
            host = await self._dialer.dial(request.host, request.port)
        except EgressRefused as error:
            await client.send(_answer(error.http_status, str(error)))
            return
        try:
            await self._pass_on(request, client, host)
        finally:
            host.close()

    async def _read_request(self, client: Stream) -> ProxyRequest:
        try:
            return parse_request(await self._read_head(client))
        except (BadHost, BadRequest) as error:
            self._traffic.note_refusal("an HTTP request", str(error))
            raise

    async def _read_head(self, client: Stream) -> bytes:
        try:
            with anyio.fail_after(self._limits.head_seconds):
                return await client.until(b"\r\n\r\n", self._limits.head_bytes)
        except StreamEnded as error:
            raise BadRequest(f"its head is incomplete: {error}") from None
        except TimeoutError:
            raise BadRequest(f"its head took more than {self._limits.head_seconds:.0f} seconds") from None

    async def _pass_on(self, request: ProxyRequest, client: Stream, host: Stream) -> None:
        if not request.is_tunnel:
            await self._exchange(request, client, host)
            return
        await client.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        relay = Relay(self._limits.idle_seconds)
        await relay.run(client, host, sent=self._traffic.count_sent, received=self._traffic.count_received)

    async def _exchange(self, request: ProxyRequest, client: Stream, host: Stream) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._send_request, request, client, host)
            try:
                await self._bring_response(request, client, host)
            except OSError:
                pass  # one side is gone: nothing is left to say
            group.cancel_scope.cancel()  # an answer is an end, even if the server did not want the whole body

    async def _send_request(self, request: ProxyRequest, client: Stream, host: Stream) -> None:
        try:
            await self._send_on(host, request.onward_head())
            if request.body == CHUNKED:
                await self._send_chunks(client, host)
            else:
                await self._send_bytes(client, host, request.body)
        except (OSError, StreamEnded, BadRequest):
            host.finish()  # it sees a request that ends early; what it answers goes to the client

    async def _send_bytes(self, client: Stream, host: Stream, count: int) -> None:
        while count:
            piece = await self._next(client, min(count, _PIECE))
            if not piece:
                raise StreamEnded("the body ended early")
            await self._send_on(host, piece)
            count -= len(piece)

    async def _send_chunks(self, client: Stream, host: Stream) -> None:
        """Each chunk is read and written anew, so that the host sees the same end of the body as we do."""
        while size := await self._chunk_size(client):
            await self._send_on(host, b"%x\r\n" % size)
            await self._send_bytes(client, host, size)
            if await client.exactly(2) != b"\r\n":
                raise BadRequest("a chunk is longer than it says")
            await self._send_on(host, b"\r\n")
        while await client.until(b"\r\n", _MAX_CHUNK_LINE) != b"\r\n":
            pass  # trailers are for the next hop only
        await self._send_on(host, b"0\r\n\r\n")

    async def _chunk_size(self, client: Stream) -> int:
        with anyio.fail_after(self._limits.idle_seconds):
            line = _CHUNK_SIZE.fullmatch(await client.until(b"\r\n", _MAX_CHUNK_LINE))
        if line is None:
            raise BadRequest("a chunk has no size")
        return int(line[1], 16)

    async def _bring_response(self, request: ProxyRequest, client: Stream, host: Stream) -> None:
        try:
            length = await self._bring_heads(request, client, host)
        except (BadRequest, StreamEnded, TimeoutError) as error:
            await client.send(_answer(502, f"The server's answer through the toolwright sandbox is unusable: {error}"))
            return
        while length is None or length > 0:
            piece = await self._next(host, _PIECE if length is None else min(length, _PIECE))
            if not piece:
                return
            self._traffic.count_received(len(piece))
            await client.send(piece)
            length = None if length is None else length - len(piece)

    async def _bring_heads(self, request: ProxyRequest, client: Stream, host: Stream) -> int | None:
        while True:
            with anyio.fail_after(self._limits.idle_seconds):
                response = parse_response(await host.until(b"\r\n\r\n", self._limits.head_bytes))
            length = response.body_length(request.method)
            await client.send(response.onward_head())
            if not response.is_interim:
                return length

    async def _next(self, source: Stream, most: int) -> bytes:
        with anyio.fail_after(self._limits.idle_seconds):
            return await source.receive(most)

    async def _send_on(self, host: Stream, data: bytes) -> None:
        await host.send(data)
        self._traffic.count_sent(len(data))

    def _knows_token(self, request: ProxyRequest) -> bool:
        if self._token is None:
            return True
        wanted = b"Basic " + base64.b64encode(f"{USER}:{self._token}".encode())
        return hmac.compare_digest(find(request.headers, b"proxy-authorization") or b"", wanted)


def _answer(status: int, text: str) -> bytes:
    """A whole response. The reason stands in the status line too: of a refused tunnel most clients show nothing else."""
    body = f"{text}\n".encode("ascii", "backslashreplace")
    phrase = "Proxy Authentication Required" if status == 407 else text
    head = [f"HTTP/1.1 {status} {phrase}", "Content-Type: text/plain; charset=utf-8", f"Content-Length: {len(body)}"]
    if status == 407:
        head.append('Proxy-Authenticate: Basic realm="toolwright"')
    head += ["X-Proxy-Error: blocked-by-sandbox", "Connection: close", "", ""]
    return "\r\n".join(head).encode("ascii", "backslashreplace") + body
