"""HTTP connections to model servers, shared by all sessions of an event loop.

A provider takes a `Lease` on the connections to its server. Leases on the same server, proxy and certificates share one set
of kept-alive connections; when the last is released everything is closed. What the HTTP library raises leaves this module as
a `ModelError`. This module knows no API: it sends bytes and hands out the answer's status, headers and bytes.

It works on httpcore2, the transport under httpx2: the same connections at two thirds of the CPU per request, and every
generator involved is closed by us, in our task, which trio insists on.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import unquote, urlsplit
from weakref import WeakKeyDictionary

import anyio
from anyio.lowlevel import current_token
from msgspec import Struct

from toolwright.models.base import ErrorKind, ModelError
from toolwright.models.proxies import proxy_for

if TYPE_CHECKING:
    import ssl

    import httpcore2

MAX_CONNECTIONS = 1000
MAX_IDLE = 128
IDLE_SECONDS = 60.0
ERROR_BODY_LIMIT = 256 * 1024

Headers = Sequence[tuple[bytes, bytes]]


class Timeouts(Struct, frozen=True):
    """In seconds. `idle` is the longest silence: until the answer begins, and between two pieces of it."""

    connect: float = 30.0
    idle: float = 300.0

    def as_extension(self) -> dict[str, float | None]:
        return {"connect": self.connect, "read": self.idle, "write": self.idle, "pool": None}


class Route(Struct, frozen=True):
    """Where connections lead: what leases must have in common to share them."""

    origin: str
    proxy: str | None = None
    certificates: tuple[str | None, str | None] = (None, None)

    @classmethod
    def to(cls, base_url: str, env: Mapping[str, str]) -> Route:
        """The route to `base_url`. Proxies and certificate files come from `env`, never from the process's environment."""
        origin = _origin(base_url)
        certificates = (env.get("SSL_CERT_FILE"), env.get("SSL_CERT_DIR")) if origin.startswith("https:") else (None, None)
        return cls(origin, proxy_for(origin, env), certificates)


def _origin(base_url: str) -> str:
    try:
        parts = urlsplit(base_url)
        if parts.scheme in ("http", "https") and parts.hostname and base_url.isascii() and (parts.port or 1) > 0:
            return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    except ValueError:
        pass
    raise ModelError(
        f"{base_url!r} is no base URL: it must be http:// or https:// and a host, in ASCII.", kind="invalid_request"
    )


class Lease:
    """The right to use the connections of one route. Give it back with `release`, in the same event loop."""

    __slots__ = ("_connections",)

    def __init__(self, route: Route) -> None:
        self._connections: _Connections | None = _open_connections(route)

    async def post(self, path: str, headers: Headers, *, body: bytes, timeouts: Timeouts) -> HttpResponse:
        """Send a POST (`path` with its query) and wait for the answer's head. The caller closes the answer."""
        return await self.request("POST", path, headers=headers, body=body, timeouts=timeouts)

    async def request(self, method: str, path: str, *, headers: Headers, body: bytes, timeouts: Timeouts) -> HttpResponse:
        """The same with any method; without a body it is empty."""
        if self._connections is None:
            raise ModelError("This model has been closed; make a new one.", kind="invalid_request")
        return await self._connections.request(method, path, headers=headers, body=body, timeouts=timeouts)

    async def release(self) -> None:
        connections, self._connections = self._connections, None
        if connections is not None:
            await connections.give_back()


class Leases:
    """One provider's leases on its server: one on each event loop that uses it."""

    __slots__ = ("_env", "_held", "_url")

    def __init__(self, base_url: str, env: Mapping[str, str]) -> None:
        self._url = base_url
        self._env = dict(env)
        self._held: WeakKeyDictionary[Any, Lease] = WeakKeyDictionary()

    def here(self) -> Lease:
        loop = current_token().native_token
        lease = self._held.get(loop)
        if lease is None:
            lease = self._held[loop] = Lease(Route.to(self._url, self._env))
        return lease

    async def release(self) -> None:
        """Give back the lease of this event loop, if there is one."""
        lease = self._held.pop(current_token().native_token, None)
        if lease is not None:
            await lease.release()


SECRET_HEADERS = {"x-api-key": "The API key", "authorization": "The API key or token"}


def header(name: str, value: str) -> tuple[bytes, bytes]:
    """Checked here, so that a mistake is named before anything is sent, and without showing the value."""
    if not (value.isascii() and value.isprintable()) or value != value.strip():
        what = SECRET_HEADERS.get(name, f"The header {name}")
        fault = "a line break or space at its end, or a character that is not plain ASCII"
        raise ModelError(f"{what} cannot be sent: it has {fault}. Check where it was copied from.", kind="invalid_request")
    if not (name.isascii() and name.replace("-", "").replace("_", "").isalnum()):
        raise ModelError(f"{name!r} is no name for an HTTP header.", kind="invalid_request")
    return name.encode(), value.encode()


class HttpResponse:
    """A response whose body is still coming."""

    __slots__ = ("_chunks", "_connection", "_connections", "_response", "headers", "status")

    def __init__(self, response: httpcore2.Response, connection: Any, connections: _Connections) -> None:
        self.status: int = response.status
        self.headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
        self._response: httpcore2.Response | None = response
        self._connection = connection
        self._connections = connections
        stream: Any = response.stream
        self._chunks: AsyncGenerator[bytes, None] = stream.__aiter__()

    async def next_chunk(self) -> bytes:
        """The next bytes of the body; empty at its end."""
        try:
            return await anext(self._chunks)
        except StopAsyncIteration:
            return b""
        except transport_errors() as error:
            raise_as_model_error(error)

    async def read_all(self, patience: float = 10.0) -> bytes:
        """The body of an error answer: what of it comes in time, up to a quarter of a megabyte."""
        body = bytearray()
        try:
            with anyio.move_on_after(patience):
                while len(body) < ERROR_BODY_LIMIT and (chunk := await self.next_chunk()):
                    body += chunk
        except ModelError:
            pass  # the status is what counts
        return bytes(body)

    async def finish(self, patience: float = 0.1) -> None:
        """All that matters has come: wait a moment for the end of the body, so that the connection can be used again."""
        try:
            with anyio.move_on_after(patience):
                while await self.next_chunk():
                    pass
        except ModelError:
            pass  # then it cannot be used again

    async def aclose(self) -> None:
        response, self._response = self._response, None
        if response is None:
            return
        with anyio.CancelScope(shield=True):  # nothing here waits for the server
            try:
                async with aclosing(self._chunks):
                    await response.aclose()
            except transport_errors():
                pass  # it is being thrown away: how it breaks does not matter
            finally:
                await self._connections.put_back(self._connection)


class _Connections:
    """The connections of one route on one event loop: those that are idle, and a place for each that is busy.

    A pool of its own, because httpcore2's looks at every connection for every request, and a thousand sessions have a thousand.
    """

    __slots__ = ("_factory", "_idle", "_leases", "_origin", "_own_headers", "_places", "_route", "_shared")

    def __init__(self, route: Route, shared: dict[Route, _Connections]) -> None:
        import httpcore2  # with its own imports 100 ms and more: only who speaks HTTP pays for it

        self._route = route
        self._shared = shared
        self._leases = 1
        self._origin = httpcore2.URL(route.origin).origin
        self._own_headers = ((b"host", route.origin.partition("://")[2].encode()), (b"accept-encoding", b"identity"))
        self._factory = _connection_factory(route)
        self._idle: deque[Any] = deque()
        self._places = anyio.Semaphore(_connection_limit(), fast_acquire=True)

    def share(self) -> _Connections:
        self._leases += 1
        return self

    async def give_back(self) -> None:
        self._leases -= 1
        if self._leases:
            return
        if self._shared.get(self._route) is self:
            del self._shared[self._route]
        while self._idle:
            await _close_quietly(self._idle.pop())

    async def request(self, method: str, path: str, *, headers: Headers, body: bytes, timeouts: Timeouts) -> HttpResponse:
        await self._places.acquire()
        connection = None
        try:
            connection = await self._take()
            request = self._request(method, path, headers=headers, body=body, timeouts=timeouts)
            response = await connection.handle_async_request(request)
            return HttpResponse(response, connection, self)
        except transport_errors() as error:
            await self.put_back(connection)
            raise_as_model_error(error, self._route.origin)
        except BaseException:
            await self.put_back(connection)
            raise

    def _request(self, method: str, path: str, *, headers: Headers, body: bytes, timeouts: Timeouts) -> httpcore2.Request:
        import httpcore2

        origin = self._origin
        url = httpcore2.URL(scheme=origin.scheme, host=origin.host, port=origin.port, target=path.encode("ascii"))
        length = [(b"content-length", b"%d" % len(body))] if body or method == "POST" else []
        all_headers = [*self._own_headers, *headers, *length]
        return httpcore2.Request(
            method, url, headers=all_headers, content=body, extensions={"timeout": timeouts.as_extension()}
        )

    async def _take(self) -> Any:
        """The idle connection that was used last, if the server has not closed it; otherwise a new one."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.has_expired():
                return connection
            await _close_quietly(connection)
        return self._factory.create_connection(self._origin)

    async def put_back(self, connection: Any) -> None:
        """A request is done with its connection: keep it if it can be used again, and close what is idle for too long."""
        self._places.release()
        if connection is not None and connection.is_idle() and not connection.is_closed():
            self._idle.append(connection)
        most = MAX_IDLE if self._leases else 0
        while len(self._idle) > most or (len(self._idle) > 1 and self._idle[0].has_expired()):
            await _close_quietly(self._idle.popleft())


_shared_by_loop: WeakKeyDictionary[Any, dict[Route, _Connections]] = WeakKeyDictionary()


def _open_connections(route: Route) -> _Connections:
    shared = _shared_by_loop.setdefault(current_token().native_token, {})
    if route in shared:
        return shared[route].share()
    connections = shared[route] = _Connections(route, shared)
    return connections


def _connection_factory(route: Route) -> httpcore2.AsyncConnectionPool:
    """A pool that never pools: it is only asked to make connections, directly or through the proxy."""
    import httpcore2

    context = _tls_context(*route.certificates) if "https://" in (route.origin[:8], (route.proxy or "")[:8]) else None
    proxy = None
    if route.proxy is not None:
        url, user = _without_credentials(route.proxy)
        proxy = httpcore2.Proxy(url, auth=user)
    return httpcore2.AsyncConnectionPool(ssl_context=context, proxy=proxy, keepalive_expiry=IDLE_SECONDS)


def _without_credentials(proxy: str) -> tuple[str, tuple[str, str] | None]:
    parts = urlsplit(proxy)
    if parts.username is None:
        return proxy, None
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", (unquote(parts.username), unquote(parts.password or ""))


@lru_cache(maxsize=8)
def _tls_context(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Reading the certificates takes tens of milliseconds: once for the whole process."""
    import ssl

    import httpcore2

    if file is None and folder is None:
        return httpcore2.default_ssl_context()
    try:
        return ssl.create_default_context(cafile=file, capath=folder)
    except (OSError, ssl.SSLError) as error:
        where = f"SSL_CERT_FILE={file}" if file else f"SSL_CERT_DIR={folder}"
        raise ModelError(f"The certificates of {where} cannot be read: {error}", kind="invalid_request") from error


def _connection_limit() -> int:
    """Half of the descriptors that this process may have open; the other half is for tools and files."""
    if sys.platform == "win32":
        return MAX_CONNECTIONS
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else max(1, min(MAX_CONNECTIONS, soft // 2))


async def _close_quietly(connection: Any) -> None:
    with anyio.CancelScope(shield=True):
        try:
            await connection.aclose()
        except transport_errors():
            pass


@lru_cache(maxsize=1)
def transport_errors() -> tuple[type[Exception], ...]:
    """Everything that talking to a server can raise."""
    import httpcore2

    return (
        httpcore2.TimeoutException,
        httpcore2.NetworkError,
        httpcore2.ProtocolError,
        httpcore2.ProxyError,
        httpcore2.UnsupportedProtocol,
        httpcore2.ConnectionNotAvailable,
        anyio.BrokenResourceError,
        anyio.ClosedResourceError,
        anyio.BusyResourceError,
        OSError,
    )


def raise_as_model_error(error: Exception, origin: str = "") -> NoReturn:
    """`origin` is where the server should have been, for an error that comes before it has answered."""
    import httpcore2

    kind: ErrorKind = "connection"
    text = f"The connection to the model server broke: {_describe(error)}"
    if isinstance(error, httpcore2.ConnectError | httpcore2.ConnectTimeout | httpcore2.ProxyError):
        text = f"The model server{f' at {origin}' if origin else ''} cannot be reached: {_describe(error)}"
    elif isinstance(error, httpcore2.TimeoutException):
        kind, text = "timeout", "The model server stayed silent for too long."
    elif isinstance(error, httpcore2.LocalProtocolError | httpcore2.UnsupportedProtocol):
        kind, text = "invalid_request", f"The request cannot be sent: {_describe(error)}"
    raise ModelError(text, kind=kind, retryable=kind != "invalid_request") from error


def _describe(error: Exception) -> str:
    return f"{str(error).strip() or 'no further details'} ({type(error).__name__})"
