"""What tests of external tool servers share: servers that misbehave, and connections to them."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from toolwright.mcp.client.configs import parse_config
from toolwright.mcp.client.connections import ServerContext, external_server
from toolwright.mcp.client.server_connection import ExternalServer
from toolwright.mcp.client.server_events import Audience, Timing
from toolwright.mcp.client.server_requests import Answering

SERVER = str(Path(__file__).parent / "support_mcp_server.py")
TIMEOUT = 30.0
"""How long a test waits for something that must happen."""


def entry(*arguments: str, **more: Any) -> dict[str, Any]:
    """The configuration of the server that misbehaves."""
    return {"command": sys.executable, "args": [SERVER, *arguments], **more}


def around(folder: Path, *, answering: Answering | None = None, timing: Timing | None = None, **more: Any) -> ServerContext:
    answering = answering or Answering(lambda: (str(folder),))
    env = {**os.environ, "GITHUB_TOKEN": "ghp_0123456789abcdefABCDEF", "OTHER": "unrelated"}
    return ServerContext(
        str(folder),
        {},
        lambda: env,
        lambda: (str(folder),),
        answering=answering,
        timing=timing or Timing(TIMEOUT, TIMEOUT),
        **more,
    )


@asynccontextmanager
async def server_for(
    folder: Path, config: dict[str, Any], *, surroundings: ServerContext | None = None, audience: Audience | None = None
) -> AsyncIterator[ExternalServer]:
    """A server that is not connected yet, closed at the end."""
    server = external_server(parse_config("test", config), surroundings or around(folder), audience)
    try:
        yield server
    finally:
        await server.aclose()


def text_of(result: dict[str, Any]) -> str:
    return "".join(block.get("text", "") for block in result["content"])


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait until `condition` holds."""
    with anyio.fail_after(TIMEOUT):
        while not condition():
            await anyio.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False
