"""An MCP server over HTTP, of the standard library alone, whose answers a test decides. It runs in a thread."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Message = dict[str, Any]


class Script:
    """What the server does, and what it has seen."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        """Method, path, headers (lower case), body."""
        self.session_id: str | None = "session-1"
        self.tools = ["echo"]
        self.respond: Callable[[Handler, Message], bool] = lambda handler, message: False
        """May answer a POST itself; says whether it did."""
        self.on_get: Callable[[Handler], None] = lambda handler: handler.status(405)
        self.url = ""
        self.ended = threading.Event()

    def seen(self, method: str, rpc_method: str | None = None) -> list[dict[str, str]]:
        return [
            headers
            for verb, _, headers, body in self.requests
            if verb == method and (rpc_method is None or (isinstance(body, dict) and body.get("method") == rpc_method))
        ]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: Script

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.note(body)
        if not self.script.respond(self, body):
            self.ordinary(body)

    def do_GET(self) -> None:
        self.note(None)
        self.script.on_get(self)

    def do_DELETE(self) -> None:
        self.note(None)
        self.status(200)

    def note(self, body: Any) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.script.requests.append((self.command, self.path, headers, body))

    def ordinary(self, message: Message) -> None:
        if "id" not in message:
            self.status(202)
            return
        self.json({"jsonrpc": "2.0", "id": message["id"], "result": self.result(message)})

    def result(self, message: Message) -> Any:
        match message["method"]:
            case "initialize":
                version = message["params"]["protocolVersion"]
                return {
                    "protocolVersion": version,
                    "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": {"name": "h", "version": "1"},
                }
            case "tools/list":
                return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in self.script.tools]}
        return answer_of(message)

    def status(self, code: int, headers: dict[str, str] | None = None, body: bytes = b"") -> None:
        self.send_response(code)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def json(self, message: Any, code: int = 200) -> None:
        headers = {"content-type": "application/json"}
        if self.script.session_id is not None:
            headers["mcp-session-id"] = self.script.session_id
        self.status(code, headers, json.dumps(message).encode())

    def stream(self) -> None:
        """Begin an event stream; it ends with the connection."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, message: Any, **fields: object) -> None:
        lines = [f"{name}: {value}" for name, value in fields.items()]
        data = "" if message is None else message if isinstance(message, str) else json.dumps(message)
        self.wfile.write("\n".join([*lines, f"data: {data}", "", ""]).encode())
        self.wfile.flush()


def answer_of(message: Message) -> Message:
    return {"content": [{"type": "text", "text": json.dumps(message["params"].get("arguments"))}]}


def reply(message: Message) -> Message:
    return {"jsonrpc": "2.0", "id": message["id"], "result": answer_of(message)}


@contextmanager
def http_server() -> Iterator[Script]:
    script = Script()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("ScriptedHandler", (Handler,), {"script": script}))
    server.daemon_threads = True
    script.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield script
    finally:
        script.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()
