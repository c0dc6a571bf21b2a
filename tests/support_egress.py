"""A server that counts who reaches it, a running proxy, and raw conversations with it."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio

from toolwright.egress.addresses import Lookup, look_up
from toolwright.egress.domains import Ask, DomainGate, DomainPolicy
from toolwright.egress.limits import ProxyLimits
from toolwright.egress.proxy import EgressProxy, OwnProxies

TIMEOUT = 30.0

# The host spellings of loopback and of metadata services that have fooled filters.
LOOPBACK = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "0x7f.0.0.1",
    "0",
    "0.0.0.0",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::127.0.0.1]",
    "localhost",
    "localhost.",
    "LOCALHOST",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1",
    "[::ffff:7f00:1]",
    "127.0.0.1.",
    "0x7f.1",
    "017700000001",
    "[0:0:0:0:0:0:0:1]",
]
METADATA = [
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "169.254.43518",
    "[::ffff:169.254.169.254]",
    "[64:ff9b::a9fe:a9fe]",
    "[2002:a9fe:a9fe::1]",
    "[fd00:ec2::254]",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "[fe80::a9fe:a9fe]",
    "[fe80::1%25eth0]",
    "[fe80::1%eth0]",
]
TRICKS = [
    "evil.test\0.allowed.test",
    "allowed.test\0.evil.test",
    "127.0.0.1\0.allowed.test",
    "evil.test%00.allowed.test",
    "evil.test\t.allowed.test",
    "evil.test\r\n.allowed.test",
    "evil.test\\@allowed.test",
    "allowed.test@evil.test",
    "evil.test#@allowed.test",
    "evil.test?@allowed.test",
    "allowed%2etest",
    "allowed.test.evil.test",
    "notallowed.test",
    "allowed.test..",
    ".allowed.test",
    "allowed.test/",
    "[allowed.test]",
    "allowed.test:80:80",
    "",
]


@dataclass
class Reached:
    """What reached the server."""

    port: int
    connections: int = 0
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    """Method, path, headers by lower-case name, body."""


@contextmanager
def counting_server(
    answer: Callable[[str], tuple[int, dict[str, str], bytes]] | None = None, *, address: tuple[str, int] = ("127.0.0.1", 0)
) -> Iterator[Reached]:
    """An HTTP server on this machine that keeps what reaches it and says "hello from <path>", or what `answer` gives."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            reached.connections += 1
            super().setup()

        def serve_one(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self._chunks() if "transfer-encoding" in headers else self.rfile.read(int(headers.get("content-length", 0)))
            reached.requests.append((self.command, self.path, headers, body))
            status, extra, text = answer(self.path) if answer else (200, {}, f"hello from {self.path}".encode())
            self.send_response(status)
            for name, value in {**extra, "Content-Length": str(len(text))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(text)

        do_GET = do_POST = do_PUT = do_HEAD = serve_one

        def _chunks(self) -> bytes:
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(address, Handler) as server:
        server.daemon_threads = True
        reached = Reached(server.server_port)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield reached
        finally:
            server.shutdown()
            thread.join()


def names(table: Mapping[str, Sequence[str]], asked: list[str] | None = None) -> Lookup:
    """A resolver that knows only these names."""

    async def lookup(host: str, port: int) -> Sequence[str]:
        if asked is not None:
            asked.append(host)
        if host not in table:
            raise OSError(-2, "Name or service not known")
        return table[host]

    return lookup


@dataclass
class Running:
    proxy: EgressProxy
    port: int
    listener: socket.socket

    async def talk(self, *pieces: bytes) -> bytes:
        """Send the pieces, then take everything until the proxy closes."""
        with anyio.fail_after(TIMEOUT):
            async with await anyio.connect_tcp("127.0.0.1", self.port) as stream:
                try:
                    for piece in pieces:
                        await stream.send(piece)
                except anyio.BrokenResourceError:
                    pass  # refused before all was said
                return await everything(stream)

    async def socks(self, address: bytes, port: int, then: bytes = b"") -> tuple[int, bytes]:
        """The reply code to a SOCKS5 CONNECT, and all that came after it."""
        with anyio.fail_after(TIMEOUT):
            async with await anyio.connect_tcp("127.0.0.1", self.port) as stream:
                await stream.send(b"\x05\x01\x00" + b"\x05\x01\x00" + address + port.to_bytes(2) + then)
                answer = await everything(stream)
        assert answer[:2] == b"\x05\x00"
        return answer[3], answer[12:]


async def everything(stream: anyio.abc.ByteReceiveStream) -> bytes:
    received = b""
    try:
        while True:
            received += await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return received


def socks_name(host: str) -> bytes:
    raw = host.encode("utf-8")
    return bytes((3, len(raw))) + raw


async def always(host: str, port: int) -> bool:
    return True


@asynccontextmanager
async def running_proxy(
    allowed: Sequence[str] = ("allowed.test",),
    denied: Sequence[str] = (),
    *,
    ask: Ask | None = None,
    lookup: Lookup = look_up,
    private_services: Collection[tuple[str, int]] = (),
    limits: ProxyLimits = ProxyLimits(),  # noqa: B008 — frozen
    token: str | None = None,
    own: OwnProxies = OwnProxies(),  # noqa: B008 — frozen
    strict: bool = False,
) -> AsyncIterator[Running]:
    gate = DomainGate(DomainPolicy.parse(allowed, denied, strict=strict), ask=ask)
    proxy = EgressProxy(gate, limits=limits, token=token, own=own, lookup=lookup, private_services=private_services)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    proxy.serve(listener)
    try:
        yield Running(proxy, port, listener)
    finally:
        await proxy.close()
