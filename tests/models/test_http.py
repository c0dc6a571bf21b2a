"""Connections: shared, given back, closed; and no foreign exception leaves."""

from __future__ import annotations

import inspect
import socket
import threading

import anyio
import httpcore2
import pytest

from support_models import open_sockets
from toolwright.models import http
from toolwright.models.base import ModelError
from toolwright.models.http import Lease, Route, Timeouts, raise_as_model_error, transport_errors
from toolwright.models.proxies import proxy_for
from toolwright.testing import ModelServer, Raw, Stall, Status

HELLO = Raw([b"hello ", b"world"])


async def fetch(lease: Lease, path: str = "/v1/x") -> tuple[int, bytes]:
    answer = await lease.post(path, [(b"x-a", b"b")], body=b'{"a":1}', timeouts=Timeouts())
    try:
        return answer.status, await answer.read_all()
    finally:
        await answer.aclose()


@pytest.mark.anyio
async def test_leases_share_connections_and_the_last_release_closes_them() -> None:
    before = open_sockets()
    with ModelServer(HELLO) as server:
        route = Route.to(server.url, {})
        first, second = Lease(route), Lease(route)
        for lease in (first, second, first, second):
            assert await fetch(lease) == (200, b"hello world")
        assert server.open_connections == 1
        await first.release()
        await first.release()
        assert await fetch(second) == (200, b"hello world")
        assert server.open_connections == 1
        await second.release()
        with pytest.raises(ModelError, match="has been closed"):
            await fetch(second)
        third = Lease(route)
        assert await fetch(third) == (200, b"hello world")
        await third.release()
        assert [request.headers["x-a"] for request in server.requests] == ["b"] * 6
        assert server.requests[0].headers["accept-encoding"] == "identity"
    assert open_sockets() == before


@pytest.mark.anyio
async def test_a_hundred_requests_at_once_use_a_connection_each_and_all_are_closed() -> None:
    before = open_sockets()
    with ModelServer(HELLO) as server:
        lease = Lease(Route.to(server.url, {}))
        async with anyio.create_task_group() as group:
            for _ in range(100):
                group.start_soon(fetch, lease)
        assert len(server.requests) == 100
        await lease.release()
    assert open_sockets() == before


@pytest.mark.anyio
async def test_requests_wait_for_a_place_when_descriptors_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_connection_limit", lambda: 2)
    with ModelServer(HELLO) as server:
        lease = Lease(Route.to(server.url, {}))
        most = 0

        async def one() -> None:
            nonlocal most
            await fetch(lease)
            most = max(most, server.open_connections)

        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(one)
        assert len(server.requests) == 20
        assert most <= 2
        await lease.release()


@pytest.mark.anyio
async def test_too_many_idle_connections_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_IDLE", 3)
    before = open_sockets()
    with ModelServer(HELLO) as server:
        lease = Lease(Route.to(server.url, {}))
        answers = [await lease.post("/", [], body=b"", timeouts=Timeouts()) for _ in range(8)]
        for answer in answers:
            await answer.read_all()
            await answer.aclose()
        assert lease._connections is not None
        assert len(lease._connections._idle) == 3
        await lease.release()
    assert open_sockets() == before


@pytest.mark.anyio
async def test_a_cancelled_request_leaves_nothing_open() -> None:
    before = open_sockets()
    with ModelServer(Raw([b"begun", Stall()])) as server:
        lease = Lease(Route.to(server.url, {}))
        answer = await lease.post("/", [], body=b"", timeouts=Timeouts())
        with anyio.move_on_after(0.05):
            await answer.read_all(patience=60)
        await answer.aclose()
        assert lease._connections is not None
        assert not lease._connections._idle
        await lease.release()
    assert open_sockets() == before


@pytest.mark.anyio
async def test_a_connection_that_the_server_closed_is_not_used_again() -> None:
    with ModelServer(HELLO) as server:
        lease, port = Lease(Route.to(server.url, {})), server.port
        assert await fetch(lease) == (200, b"hello world")
    with ModelServer(HELLO, port=port):
        assert await fetch(lease) == (200, b"hello world")
        await lease.release()


@pytest.mark.anyio
async def test_a_server_that_is_not_there_is_a_retryable_connection_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    lease = Lease(Route.to(f"http://127.0.0.1:{port}", {}))
    with pytest.raises(ModelError, match=f"server at http://127.0.0.1:{port} cannot be reached") as caught:
        await fetch(lease)
    assert (caught.value.kind, caught.value.retryable) == ("connection", True)
    await lease.release()


@pytest.mark.anyio
async def test_requests_go_through_the_proxy_of_the_given_environment() -> None:
    with ModelServer(HELLO) as proxy:
        lease = Lease(Route.to("http://models.invalid:8080", {"HTTP_PROXY": f"http://me:p%40ss@127.0.0.1:{proxy.port}"}))
        assert await fetch(lease) == (200, b"hello world")
        assert proxy.requests[0].path == "http://models.invalid:8080/v1/x"
        assert proxy.requests[0].headers["proxy-authorization"] == "Basic bWU6cEBzcw=="
        assert proxy.requests[0].headers["host"] == "models.invalid:8080"
        await lease.release()


@pytest.mark.anyio
async def test_two_event_loops_at_once_do_not_share(anyio_backend_name: str) -> None:
    with ModelServer(HELLO) as server:

        async def alone() -> None:
            lease = Lease(Route.to(server.url, {}))
            assert await fetch(lease) == (200, b"hello world")
            await lease.release()

        threads = [threading.Thread(target=anyio.run, args=(alone,), kwargs={"backend": anyio_backend_name}) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            await anyio.to_thread.run_sync(thread.join)
        assert len(server.requests) == 4


FOREIGN = [item for item in vars(httpcore2).values() if inspect.isclass(item) and issubclass(item, Exception)]


@pytest.mark.parametrize("foreign", [*FOREIGN, ConnectionResetError, OSError], ids=lambda item: item.__name__)
def test_every_error_of_the_library_becomes_a_model_error(foreign: type[Exception]) -> None:
    assert issubclass(foreign, transport_errors())
    with pytest.raises(ModelError) as caught:
        raise_as_model_error(foreign("what happened"))
    assert caught.value.kind in ("connection", "timeout", "invalid_request")
    assert caught.value.retryable == (caught.value.kind != "invalid_request")


@pytest.mark.parametrize(
    "url", ["", "api.example.com", "ftp://x", "http://", "https:///v1", "http://x:port", "http://bücher.example"]
)
def test_a_bad_base_url_is_named(url: str) -> None:
    with pytest.raises(ModelError, match="is no base URL") as caught:
        Route.to(url, {})
    assert caught.value.retryable is False


def test_plain_http_needs_no_certificates_and_https_takes_those_of_the_environment() -> None:
    env = {"SSL_CERT_FILE": "/certs.pem"}
    assert Route.to("http://a.example/v1", env).certificates == (None, None)
    assert Route.to("https://a.example/v1", env).certificates == ("/certs.pem", None)


@pytest.mark.anyio
async def test_certificates_that_cannot_be_read_are_named() -> None:
    with pytest.raises(ModelError, match=r"SSL_CERT_FILE=/nowhere\.pem cannot be read"):
        Lease(Route.to("https://a.example", {"SSL_CERT_FILE": "/nowhere.pem"}))


@pytest.mark.parametrize(
    ("origin", "env", "expected"),
    [
        ("https://api.example.com", {}, None),
        ("https://api.example.com", {"HTTPS_PROXY": "proxy:3128"}, "http://proxy:3128"),
        ("https://api.example.com", {"HTTP_PROXY": "http://proxy"}, None),
        ("https://api.example.com", {"https_proxy": "http://low", "HTTPS_PROXY": "http://high"}, "http://low"),
        ("https://api.example.com", {"ALL_PROXY": "http://all"}, "http://all"),
        ("https://api.example.com", {"HTTPS_PROXY": "http://p", "NO_PROXY": "other.org, example.com"}, None),
        ("https://api.example.com", {"HTTPS_PROXY": "http://p", "NO_PROXY": ".example.com"}, None),
        ("https://api.example.com", {"HTTPS_PROXY": "http://p", "NO_PROXY": "*"}, None),
        ("https://api.example.com", {"HTTPS_PROXY": "http://p", "NO_PROXY": "ple.com"}, "http://p"),
        ("https://api.example.com:8443", {"HTTPS_PROXY": "http://p", "NO_PROXY": "api.example.com:443"}, "http://p"),
        ("https://api.example.com:8443", {"HTTPS_PROXY": "http://p", "NO_PROXY": "api.example.com:8443"}, None),
        ("http://127.0.0.1:8000", {"HTTP_PROXY": "http://p"}, None),
        ("http://localhost:8000", {"ALL_PROXY": "http://p"}, None),
        ("http://api.example.com", {"HTTP_PROXY": "http://p", "REQUEST_METHOD": "GET"}, None),
    ],
)
def test_proxies_are_found_by_the_usual_variables(origin: str, env: dict[str, str], expected: str | None) -> None:
    assert proxy_for(origin, env) == expected


@pytest.mark.anyio
async def test_the_scripted_server_chooses_by_path_and_ends_with_its_script() -> None:
    with ModelServer({"/a": [HELLO, Status(503)], "/b": Status(418, body=b"tea")}) as server:
        lease = Lease(Route.to(server.url, {}))
        assert [(await fetch(lease, path))[0] for path in ("/a?x=1", "/b", "/a", "/a", "/c")] == [200, 418, 503, 500, 404]
        await lease.release()
