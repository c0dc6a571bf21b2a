"""The proxy as commands see it: what gets out, what does not, judged by a server that counts who reaches it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from shutil import which

import anyio
import pytest

from support_egress import (
    LOOPBACK,
    METADATA,
    TIMEOUT,
    TRICKS,
    Reached,
    always,
    counting_server,
    everything,
    names,
    running_proxy,
    socks_name,
)
from toolwright.egress.limits import ProxyLimits
from toolwright.egress.proxy import OwnProxies

pytestmark = pytest.mark.anyio

HERE = names({"allowed.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]})


@pytest.fixture
def server() -> Iterator[Reached]:
    with counting_server() as reached:
        yield reached


def _get(host: str, port: int, path: str = "/") -> bytes:
    return f"GET http://{host}:{port}{path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()


def _connect(host: str, port: int) -> bytes:
    return f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()


# What is allowed works


async def test_a_plain_request_reaches_an_allowed_host(server: Reached) -> None:
    async with running_proxy(lookup=HERE, private_services=[("allowed.test", server.port)]) as running:
        answer = await running.talk(_get("allowed.test", server.port, "/a?b=c"))
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"hello from /a?b=c")
    assert b"Connection: close" in answer
    ((method, path, headers, _),) = server.requests
    assert (method, path, headers["host"], headers["connection"]) == ("GET", "/a?b=c", f"allowed.test:{server.port}", "close")


async def test_a_tunnel_carries_bytes_both_ways(server: Reached) -> None:
    inner = b"GET /inside HTTP/1.0\r\n\r\n"
    async with running_proxy(lookup=HERE, private_services=[("allowed.test", server.port)]) as running:
        answer = await running.talk(_connect("allowed.test", server.port) + inner)
        assert answer.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK")
        assert answer.endswith(b"hello from /inside")
        traffic = running.proxy.traffic
        assert (traffic.connections, traffic.dialled, traffic.refused, traffic.bytes_sent) == (1, 1, 0, len(inner))
        assert traffic.bytes_received > 0


async def test_socks_carries_bytes_both_ways(server: Reached) -> None:
    async with running_proxy(lookup=HERE, private_services=[("allowed.test", server.port)]) as running:
        code, answer = await running.socks(socks_name("Allowed.Test."), server.port, b"GET /socks HTTP/1.0\r\n\r\n")
    assert code == 0
    assert answer.endswith(b"hello from /socks")


async def test_a_body_of_known_length_arrives_whole_and_nothing_after_it(server: Reached) -> None:
    head = f"POST http://allowed.test:{server.port}/p HTTP/1.1\r\nContent-Length: 100000\r\n\r\n".encode()
    async with running_proxy(lookup=HERE, private_services=[("allowed.test", server.port)]) as running:
        answer = await running.talk(head, b"x" * 50_000, b"y" * 50_000 + _get("allowed.test", server.port, "/second"))
    assert answer.count(b"HTTP/1.1 200") == 1
    assert [(path, body) for _, path, _, body in server.requests] == [("/p", b"x" * 50_000 + b"y" * 50_000)]


async def test_a_chunked_body_is_framed_anew(server: Reached) -> None:
    head = f"PUT http://allowed.test:{server.port}/c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    body = b"5;ext=1\r\nhello\r\nB\r\n, big world\r\n0\r\nTrailer: x\r\n\r\n" + _get("allowed.test", server.port, "/second")
    async with running_proxy(lookup=HERE, private_services=[("allowed.test", server.port)]) as running:
        assert b"hello from /c" in await running.talk(head + body)
    assert [(path, body) for _, path, _, body in server.requests] == [("/c", b"hello, big world")]


async def test_hop_by_hop_headers_stay_here(server: Reached) -> None:
    ours = b"Proxy-Authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nUpgrade: h2c\r\n"
    named = b"Connection: X-Secret, close\r\nX-Secret: 1\r\nX-Kept: 2\r\n"
    request = f"GET http://allowed.test:{server.port}/ HTTP/1.1\r\n".encode() + ours + named + b"\r\n"
    async with running_proxy(lookup=HERE, private_services=[("allowed.test", server.port)]) as running:
        await running.talk(request)
    ((_, _, headers, _),) = server.requests
    assert set(headers) == {"host", "x-kept", "connection"}


async def test_a_head_request_ends_with_its_head(server: Reached) -> None:
    request = f"HEAD http://allowed.test:{server.port}/ HTTP/1.1\r\n\r\n".encode()
    async with running_proxy(lookup=HERE, private_services=[("allowed.test", server.port)]) as running:
        answer = await running.talk(request)
    assert answer.endswith(b"\r\n\r\n")


async def test_a_large_download_arrives_whole() -> None:
    size = 8 << 20
    with counting_server(lambda path: (200, {}, b"z" * size)) as server:
        async with running_proxy(lookup=HERE, private_services=[("allowed.test", server.port)]) as running:
            answer = await running.talk(_get("allowed.test", server.port))
            assert len(answer.partition(b"\r\n\r\n")[2]) == size
            assert running.proxy.traffic.bytes_received == size


# What is not allowed does not get out


@pytest.mark.parametrize("spelling", [*LOOPBACK, *METADATA])
async def test_no_spelling_reaches_this_machine_or_a_metadata_service_even_if_the_user_says_yes(
    server: Reached, spelling: str
) -> None:
    async with running_proxy(ask=always) as running:
        for request in (_connect(spelling, server.port), _get(spelling, server.port)):
            answer = await running.talk(request)
            assert answer.split()[1] in (b"400", b"403")
            assert b"Blocked by the toolwright sandbox" in answer.partition(b"\r\n\r\n")[2]
        code, _ = await running.socks(socks_name(spelling.strip("[]")), server.port)
        assert code == 2
        assert running.proxy.traffic.dialled == 0
        assert running.proxy.traffic.refused == 3
    assert server.connections == 0


@pytest.mark.parametrize(
    "address",
    [
        b"\x01\x7f\x00\x00\x01",
        b"\x01\xa9\xfe\xa9\xfe",
        b"\x04" + bytes(15) + b"\x01",
        b"\x04" + bytes(10) + b"\xff\xff\x7f\0\0\1",
    ],
)
async def test_no_socks_address_reaches_this_machine(server: Reached, address: bytes) -> None:
    async with running_proxy(ask=always) as running:
        assert await running.socks(address, server.port) == (2, b"")
    assert server.connections == 0


@pytest.mark.parametrize("host", TRICKS)
async def test_no_trick_with_a_name_reaches_anything(server: Reached, host: str) -> None:
    asked: list[str] = []
    lookup = names({"allowed.test": ["127.0.0.1"], "evil.test": ["127.0.0.1"]}, asked)
    services = [("allowed.test", server.port), ("evil.test", server.port)]
    async with running_proxy(lookup=lookup, private_services=services) as running:
        for request in (_connect(host, server.port), _get(host, server.port)):
            assert b"200" not in (await running.talk(request))[:20]
        code, _ = await running.socks(socks_name(host), server.port)
        assert code != 0
    assert (server.connections, asked) == (0, [])


async def test_an_unknown_host_is_refused_in_words_and_stands_in_the_record(server: Reached) -> None:
    async with running_proxy(lookup=HERE, private_services=[("other.test", server.port)]) as running:
        answer = await running.talk(_get("other.test", server.port))
        assert b"Blocked by the toolwright sandbox: host other.test" in answer.partition(b"\r\n\r\n")[2]
        assert answer.startswith(b"HTTP/1.1 403 Blocked by the toolwright sandbox: host other.test")
        (refusal,) = running.proxy.traffic.refusals_since(0)
        assert refusal.target == f"other.test:{server.port}"
        assert "not among the allowed domains" in refusal.reason
        assert running.proxy.traffic.refusals_since(1) == []
    assert server.connections == 0


async def test_an_empty_allowlist_lets_nothing_out_and_asks_nobody(server: Reached) -> None:
    async with running_proxy([], ask=always, lookup=HERE, private_services=[("allowed.test", server.port)]) as running:
        for request in (_connect("allowed.test", server.port), _get("allowed.test", server.port)):
            assert b"no domain is allowed" in await running.talk(request)
        assert (await running.socks(socks_name("allowed.test"), server.port))[0] == 2
    assert server.connections == 0


async def test_deny_wins(server: Reached) -> None:
    services = [("allowed.test", server.port)]
    async with running_proxy(denied=["allowed.test"], ask=always, lookup=HERE, private_services=services) as running:
        assert b" 403 " in await running.talk(_get("allowed.test", server.port))
    assert server.connections == 0


async def test_a_name_without_an_address_is_refused() -> None:
    async with running_proxy(lookup=names({})) as running:
        for request in (_connect("allowed.test", 443), _get("allowed.test", 80)):
            answer = await running.talk(request)
            assert b" 502 " in answer[:20]
            assert b"could not resolve allowed.test" in answer
        assert (await running.socks(socks_name("allowed.test"), 443))[0] == 4
        assert running.proxy.traffic.dialled == 0


async def test_a_name_that_changes_its_address_is_dialled_where_it_was_checked(server: Reached) -> None:
    """Rebinding: one address at the first lookup, this machine's other one at every later lookup."""
    asked: list[str] = []

    async def lookup(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.2"] if len(asked) == 1 else ["127.0.0.1"]

    with counting_server(address=("127.0.0.2", server.port)) as checked:
        async with running_proxy(lookup=lookup, private_services=[("allowed.test", server.port)]) as running:
            assert b"hello from /" in await running.talk(_get("allowed.test", server.port))
    assert (asked, checked.connections, server.connections) == (["allowed.test"], 1, 0)


async def test_every_request_for_a_name_is_checked_again(server: Reached) -> None:
    asked: list[str] = []

    async def lookup(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"]

    async with running_proxy(lookup=lookup) as running:
        for request in (_get("allowed.test", server.port), _connect("allowed.test", server.port)):
            assert b"it leads to 127.0.0.1, this machine" in await running.talk(request)
    assert (len(asked), server.connections) == (2, 0)


@pytest.mark.parametrize(
    "target", ["http://169.254.169.254/latest", "http://127.0.0.1:{port}/", "//localhost:{port}/", "http://other.test:{port}/"]
)
async def test_a_redirect_of_an_allowed_host_is_a_new_request_and_decided_anew(target: str) -> None:
    with (
        counting_server() as inner,
        counting_server(lambda path: (302, {"Location": target.format(port=inner.port)}, b"")) as outer,
    ):
        services = [("allowed.test", outer.port), ("other.test", inner.port)]
        async with running_proxy(lookup=HERE, private_services=services) as running:
            script = (
                "import urllib.request, sys\n"
                f"proxy = urllib.request.ProxyHandler({{'http': 'http://127.0.0.1:{running.port}'}})\n"
                "try:\n"
                f"    urllib.request.build_opener(proxy).open('http://allowed.test:{outer.port}/')\n"
                "except urllib.error.HTTPError as error:\n"
                "    print(error.code, error.read().decode())\n"
            )
            done = await anyio.run_process([sys.executable, "-I", "-c", script], env={"PATH": os.defpath})
    assert b"403 Blocked by the toolwright sandbox" in done.stdout
    assert (outer.connections, inner.connections) == (1, 0)


@pytest.mark.parametrize(
    "host", ["other.test", "allowed.test:1", "allowed.test@other.test", "", "allowed.test, other.test", "a\tb"]
)
async def test_a_host_header_that_is_not_the_hosts_is_refused(server: Reached, host: str) -> None:
    request = f"GET http://allowed.test:{server.port}/ HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    async with running_proxy(lookup=HERE, private_services=[("allowed.test", server.port)]) as running:
        assert b" 400 Blocked" in await running.talk(request)
    assert server.connections == 0


@pytest.mark.parametrize(
    "request_head",
    [
        "GET / HTTP/1.1\r\nHost: allowed.test",
        "GET https://allowed.test/ HTTP/1.1",
        "GET ftp://allowed.test/ HTTP/1.1",
        "GET file:///etc/passwd HTTP/1.1",
        "GET http://allowed.test/#x HTTP/1.1",
        "GET http://allowed.test\\@evil.test/ HTTP/1.1",
        "GET http://allowed.test/ HTTP/2.0",
        "GET  http://allowed.test/ HTTP/1.1",
        "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nHost: evil.test",
        "GET http://allowed.test/ HTTP/1.1\r\n Host: evil.test",
        "GET http://allowed.test/ HTTP/1.1\r\nA: b\nHost: evil.test",
        "GET http://allowed.test/ HTTP/1.1\r\nA: b\rc",
        "GET http://allowed.test/ HTTP/1.1\r\nA : b",
        "GET http://allowed.test/ HTTP/1.1\r\nA: b\0",
        "POST http://allowed.test/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2",
        "POST http://allowed.test/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked",
        "POST http://allowed.test/ HTTP/1.1\r\nTransfer-Encoding: chunked, identity",
        "POST http://allowed.test/ HTTP/1.1\r\nContent-Length: +1",
        "CONNECT allowed.test HTTP/1.1",
        "CONNECT http://allowed.test:443/ HTTP/1.1",
        "CONNECT allowed.test:443:80 HTTP/1.1",
        "get http://allowed.test/ HTTP/1.1",
    ],
)
async def test_a_request_that_can_be_read_in_two_ways_is_refused(request_head: str) -> None:
    asked: list[str] = []
    async with running_proxy(lookup=names({}, asked)) as running:
        answer = await running.talk(request_head.encode() + b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 Blocked by the toolwright sandbox")
    assert asked == []


async def test_a_second_request_on_a_connection_goes_nowhere(server: Reached) -> None:
    asked: list[str] = []
    lookup = names({"allowed.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]}, asked)
    services = [("allowed.test", server.port), ("other.test", server.port)]
    async with running_proxy(lookup=lookup, private_services=services) as running:
        answer = await running.talk(_get("allowed.test", server.port, "/1") + _get("other.test", server.port, "/2"))
    assert answer.count(b"HTTP/1.1") == 1
    assert (server.connections, [path for _, path, *_ in server.requests], asked) == (1, ["/1"], ["allowed.test"])


@pytest.mark.parametrize(("request_", "code"), [(b"\x05\x02\x00\x01", 7), (b"\x05\x03\x00\x01", 7), (b"\x05\x01\x00\x02", 8)])
async def test_socks_serves_nothing_but_connect(request_: bytes, code: int) -> None:
    async with running_proxy(ask=always) as running:
        answer = await running.talk(b"\x05\x01\x00" + request_ + b"\x01\x01\x01\x01\x00\x50")
        assert answer[:4] == bytes((5, 0, 5, code))
        assert running.proxy.traffic.dialled == 0


@pytest.mark.parametrize(
    "opening", [b"\x04\x01\x00\x50\x01\x01\x01\x01\0", b"\x16\x03\x01\x00\x05hello", b"\0\0\0\0", b"\r\n\r\n"]
)
async def test_what_is_neither_http_nor_socks5_is_refused(opening: bytes) -> None:
    async with running_proxy(ask=always) as running:
        await running.talk(opening + b"\r\n\r\n")
        assert (running.proxy.traffic.dialled, running.proxy.traffic.refused) == (0, 1)


async def test_an_unreachable_host_is_said_to_be_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    async with running_proxy(lookup=HERE, private_services=[("allowed.test", port)]) as running:
        assert b"could not connect to allowed.test port" in await running.talk(_connect("allowed.test", port))
        assert (await running.socks(socks_name("allowed.test"), port))[0] == 5


# Questions


async def test_an_unknown_host_is_reached_after_a_yes_asked_once(server: Reached) -> None:
    questions: list[tuple[str, int]] = []

    async def ask(host: str, port: int) -> bool:
        questions.append((host, port))
        return True

    async with running_proxy(ask=ask, lookup=HERE, private_services=[("other.test", server.port)]) as running:
        for _ in range(3):
            assert b"hello from /" in await running.talk(_get("OTHER.test", server.port))
    assert questions == [("other.test", server.port)]


async def test_a_strict_allowlist_asks_nobody(server: Reached) -> None:
    services = [("other.test", server.port)]
    async with running_proxy(ask=always, strict=True, lookup=HERE, private_services=services) as running:
        assert b" 403 " in await running.talk(_get("other.test", server.port))
    assert server.connections == 0


# Bounds


async def test_a_head_that_does_not_end_is_refused() -> None:
    async with running_proxy(limits=ProxyLimits(head_bytes=1000)) as running:
        assert b"400 Blocked" in await running.talk(b"GET http://allowed.test/ HTTP/1.1\r\nA: " + b"x" * 100_000)
    async with running_proxy(limits=ProxyLimits(head_seconds=0.05)) as running:
        answer = await running.talk(b"GET http://allowed.test/ HTTP/1.1\r\n")
        assert answer == b"" or b"its head took more than" in answer  # nothing, if not even the first byte came in time
        await running.talk(b"\x05\x01")
        await running.talk()


async def test_a_connection_over_the_limit_waits_for_its_turn(server: Reached) -> None:
    services = [("allowed.test", server.port)]
    async with running_proxy(lookup=HERE, private_services=services, limits=ProxyLimits(connections=1)) as running:
        first = await anyio.connect_tcp("127.0.0.1", running.port)
        await first.send(_connect("allowed.test", server.port))
        await first.receive()
        async with anyio.create_task_group() as group:
            group.start_soon(running.talk, _get("allowed.test", server.port, "/later"))
            await anyio.wait_all_tasks_blocked()
            assert running.proxy.traffic.connections == 1
            await first.aclose()
    assert [path for _, path, *_ in server.requests] == ["/later"]


async def test_a_silent_tunnel_is_closed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        services = [("allowed.test", port)]
        async with running_proxy(lookup=HERE, private_services=services, limits=ProxyLimits(idle_seconds=0.05)) as running:
            assert (await running.talk(_connect("allowed.test", port))).endswith(b"established\r\n\r\n")


async def test_half_a_tunnel_may_end_before_the_other() -> None:
    """What a server says after the client has finished speaking still arrives."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def answer() -> bytes:
            connected, _ = listening.accept()
            with connected:
                heard = b""
                while piece := connected.recv(100):
                    heard += piece
                connected.sendall(b"answer to " + heard)
            return heard

        async with running_proxy(lookup=HERE, private_services=[("allowed.test", port)]) as running:
            client = await anyio.connect_tcp("127.0.0.1", running.port)
            await client.send(_connect("allowed.test", port) + b"question")
            await client.send_eof()
            with anyio.fail_after(TIMEOUT):
                assert await anyio.to_thread.run_sync(answer) == b"question"
                assert (await everything(client)).endswith(b"answer to question")
            await client.aclose()


async def test_closing_ends_every_connection_and_leaves_no_descriptor(server: Reached) -> None:
    async with running_proxy(lookup=HERE, private_services=[("allowed.test", server.port)]) as running:
        clients = [await anyio.connect_tcp("127.0.0.1", running.port) for _ in range(5)]
        for client in clients[:3]:
            await client.send(_connect("allowed.test", server.port))
            assert await client.receive() == b"HTTP/1.1 200 Connection established\r\n\r\n"
        with anyio.fail_after(TIMEOUT):
            await running.proxy.close()
            assert [await everything(client) for client in clients] == [b""] * 5
        for client in clients:
            await client.aclose()
        assert running.listener.fileno() == -1
        with anyio.fail_after(TIMEOUT):
            while {running.port, server.port} & _remote_ports():  # the event loop closes our own clients a moment later
                await anyio.sleep(0.01)


def _remote_ports() -> set[int]:
    """The remote port of each connection of this process (a server's own end has its client's port there)."""
    inodes = set()
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            inodes.add(os.readlink(f"/proc/self/fd/{name}").removeprefix("socket:[").removesuffix("]"))
    with open("/proc/self/net/tcp") as table:
        rows = [row.split() for row in table.readlines()[1:]]
    return {int(row[2].partition(":")[2], 16) for row in rows if row[9] in inodes}


# Token and own proxies


async def test_with_a_token_only_who_knows_it_is_served(server: Reached) -> None:
    import base64

    services = [("allowed.test", server.port)]
    async with running_proxy(lookup=HERE, private_services=services, token="s3cret") as running:
        request = _get("allowed.test", server.port)
        assert b"407 Proxy Authentication Required" in await running.talk(request)
        wrong = base64.b64encode(b"toolwright:wrong")
        assert b"407" in await running.talk(request[:-2] + b"Proxy-Authorization: Basic " + wrong + b"\r\n\r\n")
        assert (await running.talk(b"\x05\x01\x00"))[:2] == b"\x05\xff"
        assert (await running.talk(b"\x05\x01\x02" + b"\x01\x01x\x05wrong"))[:4] == b"\x05\x02\x01\x01"
        assert server.connections == 0
        right = base64.b64encode(b"toolwright:s3cret")
        assert b"hello from /" in await running.talk(request[:-2] + b"Proxy-Authorization: Basic " + right + b"\r\n\r\n")
        login = b"\x05\x01\x02" + b"\x01\x0atoolwright\x06s3cret" + b"\x05\x01\x00" + socks_name("allowed.test")
        answer = await running.talk(login + server.port.to_bytes(2) + b"GET /in HTTP/1.0\r\n\r\n")
        assert answer.endswith(b"hello from /in")


async def test_a_users_own_proxy_decides_in_place_of_ours(server: Reached) -> None:
    services = [("any.test", server.port)]
    async with running_proxy(["any.test"], lookup=names({"any.test": ["127.0.0.1"]}), private_services=services) as theirs:
        async with running_proxy([], own=OwnProxies(http=theirs.port)) as ours:
            assert b"hello from /" in await ours.talk(_get("any.test", server.port))
            assert (await ours.socks(socks_name("any.test"), server.port))[0] == 2  # no own proxy for SOCKS: our rules
        async with running_proxy([], own=OwnProxies(socks=theirs.port)) as ours:
            assert (await ours.socks(socks_name("any.test"), server.port, b"GET / HTTP/1.0\r\n\r\n"))[0] == 0
            assert b" 403 " in await ours.talk(_get("any.test", server.port))


# Real clients

CURL = which("curl")


async def _curl(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    assert CURL is not None
    return await anyio.run_process([CURL, "-sS", "-q", "-m", "60", *arguments], check=False, env={"PATH": os.defpath})


@pytest.mark.skipif(CURL is None, reason="curl is not installed")
@pytest.mark.parametrize("kind", [["-x", "http://"], ["-p", "-x", "http://"], ["-x", "socks5h://"], ["-x", "socks5://"]])
async def test_curl_reaches_what_is_allowed_and_nothing_else(server: Reached, kind: list[str]) -> None:
    services = [("allowed.test", server.port), ("127.0.0.1", server.port)]
    async with running_proxy(lookup=HERE, private_services=services) as running:
        arguments = [*kind[:-1], f"{kind[-1]}127.0.0.1:{running.port}"]
        refused = await _curl(*arguments, f"http://127.0.0.1:{server.port}/", f"http://localhost:{server.port}/")
        assert b"hello" not in refused.stdout
        assert server.connections == 0
        if kind[-1] != "socks5://":  # that one resolves names itself
            done = await _curl(*arguments, f"http://allowed.test:{server.port}/from-curl")
            assert done.stdout == b"hello from /from-curl"


@pytest.mark.skipif(CURL is None, reason="curl is not installed")
async def test_curl_uploads_in_chunks_through_the_proxy(server: Reached) -> None:
    services = [("allowed.test", server.port)]
    async with running_proxy(lookup=HERE, private_services=services) as running:
        url, proxy = f"http://allowed.test:{server.port}/up", f"http://127.0.0.1:{running.port}"
        with anyio.fail_after(TIMEOUT):
            assert CURL is not None
            done = await anyio.run_process(
                [CURL, "-sS", "-q", "-x", proxy, "-T", "-", url], input=b"d" * 3_000_000, env={"PATH": os.defpath}
            )
    assert done.stdout == b"hello from /up"
    assert server.requests[0][3] == b"d" * 3_000_000
