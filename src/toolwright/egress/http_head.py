"""Read the head of an HTTP message, strictly: whatever two readers could take for two things is refused.

Pure functions over bytes; no socket, no rules.
"""

from __future__ import annotations

import re

from msgspec import Struct

from toolwright.egress.errors import BadHost, BadRequest
from toolwright.egress.hosts import join_authority, split_authority

Header = tuple[bytes, bytes]

CHUNKED = -1
"""The length of a body that says itself where it ends."""

_REQUEST_LINE = re.compile(rb"([A-Z][A-Z-]{0,31}) ([\x21-\x7e]+) (HTTP/1\.[01])")
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)")
_ABSOLUTE = re.compile(r"(?i:http)://([^/?#\\]*)([^#\\]*)")
_LENGTH = re.compile(rb"[0-9]{1,18}")
_MAX_HEADERS = 200
_HOP_BY_HOP = frozenset(
    b"connection keep-alive proxy-connection proxy-authorization proxy-authenticate".split()
    + b"te trailer transfer-encoding upgrade".split()
)


class ProxyRequest(Struct, frozen=True):
    """A request to a proxy: what it wants to reach, and for a plain one what to send there."""

    method: bytes
    host: str
    port: int
    path: bytes = b""
    version: bytes = b"HTTP/1.1"
    headers: tuple[Header, ...] = ()
    """As they came, all of them."""
    body: int = 0
    """Its length, or `CHUNKED`."""

    @property
    def is_tunnel(self) -> bool:
        return self.method == b"CONNECT"

    def onward_head(self) -> bytes:
        """The head to send to the host itself: its own name as `Host`, our framing, one request per connection."""
        lines = [b"%b %b %b" % (self.method, self.path, self.version)]
        lines.append(b"Host: " + join_authority(self.host, self.port, 80).encode("ascii"))
        lines += end_to_end(self.headers, without=frozenset((b"host", b"content-length")))
        if self.body == CHUNKED:
            lines.append(b"Transfer-Encoding: chunked")
        elif self.body or find(self.headers, b"content-length") is not None:
            lines.append(b"Content-Length: %d" % self.body)
        return b"\r\n".join([*lines, b"Connection: close", b"", b""])


def parse_request(raw: bytes) -> ProxyRequest:
    """Read a request head that ends with an empty line. Raises `BadRequest` or `BadHost`."""
    first, headers = _split(raw)
    line = _REQUEST_LINE.fullmatch(first)
    if line is None:
        raise BadRequest("its first line is not METHOD TARGET HTTP/1.1")
    method, target, version = line[1], line[2].decode("ascii"), line[3]
    if method == b"CONNECT":
        host, port = split_authority(target)
        return ProxyRequest(method, host, port, version=version, headers=headers)
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None:
        raise BadRequest("only CONNECT host:port and http:// URLs without a fragment are served here")
    host, port = split_authority(absolute[1], 80)
    _check_host_header(headers, host, port)
    path = absolute[2] if absolute[2].startswith("/") else "/" + absolute[2]
    return ProxyRequest(method, host, port, path.encode("ascii"), version, headers, _body_length(headers))


class Response(Struct, frozen=True):
    """The head of a response."""

    status: int
    first: bytes
    headers: tuple[Header, ...]

    @property
    def is_interim(self) -> bool:
        return self.status < 200

    def body_length(self, method: bytes) -> int | None:
        """How many bytes follow; None if only the end of the connection tells."""
        if method == b"HEAD" or self.status in (204, 304):
            return 0
        length = find(self.headers, b"content-length")
        if find(self.headers, b"transfer-encoding") is not None or length is None or not _LENGTH.fullmatch(length):
            return None
        return int(length)

    def onward_head(self) -> bytes:
        lines = [self.first, *end_to_end(self.headers)]
        encoding = find(self.headers, b"transfer-encoding")
        if encoding is not None:
            lines.append(b"Transfer-Encoding: " + encoding)
        if not self.is_interim:
            lines.append(b"Connection: close")
        return b"\r\n".join([*lines, b"", b""])


def parse_response(raw: bytes) -> Response:
    """Read a response head that ends with an empty line. Raises `BadRequest`."""
    first, headers = _split(raw)
    line = _STATUS_LINE.fullmatch(first)
    if line is None:
        raise BadRequest("the server's answer is not HTTP/1")
    return Response(int(line[1]), first, headers)


def find(headers: tuple[Header, ...], name: bytes) -> bytes | None:
    """The value of the only header of this (lower-case) name. Raises `BadRequest` if there are several."""
    values = [value for key, value in headers if key.lower() == name]
    if len(values) > 1:
        raise BadRequest(f"it has several {name.decode('ascii')} headers")
    return values[0] if values else None


def end_to_end(headers: tuple[Header, ...], *, without: frozenset[bytes] = frozenset()) -> list[bytes]:
    """The header lines that are meant for the other end, not for the next hop."""
    named = {name.strip().lower() for key, value in headers if key.lower() == b"connection" for name in value.split(b",")}
    dropped = _HOP_BY_HOP | named | without
    return [b"%b: %b" % header for header in headers if header[0].lower() not in dropped]


def _split(raw: bytes) -> tuple[bytes, tuple[Header, ...]]:
    first, *lines = raw.removesuffix(b"\r\n\r\n").split(b"\r\n")
    if len(lines) > _MAX_HEADERS:
        raise BadRequest(f"it has more than {_MAX_HEADERS} headers")
    headers: list[Header] = []
    for line in lines:
        header = _HEADER.fullmatch(line)
        if header is None:
            raise BadRequest("a header line is malformed (folded, without a name, or with control characters)")
        headers.append((header[1], header[2].rstrip(b" \t")))
    return first, tuple(headers)


def _check_host_header(headers: tuple[Header, ...], host: str, port: int) -> None:
    """The `Host` header may be missing, never different: some server would believe it."""
    value = find(headers, b"host")
    if value is None:
        return
    try:
        named = split_authority(value.decode("ascii"), 80)
    except (BadHost, UnicodeDecodeError):
        named = None
    if named != (host, port):
        raise BadRequest(f"its Host header is not the host of its URL, {join_authority(host, port, 80)}")


def _body_length(headers: tuple[Header, ...]) -> int:
    encoding, length = find(headers, b"transfer-encoding"), find(headers, b"content-length")
    if encoding is None:
        if length is not None and not _LENGTH.fullmatch(length):
            raise BadRequest("its Content-Length is not a number")
        return int(length or 0)
    if length is not None or encoding.lower() != b"chunked":
        raise BadRequest("its Transfer-Encoding is not simply chunked, or comes with a Content-Length")
    return CHUNKED
