"""JSONTestSuite against both our ends: nothing that can be written in place of a message ends our server or our client."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from json_suite import documents, on_one_line

from toolwright.mcp.client.configs import parse_config
from toolwright.mcp.client.connections import ServerContext, external_server
from toolwright.mcp.client.server_events import Timing

HOSTILE = str(Path(__file__).parent.parent / "support_hostile_server.py")
SERVE = [sys.executable, "-m", "toolwright.cli", "mcp", "serve"]
TOKEN = "a-token-of-some-length"
SECONDS = 120.0
ENVELOPES = (
    b"%s",
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Glob","arguments":%s}}',
    b'{"jsonrpc":"2.0","id":%s,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":%s}',
    b'{"jsonrpc":"2.0","id":"server-1","result":%s}',
)
HELLO = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "suite", "version": "1"}},
}
LAST = {"jsonrpc": "2.0", "id": "the-last-one", "method": "ping"}


@pytest.fixture
def no_settings_from_outside() -> None:
    """The programs here read no settings, and the published SDK is not needed."""


def environment(folder: Path) -> dict[str, str]:
    return {
        "HOME": str(folder),
        "PATH": "/usr/bin:/bin",
        "CLAUDE_CONFIG_DIR": str(folder / "config"),
        "TOOLWRIGHT_MCP_TOKEN": TOKEN,
    }


# our server


def test_no_document_on_a_line_ends_our_server(tmp_path: Path) -> None:
    lines = [form % content for form in ENVELOPES for content in documents().values()]
    said = b"\n".join([json.dumps(HELLO).encode(), *lines, json.dumps(LAST).encode(), b""])
    done = subprocess.run(
        [*SERVE, "--cwd", str(tmp_path)],
        input=said,
        capture_output=True,
        timeout=SECONDS,
        env=environment(tmp_path),
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.split(b"\n") if line]
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr, done.stderr.decode()[-2000:]
    assert {"jsonrpc": "2.0", "id": "the-last-one", "result": {}} in answers


@contextmanager
def served_over_http(folder: Path) -> Iterator[http.client.HTTPConnection]:
    """A connection to a server process, of which nothing but its address may stand on stderr."""
    command = [*SERVE, "--cwd", str(folder), "--http", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment(folder)) as process:
        assert process.stderr is not None
        address = re.search(r"http://(127\.0\.0\.1:\d+)/mcp", process.stderr.readline())
        assert address is not None
        connection = http.client.HTTPConnection(address[1], timeout=SECONDS)
        yield connection
        connection.close()
        assert process.poll() is None
        process.terminate()
        assert process.stderr.read() == ""


def posted(connection: http.client.HTTPConnection, body: bytes, session: str = "") -> tuple[http.client.HTTPResponse, Any]:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", "Mcp-Session-Id": session}
    connection.request("POST", "/mcp", body, headers | {"Accept": "application/json, text/event-stream"})
    answer = connection.getresponse()
    content = answer.read()
    return answer, json.loads(content) if content else None


def test_our_server_over_http_takes_and_refuses_what_the_suite_says(tmp_path: Path) -> None:
    with served_over_http(tmp_path) as connection:
        session = posted(connection, json.dumps(HELLO).encode())[0].headers["mcp-session-id"]
        wrong = []
        for name, content in documents().items():
            answer, message = posted(connection, content, session)
            is_refused = answer.status == 400 and message["error"]["code"] == -32700
            wrong += [name] if name[0] in "yn" and is_refused is not name.startswith("n_") else []
            for form in ENVELOPES[1:]:
                posted(connection, form % content, session)
        assert wrong == []
        assert posted(connection, json.dumps(LAST).encode(), session)[1]["result"] == {}


# our client


def around(folder: Path) -> ServerContext:
    return ServerContext(
        str(folder), {}, lambda: {"PATH": "/usr/bin:/bin"}, lambda: (str(folder),), timing=Timing(SECONDS, SECONDS)
    )


@pytest.mark.anyio
async def test_no_line_of_a_server_ends_our_client(tmp_path: Path) -> None:
    """Every document before each answer, as it is and in every place of a message: the same process answers every call."""
    lines = tmp_path / "documents"
    lines.write_bytes(b"\n".join(on_one_line().values()))
    server = external_server(
        parse_config("hostile", {"command": sys.executable, "args": [HOSTILE, str(lines)]}), around(tmp_path)
    )
    try:
        await server.connect()
        client = server.client
        for _ in range(2):
            assert await server.call_tool("echo", {}) == {"content": [{"type": "text", "text": "still here"}]}
        assert (server.status, server.client) == ("connected", client)
    finally:
        await server.aclose()


class Bodies(BaseHTTPRequestHandler):
    """Answers a call of the tool `raw` with the document it asks for, `stream` with an event of it, all else properly."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet for an answer: two would wait for each other

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        params = message.get("params") or {}
        name, document = params.get("name"), documents().get((params.get("arguments") or {}).get("document"), b"")
        if name == "raw":
            self.answer(document)
        elif name == "stream":
            self.answer(b"data: " + document.replace(b"\r", b"").replace(b"\n", b"\ndata: ") + b"\n\n", "text/event-stream")
        else:
            self.answer(json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result_of(message)}).encode())

    def do_GET(self) -> None:
        self.answer(b"", status=405)

    def answer(self, body: bytes, kind: str = "application/json", status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None: ...


def result_of(message: dict[str, Any]) -> dict[str, Any]:
    if message["method"] == "initialize":
        info = {"name": "hostile", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if message["method"] == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("raw", "stream", "echo")]}
    return {"content": [{"type": "text", "text": "still here"}]}


@pytest.fixture
def hostile_address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bodies)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/mcp"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.anyio
async def test_no_body_and_no_event_of_a_server_ends_our_client(tmp_path: Path, hostile_address: str) -> None:
    server = external_server(parse_config("hostile", {"type": "http", "url": hostile_address}), around(tmp_path))
    try:
        for name in documents():
            for tool in ("raw", "stream"):
                assert (await server.call_tool(tool, {"document": name}))["isError"], "no document is an answer"
            assert await server.call_tool("echo", {}) == {"content": [{"type": "text", "text": "still here"}]}
    finally:
        await server.aclose()
