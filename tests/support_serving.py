"""A small offer for tests of our MCP server, and ways to talk to it: over lists of lines, and over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
from anyio.abc import SocketStream

from toolwright.mcp.results import CallResult, error_result
from toolwright.mcp.server.access import Access, hosts_of
from toolwright.mcp.server.http_endpoint import Endpoint
from toolwright.mcp.server.http_server import listen, port_of, serve_http
from toolwright.mcp.server.stdio import serve_stdio
from toolwright.mcp.server.tool_provider import CannotAsk, RunningCall
from toolwright.mcp.tool_server import ServedTool

VERSION = "2025-11-25"
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
ANYTHING = {"type": "object"}
TOKEN, OTHER_TOKEN = "a-token-of-some-length", "another-token-of-some-length"
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


class SmallOffer:
    """Implements `Offer`: echo, ask, log, wait (until `released`), explode."""

    name, version, instructions = "small", "1.0", "Use echo."

    def __init__(self) -> None:
        self.started = anyio.Event()
        self.released = anyio.Event()
        self.cancelled = anyio.Event()
        self.closed = False

    async def list_tools(self) -> list[ServedTool]:
        names = ("echo", "ask", "log", "wait", "explode", "tell")
        return [ServedTool(name, f"{name}s", ANYTHING, {"title": name, "readOnlyHint": True}) for name in names]

    async def call_tool(self, name: str, arguments: dict[str, Any], call: RunningCall) -> CallResult:
        match name:
            case "ask":
                return await self._ask(call)
            case "wait":
                await self._wait()
            case "log":
                await call.log("debug", "small")
                await call.log("error", "big")
            case "tell":
                await call.progress(1, total=2, message="half")
                await call.progress(1)
                await call.progress(2, total=2)
            case "explode":
                raise RuntimeError("secret detail")
        return {"content": [{"type": "text", "text": msgspec.json.encode(arguments).decode()}]}

    async def _ask(self, call: RunningCall) -> CallResult:
        try:
            params = {"message": "Sure?", "requestedSchema": ANYTHING}
            answer = (await call.ask({"sure": ("elicitation/create", params)}))["sure"]
        except CannotAsk as error:
            return error_result(str(error))
        return {"content": [{"type": "text", "text": f"said {answer.get('action')}"}]}

    async def _wait(self) -> None:
        self.started.set()
        try:
            await self.released.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled.set()
            raise

    async def aclose(self) -> None:
        self.closed = True


def request(number: Any, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}


def note(method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params or {}}


def hello(number: Any = 0, capabilities: dict[str, Any] | None = None, version: str = VERSION) -> dict[str, Any]:
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": client}
    return request(number, "initialize", params)


def call(number: Any, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return request(number, "tools/call", {"name": tool, "arguments": arguments or {}, **more})


def modern(message: dict[str, Any], capabilities: dict[str, Any] | None = None, version: Any = MODERN) -> dict[str, Any]:
    """The same request in the era without a handshake."""
    meta = {**message["params"].get("_meta", {}), f"{META}protocolVersion": version}
    meta[f"{META}clientCapabilities"] = capabilities or {}
    return {**message, "params": {**message["params"], "_meta": meta}}


class Wire:
    """A client at the other end of a server on lines."""

    def __init__(self) -> None:
        self._in, self._lines = anyio.create_memory_object_stream[bytes](10_000)
        self._out, self._answers = anyio.create_memory_object_stream[bytes](10_000)
        self.offer = SmallOffer()

    async def serve(self) -> None:
        async with self._lines, self._out:
            await serve_stdio(self._lines, self._out.send, self._open)

    async def _open(self) -> SmallOffer:
        return self.offer

    async def send(self, *messages: Any) -> None:
        for message in messages:
            await self._in.send(message if isinstance(message, bytes) else msgspec.json.encode(message))

    async def receive(self) -> Any:
        with anyio.fail_after(30):
            return msgspec.json.decode(await self._answers.receive())

    async def ask(self, *messages: Any) -> Any:
        await self.send(*messages)
        return await self.receive()

    async def end(self) -> None:
        await self._in.aclose()

    def forget(self) -> None:
        self._in.close()
        self._answers.close()


@asynccontextmanager
async def on_lines() -> AsyncIterator[Wire]:
    wire = Wire()
    async with anyio.create_task_group() as group:
        group.start_soon(wire.serve)
        yield wire
        await wire.end()
    wire.forget()


@asynccontextmanager
async def over_http(*tokens: str) -> AsyncIterator[Site]:
    """A server on a port of loopback."""
    listener = await listen("127.0.0.1", 0)
    site = Site(port_of(listener))
    endpoint = Endpoint(site.open_offer, Access(tokens, hosts_of("127.0.0.1", site.port)))
    async with anyio.create_task_group() as group:
        group.start_soon(serve_http, listener, endpoint.serve, endpoint.room)
        yield site
        group.cancel_scope.cancel()
    await endpoint.aclose()


class Site:
    """Where the server is, and the offers it has made."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.offers: list[SmallOffer] = []

    async def open_offer(self) -> SmallOffer:
        self.offers.append(SmallOffer())
        return self.offers[-1]

    @asynccontextmanager
    async def visit(self, **headers: str) -> AsyncIterator[Visit]:
        async with await anyio.connect_tcp("127.0.0.1", self.port) as stream:
            yield Visit(stream, {"host": f"127.0.0.1:{self.port}", **HEADERS, **headers})

    async def post(self, message: Any, **headers: str) -> Answer:
        async with self.visit() as visit:
            return await visit.post(message, **headers)


class Answer:
    """An HTTP answer, read to its end."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def events(self) -> list[Any]:
        lines = [line for line in self.body.split(b"\n") if line.startswith(b"data: ")]
        return [msgspec.json.decode(line[6:]) for line in lines]


class Visit:
    """One connection of an HTTP client that writes down exactly what it is told."""

    def __init__(self, stream: SocketStream, headers: dict[str, str]) -> None:
        self.stream = stream
        self._headers = headers
        self._buffer = b""

    async def post(self, message: Any, **headers: str) -> Answer:
        await self.begin(message, **headers)
        return await self.answer()

    async def begin(self, message: Any, *, method: str = "POST", path: str = "/mcp", **headers: str) -> None:
        body = message if isinstance(message, bytes) else msgspec.json.encode(message)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in {**self._headers, **named}.items())]
        await self.stream.send("\r\n".join([*lines, f"content-length: {len(body)}", "", ""]).encode() + body)

    async def answer(self) -> Answer:
        with anyio.fail_after(30):
            head = await self._until(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            if headers.get("transfer-encoding") == "chunked":
                return Answer(int(first.split()[1]), headers, await self.rest())
            return Answer(int(first.split()[1]), headers, await self._exactly(int(headers.get("content-length", "0"))))

    async def chunk(self) -> bytes:
        """The next piece of a stream; empty at its end."""
        size = int(await self._until(b"\r\n"), 16)
        data = await self._exactly(size)
        await self._until(b"\r\n")
        return data

    async def rest(self) -> bytes:
        pieces = []
        with anyio.fail_after(30):
            while piece := await self.chunk():
                pieces.append(piece)
        return b"".join(pieces)

    async def head(self) -> bytes:
        with anyio.fail_after(30):
            return await self._until(b"\r\n\r\n")

    async def first_event(self) -> Any:
        """The first event of a stream whose head has been read."""
        with anyio.fail_after(30):
            return Answer(200, {}, await self.chunk()).events[0]

    async def _until(self, mark: bytes) -> bytes:
        while mark not in self._buffer:
            self._buffer += await self.stream.receive()
        found, _, self._buffer = self._buffer.partition(mark)
        return found

    async def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._buffer += await self.stream.receive()
        found, self._buffer = self._buffer[:size], self._buffer[size:]
        return found
