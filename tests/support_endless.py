"""A model server whose answer never ends: it sends the same bytes again and again until the client goes away."""

from __future__ import annotations

import itertools
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\nconnection: close\r\n\r\n"
MESSAGE: dict[str, Any] = {"id": "m", "model": "m", "role": "assistant", "content": [], "usage": {"output_tokens": 1}}


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def chunk(**delta: Any) -> bytes:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta}]})}\n\n".encode()


def delta(**fields: Any) -> bytes:
    return event("content_block_delta", index=0, delta=fields)


def started(kind: str, **fields: Any) -> bytes:
    block = {"type": kind, **fields}
    return event("message_start", message=MESSAGE) + event("content_block_start", index=0, content_block=block)


def whole_block(index: int, block: dict[str, Any]) -> bytes:
    return event("content_block_start", index=index, content_block=block) + event("content_block_stop", index=index)


def calls_of_messages(number: int) -> bytes:
    return whole_block(number, {"type": "tool_use", "id": f"c{number}", "name": "add", "input": {"a": 1, "b": 1}})


def calls_of_chat(number: int) -> bytes:
    function = {"name": "add", "arguments": '{"a": 1, "b": 1}'}
    return chunk(tool_calls=[{"index": number, "id": f"c{number}", "function": function}])


Endless = tuple[bytes, Callable[[int], bytes]]
"""What comes once, and what comes again and again, by its number."""

MESSAGES: dict[str, Endless] = {
    "text": (started("text", text=""), lambda _: delta(type="text_delta", text="word " * 200) * 8),
    "small pieces of text": (started("text", text=""), lambda _: delta(type="text_delta", text="中") * 500),
    "thinking": (started("thinking", thinking=""), lambda _: delta(type="thinking_delta", thinking="hm " * 400) * 8),
    "signature": (started("thinking", thinking=""), lambda _: delta(type="signature_delta", signature="s" * 900) * 8),
    "citations": (started("text", text=""), lambda _: delta(type="citations_delta", citation={"cited_text": "x" * 800}) * 8),
    "tool input": (
        started("tool_use", id="a", name="add", input={}),
        lambda _: delta(type="input_json_delta", partial_json="9" * 9000),
    ),
    "blocks": (started("text", text=""), lambda number: whole_block(number, {"type": "text", "text": "word"})),
    "open blocks": (
        started("text", text=""),
        lambda number: event("content_block_start", index=number, content_block={"type": "text", "text": ""}),
    ),
    "usage": (started("text", text=""), lambda number: event("message_delta", delta={}, usage={f"k{number}": "x" * 5000})),
    "calls": (event("message_start", message=MESSAGE), calls_of_messages),
    "pings": (event("message_start", message=MESSAGE), lambda _: event("ping") * 1000),
    "a line": (b"data: ", lambda _: b"x" * 16384),
    "data lines": (b"", lambda _: b"data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n" * 300),
    "a comment": (b": ", lambda _: b"x" * 16384),
}
CHAT: dict[str, Endless] = {
    "text": (b"", lambda _: chunk(content="word " * 200) * 8),
    "reasoning": (b"", lambda _: chunk(reasoning_content="word " * 200) * 8),
    "calls": (b"", calls_of_chat),
    "calls behind one that is not complete": (
        chunk(tool_calls=[{"index": 0, "id": "first", "function": {"name": "add", "arguments": "{"}}]),
        lambda number: calls_of_chat(number + 1),
    ),
    "blocks": (b"", lambda _: chunk(content="a") + chunk(reasoning_content="b")),
    "a name": (b"", lambda _: chunk(tool_calls=[{"index": 0, "id": "c", "function": {"name": "n" * 9000}}])),
    "arguments": (
        chunk(tool_calls=[{"index": 0, "id": "c", "function": {"name": "add", "arguments": "{"}}]),
        lambda _: chunk(tool_calls=[{"index": 0, "function": {"arguments": "1" * 9000}}]),
    ),
    "comments": (b"", lambda _: b": still here\n\n" * 1000),
    "a JSON text": (b'{"choices": [{"message": {"content": "', lambda _: b"x" * 16384),
}


@contextmanager
def endless_server(endless: Endless, media_type: bytes = b"text/event-stream") -> Iterator[str]:
    """The URL of a server on loopback that gives this answer to every request."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.1)
    over = threading.Event()

    def serve() -> None:
        while not over.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            with connection:
                connection.settimeout(10)
                _answer(connection, endless, HEAD % media_type, over)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        over.set()
        thread.join(15)
        listener.close()


def _answer(connection: socket.socket, endless: Endless, head: bytes, over: threading.Event) -> None:
    first, again = endless
    try:
        connection.recv(1 << 20)
        connection.sendall(head + first)
        for number in itertools.count():
            if over.is_set():
                return
            connection.sendall(again(number))
    except OSError:
        return  # the client has had enough
