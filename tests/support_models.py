"""Shared by the tests of models: asking a model, and looking at what a process holds open."""

from __future__ import annotations

import os
from contextlib import aclosing
from typing import Any

import anyio

from toolwright.models.base import HistoryMessage, Model, ModelError, ModelRequest, Retry
from toolwright.testing import ModelServer


def user(text: str = "hi") -> HistoryMessage:
    return HistoryMessage("user", [{"type": "text", "text": text}])


def ask(text: str = "hi", **more: Any) -> ModelRequest:
    return ModelRequest(**{"model": "claude-scripted", "messages": [user(text)], **more})


async def drain(model: Model, request: ModelRequest) -> tuple[list[dict[str, Any]], list[Retry], ModelError | None]:
    """All that comes of a request: its events, its retries, and the error that ended it."""
    events: list[dict[str, Any]] = []
    retries: list[Retry] = []
    async with aclosing(model.stream(request)) as stream:
        try:
            async for item in stream:
                if isinstance(item, Retry):
                    retries.append(item)
                else:
                    events.append(item)
        except ModelError as error:
            return events, retries, error
    return events, retries, None


def text_of(events: list[dict[str, Any]]) -> str:
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    return "".join(delta.get("text", "") for delta in deltas)


def open_sockets() -> int:
    """Sockets this process holds. Linux only; elsewhere nothing is seen and nothing is claimed."""
    folder = "/proc/self/fd"
    if not os.path.isdir(folder):
        return 0
    links = []
    for name in os.listdir(folder):
        try:
            links.append(os.readlink(f"{folder}/{name}"))
        except OSError:
            continue
    return sum(link.startswith("socket:") for link in links)


async def all_closed(server: ModelServer) -> None:
    """Wait until the server has seen every connection end; it runs in a thread of its own."""
    with anyio.fail_after(5):
        while server.open_connections:
            await anyio.sleep(0.005)
