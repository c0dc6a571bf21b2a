"""What tests of hooks share: hooks as settings describe them, and a server that hooks ask."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from toolwright.hooks import HookFailure, HookListener


class Failures(HookListener):
    """Remembers what failed."""

    def __init__(self) -> None:
        self.heard: list[HookFailure] = []

    def failed(self, failure: HookFailure) -> None:
        self.heard.append(failure)


@dataclass(frozen=True, slots=True)
class Setting:
    """A hook of the settings."""

    event: str = "PreToolUse"
    matcher: str = ""
    kind: str = "command"
    source: object = "settings.json:3"
    command: str | None = "true"
    args: tuple[str, ...] | None = None
    url: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    variables: tuple[str, ...] = ()
    condition: str | None = None
    timeout: float | None = None
    runs_async: bool = False
    once: bool = False
    shell: str | None = None


def command_settings(event: str, *commands: str | dict[str, Any], matcher: str | None = None) -> str:
    """Settings text with these commands (or whole entries) for an event."""
    entries = [{"type": "command", "command": each} if isinstance(each, str) else each for each in commands]
    group = {"hooks": entries} if matcher is None else {"matcher": matcher, "hooks": entries}
    return json.dumps({"hooks": {event: [group]}})


@dataclass(slots=True)
class HookServer:
    """Answers every POST with the same response, and remembers what it was asked."""

    url: str
    asked: list[dict[str, Any]]
    headers: list[dict[str, str]]
    paths: list[str]


@contextmanager
def hook_server(
    body: bytes = b"", *, status: int = 200, location: str = "", hangs: threading.Event | None = None
) -> Iterator[HookServer]:
    """`hangs`: it answers only after this has been set."""
    answers = HookServer("", [], [], [])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            answers.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            answers.headers.append({name.lower(): value for name, value in self.headers.items()})
            answers.paths.append(self.path)
            if hangs is not None:
                hangs.wait(30)
            self.send_response(status)
            if location:
                self.send_header("location", location)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:
                pass  # the hook was given up

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    answers.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield answers
    finally:
        if hangs is not None:
            hangs.set()
        server.shutdown()
        thread.join()
        server.server_close()
