"""Any bytes, cut in any way: never a crash, never a hang, never a host that was not allowed, always the same verdict."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_egress import LOOPBACK, METADATA, TIMEOUT, TRICKS
from toolwright.egress.domains import DomainGate, DomainPolicy
from toolwright.egress.errors import EgressRefused
from toolwright.egress.hosts import clean_host
from toolwright.egress.http_head import parse_request, parse_response
from toolwright.egress.proxy import EgressProxy

HOSTS = st.sampled_from(["allowed.test", "ALLOWED.test.", "sub.allowed.test", "evil.test", *LOOPBACK, *METADATA, *TRICKS])
HEADERS = st.sampled_from(
    [
        "Host: allowed.test",
        "Host: evil.test",
        "Content-Length: 5",
        "Content-Length: x",
        "Transfer-Encoding: chunked",
        "A: b\nC: d",
        "Connection: close, host",
        " folded",
        "Proxy-Authorization: Basic x",
        "Expect: 100-continue",
        "X" * 300,
        "",
    ]
)


@st.composite
def http_heads(draw: st.DrawFn) -> bytes:
    host, port = draw(HOSTS), draw(st.sampled_from(["", ":80", ":443", ":0", ":99999", ":"]))
    target = draw(
        st.sampled_from(
            [f"http://{host}{port}/", f"{host}{port}", f"HTTP://u@{host}{port}", f"//{host}", f"http://{host}?@allowed.test"]
        )
    )
    method = draw(st.sampled_from(["GET", "CONNECT", "POST", "get", "G ET"]))
    lines = [f"{method} {target} HTTP/1.1", *draw(st.lists(HEADERS, max_size=3))]
    end = draw(st.sampled_from(["\r\n\r\n", "\n\n", "\r\n", "\r\n\r\n5\r\nhello\r\n0\r\n\r\n"]))
    return ("\r\n".join(lines) + end).encode()


@st.composite
def socks_requests(draw: st.DrawFn) -> bytes:
    greeting = draw(st.sampled_from([b"\x05\x01\x00", b"\x05\x02\x02\x00", b"\x05\x00", b"\x05\x01\x02", b"\x05\xff"]))
    name = draw(HOSTS).strip("[]").encode()
    address = draw(st.sampled_from([b"\x03" + bytes((len(name),)) + name, b"\x01\x7f\0\0\1", b"\x04" + bytes(16), b"\x09"]))
    return (
        greeting
        + draw(st.sampled_from([b"\x05\x01\0", b"\x05\x02\0", b"\x04\x01\0"]))
        + address
        + b"\x01\xbb"
        + draw(st.binary(max_size=5))
    )


MESSAGES = st.one_of(
    http_heads(), socks_requests(), st.binary(max_size=80), st.binary(max_size=60).map(lambda tail: b"\x05\x01\x00" + tail)
)


@given(st.one_of(http_heads(), st.binary(max_size=200)))
def test_a_parser_gives_a_clean_host_or_a_refusal(raw: bytes) -> None:
    try:
        request = parse_request(raw)
    except EgressRefused:
        return
    assert clean_host(request.host) == request.host
    assert 0 < request.port < 65536
    if not request.is_tunnel:
        again = parse_head_again(request.onward_head(), request.host, request.port)
        assert again == (request.host, request.port, request.body)


def parse_head_again(head: bytes, host: str, port: int) -> tuple[str, int, int]:
    """What the next reader of the head that we send takes it for."""
    method, path, rest = head.split(b" ", 2)
    name = f"[{host}]" if ":" in host else host
    request = parse_request(b"%b http://%b:%d%b %b" % (method, name.encode(), port, path, rest))
    return request.host, request.port, request.body


@given(st.one_of(st.binary(max_size=200), st.binary(max_size=100).map(lambda tail: b"HTTP/1.1 200 OK\r\n" + tail)))
def test_any_answer_is_read_or_refused(raw: bytes) -> None:
    try:
        response = parse_response(raw)
        response.body_length(b"GET")
        response.onward_head()
    except EgressRefused:
        pass


@dataclass
class Verdict:
    """What became of a message."""

    answer: bytes = b""
    looked_up: list[str] = field(default_factory=list)
    refused: int = 0
    dialled: int = 0


async def _judge(pieces: Sequence[bytes]) -> Verdict:
    verdict = Verdict()

    async def lookup(host: str, port: int) -> Sequence[str]:
        verdict.looked_up.append(host)
        raise OSError(-2, "Name or service not known")

    proxy = EgressProxy(DomainGate(DomainPolicy.parse(["allowed.test", "*.allowed.test"])), lookup=lookup)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    proxy.serve(listener)
    with anyio.fail_after(TIMEOUT):
        async with await anyio.connect_tcp("127.0.0.1", port) as client:
            await _converse(client, pieces, verdict)
    await proxy.close()
    verdict.refused, verdict.dialled = proxy.traffic.refused, proxy.traffic.dialled
    return verdict


async def _converse(client: anyio.abc.SocketStream, pieces: Sequence[bytes], verdict: Verdict) -> None:
    try:
        for piece in pieces:
            await client.send(piece)
            await anyio.lowlevel.checkpoint()
        await client.send_eof()
        while True:
            verdict.answer += await client.receive()
    except (anyio.BrokenResourceError, anyio.EndOfStream):
        pass


def _cut(message: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted({place % (len(message) + 1) for place in places}), len(message)]
    return [message[start:end] for start, end in pairwise(edges) if start < end]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@settings(max_examples=150)
@given(message=MESSAGES, places=st.lists(st.integers(0, 400), max_size=8))
def test_every_cut_of_the_same_bytes_has_the_same_verdict_and_only_allowed_names_are_looked_up(
    backend: str, message: bytes, places: list[int]
) -> None:
    async def both() -> tuple[Verdict, Verdict]:
        return await _judge([message]), await _judge(_cut(message, places))

    whole, cut = anyio.run(both, backend=backend)
    assert whole == cut
    assert set(whole.looked_up) <= {"allowed.test", "sub.allowed.test"}
    assert whole.dialled == 0
    assert b" 200 " not in whole.answer[:20]
