"""A real HTTP server on loopback that answers by a script: good answers, refusals and every fault a network can have.

It runs in a thread of its own, so tests of any kind can use it, or with `serve()` in the calling one. It speaks HTTP/1.1 with
keep-alive and knows no API: what it sends are the script's steps.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from toolwright.testing.steps import Action, Chooser, Cut, Pause, Raw, ReceivedRequest, Reset, Stall, Status, Step

if TYPE_CHECKING:
    import asyncio

Script: TypeAlias = Step | Sequence[Step] | Mapping[str, Step | Sequence[Step]]
MAX_RENDERED = 256
LINGER_NOT = struct.pack("ii", 1, 0)  # closing then sends a reset


class ModelServer:
    """`with ModelServer(script) as server: … server.url …`

    The script is a list of steps (each request takes the next), one step for every request (a function may choose), or a
    mapping from paths to either. With `repeat` a list starts again at its end; without, a request too many is answered with
    status 500. What was asked is in `requests`; `keep` bounds how many are remembered.
    """

    def __init__(self, script: Script, *, repeat: bool = False, port: int = 0, keep: int | None = None) -> None:
        self.requests: deque[ReceivedRequest] = deque(maxlen=keep)
        self._choose = _chooser(script, repeat)
        self._rendered: dict[int, tuple[Raw, list[bytes | Action]]] = {}
        self._socket = socket.create_server(("127.0.0.1", port), backlog=1024)
        self.port: int = self._socket.getsockname()[1]
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._connections: set[Any] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    def __enter__(self) -> ModelServer:
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="model-server", daemon=True)
        self._thread.start()
        ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def serve(self) -> None:
        """Serve in this thread until the process is interrupted."""
        self._run(threading.Event())

    def _run(self, ready: threading.Event) -> None:
        import asyncio  # only the server's own thread needs it

        loop = self._loop = asyncio.new_event_loop()
        try:
            server = loop.run_until_complete(loop.create_server(_protocol(self), sock=self._socket))
            ready.set()
            loop.run_forever()
            server.close()
            for connection in list(self._connections):
                connection.abort()
            loop.run_until_complete(asyncio.sleep(0))
        finally:
            ready.set()
            self._socket.close()
            loop.close()

    def take(self, request: ReceivedRequest) -> list[bytes | Action]:
        """Remember the request and give the pieces of its answer, ready for the wire."""
        self.requests.append(request)
        raw = _resolve(self._choose(request), request)
        known = self._rendered.get(id(raw))
        if known is not None and known[0] is raw:
            return known[1]
        pieces = _render(raw)
        if len(self._rendered) >= MAX_RENDERED:
            self._rendered.clear()
        self._rendered[id(raw)] = (raw, pieces)
        return pieces


def _resolve(step: Step, request: ReceivedRequest) -> Raw:
    if isinstance(step, Raw):
        return step
    if isinstance(step, Status):
        return step.as_raw()
    return _resolve(step(request), request)


def _chooser(script: Script, repeat: bool) -> Chooser:
    if isinstance(script, Mapping):
        return _by_path({path: _chooser(steps, repeat) for path, steps in script.items()})
    if not isinstance(script, Sequence):
        step = script
        return lambda _: step
    left = deque(script)

    def take_next(_: ReceivedRequest) -> Step:
        if not left:
            return Status(500, {"x-should-retry": "false"}, {"error": {"type": "api_error", "message": "the script is over"}})
        step = left.popleft()
        if repeat:
            left.append(step)
        return step

    return take_next


def _by_path(choosers: Mapping[str, Chooser]) -> Chooser:
    def choose(request: ReceivedRequest, /) -> Step:
        chooser = choosers.get(request.path.partition("?")[0])
        return Status(404, body=b"the script has nothing for this path") if chooser is None else chooser(request)

    return choose


def _render(raw: Raw) -> list[bytes | Action]:
    """The answer as HTTP, neighbouring pieces joined: one write each."""
    head = [f"HTTP/1.1 {raw.status} Scripted", "transfer-encoding: chunked", *(f"{k}: {v}" for k, v in raw.headers.items())]
    pieces: list[bytes | Action] = []
    written = ["\r\n".join(head).encode() + b"\r\n\r\n"]
    for chunk in raw.chunks:
        if isinstance(chunk, bytes):
            written.append(b"%x\r\n%s\r\n" % (len(chunk), chunk) if chunk else b"")
            continue
        if isinstance(chunk, Cut) and chunk.inside_chunk:
            written.append(b"40\r\nevent: content_block_del")
        pieces += [b"".join(written), chunk]
        written = []
    return [*pieces, b"".join([*written, b"0\r\n\r\n"])]


def _protocol(server: ModelServer) -> Callable[[], asyncio.Protocol]:
    """The connection class; made here because its base class is asyncio's."""
    import asyncio

    class Connection(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            self.transport = transport
            self.buffer = bytearray()
            self.answering = False
            server._connections.add(transport)

        def connection_lost(self, _: Exception | None) -> None:
            server._connections.discard(self.transport)
            self.answering = True  # nobody is left to answer

        def data_received(self, data: bytes) -> None:
            self.buffer += data
            self.next_request()

        def next_request(self) -> None:
            request = None if self.answering else _take_request(self.buffer)
            if request is not None:
                self.answering = True
                self.send(deque(server.take(request)))

        def send(self, pieces: deque[bytes | Action]) -> None:
            while pieces and not self.transport.is_closing():
                piece = pieces.popleft()
                if isinstance(piece, bytes):
                    self.transport.write(piece)
                elif isinstance(piece, Pause):
                    asyncio.get_running_loop().call_later(piece.seconds, self.send, pieces)
                    return
                else:
                    self.act(piece)
                    return
            self.answering = False
            self.next_request()

        def act(self, action: Reset | Cut | Stall) -> None:
            if isinstance(action, Cut):
                self.transport.close()
            elif isinstance(action, Reset):
                self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
                # What was written before must reach the client first: a reset throws away what the kernel still holds.
                asyncio.get_running_loop().call_later(0.02, self.transport.abort)

    return Connection


def _take_request(buffer: bytearray) -> ReceivedRequest | None:
    """The first whole request in the buffer, taken out of it."""
    end = buffer.find(b"\r\n\r\n")
    if end < 0:
        return None
    lines = buffer[:end].decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    size = int(headers.get("content-length", "0"))
    if len(buffer) < end + 4 + size:
        return None
    method, path, _ = lines[0].split(" ", 2)
    body = bytes(buffer[end + 4 : end + 4 + size])
    del buffer[: end + 4 + size]
    return ReceivedRequest(method, path, headers, body)
