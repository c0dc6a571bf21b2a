"""HTTP/1.1 as far as our server needs it: requests read strictly and within bounds, answers and event streams written.

One connection at a time, over any byte stream. Whatever two readers could take for two things is refused. Knows no MCP.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import anyio
from anyio.abc import ByteStream
from msgspec import Struct, field

MAX_HEAD_SIZE = 32 * 1024
MAX_BODY_SIZE = 32 * 1024 * 1024
STALL_SECONDS = 60.0
"""How long the other side may take no byte of an answer."""
_PIECE = 64 * 1024
_MAX_HEADERS = 100
_MAX_READ_AHEAD = 64 * 1024
_REQUEST_LINE = re.compile(rb"([A-Z]{1,16}) (/[\x21-\x7e]*) HTTP/1\.([01])")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})(?:[ \t]*;[\x20-\x7e]*)?")
_REPEATABLE = frozenset({"accept", "accept-encoding", "accept-language", "cookie", "via", "x-forwarded-for", "connection"})
_REASONS = {
    200: "OK",
    202: "Accepted",
    204: "No Content",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    408: "Request Timeout",
    411: "Length Required",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    421: "Misdirected Request",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class BadHttp(Exception):
    """A request that cannot be read: it gets this status, and the connection ends."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class PeerGone(Exception):
    """Nobody reads our answer any more."""


class Head(Struct, frozen=True):
    """A request of which the body is still to come."""

    method: str
    path: str
    headers: Mapping[str, str]
    keeps_alive: bool
    query: str


class Request(Struct, frozen=True):
    """One request. Header names are in lower case; each stands at most once, apart from lists, which are joined."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    keeps_alive: bool = True
    query: str = ""


Room = Callable[[Mapping[str, str]], int]
"""The headers of a request → how large its body may be: strangers get less."""


def full_room(headers: Mapping[str, str]) -> int:
    return MAX_BODY_SIZE


class HttpConnection:
    """The requests on one connection, one after the other."""

    def __init__(self, stream: ByteStream, room: Room = full_room) -> None:
        self._stream = stream
        self._room = room
        self._buffer = bytearray()
        self._ended = False
        self.closing = False
        """Whether the other side was told that this was the last answer."""

    # reading

    async def next_request(self) -> Request | None:
        """The next request; None at the end. Raises `BadHttp`."""
        head = await self.read_head()
        return None if head is None else await self.read_body(head)

    async def begin(self) -> None:
        """Wait for the first bytes of a request, or the end."""
        if not self._buffer:
            await self._more()

    async def read_body(self, head: Head) -> Request:
        """The request with this head. Raises `BadHttp`."""
        return Request(head.method, head.path, head.headers, await self._body(head.headers), head.keeps_alive, head.query)

    async def read_head(self) -> Head | None:
        """The head of the next request; None at the end. Raises `BadHttp`."""
        text = await self._head()
        if text is None:
            return None
        first, *lines = text.split(b"\r\n")
        line = _REQUEST_LINE.fullmatch(first)
        if line is None:
            raise BadHttp(400, "the first line is not METHOD /PATH HTTP/1.1")
        headers = _headers(lines)
        if "host" not in headers and line[3] == b"1":
            raise BadHttp(400, "the Host header is missing")
        keeps_alive = line[3] == b"1" and "close" not in headers.get("connection", "").lower()
        path, _, query = line[2].decode("ascii").partition("?")
        return Head(line[1].decode("ascii"), path, headers, keeps_alive, query)

    async def _head(self) -> bytes | None:
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > MAX_HEAD_SIZE:
                raise BadHttp(431, f"the head is longer than {MAX_HEAD_SIZE} bytes")
            if not await self._more():
                if self._buffer.strip():
                    raise BadHttp(400, "the request ended in its head")
                return None
        if end > MAX_HEAD_SIZE:
            raise BadHttp(431, f"the head is longer than {MAX_HEAD_SIZE} bytes")
        return self._take(end + 4)[:-4].lstrip(b"\r\n")

    async def _body(self, headers: Mapping[str, str]) -> bytes:
        encoding, length = headers.get("transfer-encoding"), headers.get("content-length")
        if encoding is None and length is None:
            return b""
        if encoding is not None and (length is not None or encoding.lower() != "chunked"):
            raise BadHttp(400, "Transfer-Encoding is not simply chunked, or comes with a Content-Length")
        if length is not None and not re.fullmatch(r"[0-9]{1,12}", length):
            raise BadHttp(400, "Content-Length is not a number")
        most = self._room(headers)
        if length is not None and int(length) > most:
            raise BadHttp(413, f"the body is longer than {most:,} bytes")
        if headers.get("expect", "").lower() == "100-continue":
            await self._send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return await self._exactly(int(length)) if length is not None else await self._chunked(most)

    async def _chunked(self, most: int) -> bytes:
        pieces: list[bytes] = []
        size = 0
        while True:
            match = _CHUNK_SIZE.fullmatch(await self._line())
            if match is None:
                raise BadHttp(400, "a chunk has no size")
            length = int(match[1], 16)
            size += length
            if size > most:
                raise BadHttp(413, f"the body is longer than {most:,} bytes")
            if length == 0:
                if await self._line():
                    raise BadHttp(400, "trailers are not taken")
                return b"".join(pieces)
            pieces.append(await self._exactly(length))
            if await self._line():
                raise BadHttp(400, "a chunk is longer than it says")

    async def _line(self) -> bytes:
        while (end := self._buffer.find(b"\r\n")) < 0:
            if len(self._buffer) > 1024 or not await self._more():
                raise BadHttp(400, "a line of the body does not end")
        return self._take(end + 2)[:-2]

    async def _exactly(self, length: int) -> bytes:
        while len(self._buffer) < length:
            if not await self._more():
                raise BadHttp(400, "the request ended in its body")
        return self._take(length)

    def _take(self, length: int) -> bytes:
        taken = bytes(self._buffer[:length])
        del self._buffer[:length]
        return taken

    async def _more(self) -> bool:
        if self._ended:
            return False
        try:
            self._buffer += await self._stream.receive(65536)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._ended = True
            return False
        return True

    async def peer_leaves(self) -> None:
        """Returns when the other side has closed the connection; what it sends meanwhile is kept, within bounds."""
        while len(self._buffer) < _MAX_READ_AHEAD:
            if not await self._more():
                return
        await anyio.sleep_forever()

    # writing

    async def respond(self, status: int, headers: Mapping[str, str], body: bytes = b"", *, close: bool = False) -> None:
        self.closing = self.closing or close
        own = {**headers, "content-length": str(len(body)), "connection": "close" if close else "keep-alive"}
        await self._send(_head(status, own) + body)

    async def begin_stream(self, headers: Mapping[str, str]) -> None:
        await self._send(_head(200, {**headers, "transfer-encoding": "chunked", "connection": "keep-alive"}))

    async def stream(self, data: bytes) -> None:
        if data:
            await self._send(b"%x\r\n%b\r\n" % (len(data), data))

    async def end_stream(self) -> None:
        await self._send(b"0\r\n\r\n")

    async def _send(self, data: bytes) -> None:
        """In pieces, each within its time: a reader may be slow, but not stand still."""
        for start in range(0, len(data), _PIECE):
            try:
                with anyio.fail_after(STALL_SECONDS):
                    await self._stream.send(data[start : start + _PIECE])
            except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError, TimeoutError):
                raise PeerGone from None


def _headers(lines: list[bytes]) -> dict[str, str]:
    if len(lines) > _MAX_HEADERS:
        raise BadHttp(431, f"there are more than {_MAX_HEADERS} headers")
    headers: dict[str, str] = {}
    for line in lines:
        match = _HEADER.fullmatch(line)
        if match is None:
            raise BadHttp(400, "a header is malformed")
        name, value = match[1].decode("ascii").lower(), match[2].decode("latin-1").strip()
        if name in headers and name not in _REPEATABLE:
            raise BadHttp(400, f"the header {name} is there twice")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
