"""HTTP requests to one MCP server, over the connections that all sessions of an event loop share.

Puts headers together, bounds what is read, and says what went wrong in words about the server. It follows no redirect: a
server must not be able to send our headers, which hold secrets, somewhere else. Knows no MCP method.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from toolwright._version import __version__
from toolwright.mcp.client.transport import (
    MAX_MESSAGE_DEPTH,
    MAX_MESSAGE_SIZE,
    LinkError,
    Message,
    NeedsAuthorization,
    is_too_deep,
)
from toolwright.models.sse import ServerEvent, SseParser

if TYPE_CHECKING:
    from toolwright.models.http import HttpResponse, Leases

SILENCE_SECONDS = 28 * 3600.0
"""The longest silence in the middle of an answer. What bounds a call is the call's own timeout."""
CONNECT_SECONDS = 30.0
_SHOWN_BODY = 300
_FINISH_SECONDS = 0.02
"""How long the end of an answer may take after all that matters of it: then the connection can be used again."""


class HttpDoor:
    """Requests to one URL. Give it back with `release`."""

    def __init__(self, url: str, headers: Mapping[str, str], env: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        self.origin = f"{parts.scheme.lower()}://{parts.netloc.rpartition('@')[2]}"
        self.target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._url = url
        self._env = env
        self.headers = {name.lower(): value for name, value in headers.items()}
        self._leases: Leases | None = None

    def _lease(self) -> Leases:
        if self._leases is None:
            from toolwright.models.http import Leases  # brings httpcore2 when first used

            self._leases = Leases(self.origin, self._env)
        return self._leases

    @asynccontextmanager
    async def request(
        self, method: str, headers: Mapping[str, str], *, body: bytes = b"", target: str | None = None
    ) -> AsyncIterator[HttpResponse]:
        """Send a request and hand over its answer. Raises `LinkError`."""
        answer = await self._begun(method, headers, body=body, target=self.target if target is None else target)
        try:
            yield answer
            if method == "POST":
                await answer.finish(_FINISH_SECONDS)
        finally:
            await answer.aclose()

    async def _begun(self, method: str, headers: Mapping[str, str], *, body: bytes, target: str) -> HttpResponse:
        from toolwright.models.base import ModelError
        from toolwright.models.http import Timeouts

        own = {"user-agent": f"toolwright/{__version__}", **self.headers, **headers}
        raw = [(name.encode("ascii"), value.encode("ascii")) for name, value in own.items()]
        try:
            lease = self._lease().here()
            timeouts = Timeouts(CONNECT_SECONDS, SILENCE_SECONDS)
            return await lease.request(method, target, headers=raw, body=body, timeouts=timeouts)
        except ModelError as error:
            raise LinkError(reworded(error)) from None
        except UnicodeEncodeError:
            raise LinkError("its URL is not plain ASCII") from None

    async def release(self) -> None:
        leases, self._leases = self._leases, None
        if leases is not None:
            await leases.release()


def reworded(error: Exception) -> str:
    """What the HTTP room says of model servers, said of this one."""
    return str(error).replace("The model server", "it").replace("the model server", "it")


async def refused(answer: HttpResponse) -> LinkError:
    """What an answer that is no success means."""
    if answer.status == 401:
        challenge = answer.headers.get("www-authenticate", "")
        return NeedsAuthorization("it wants authorization (HTTP 401): give it a token under headers, or log in", challenge)
    if 300 <= answer.status < 400:
        where = answer.headers.get("location", "nowhere")[:200]
        return LinkError(f"it redirects to {where} (HTTP {answer.status}); redirects are not followed: configure that URL")
    body = (await answer.read_all()).decode("utf-8", "replace").strip()
    return LinkError(f"it answered HTTP {answer.status}{': ' if body else ''}{body[:_SHOWN_BODY]}")


async def whole_body(answer: HttpResponse) -> bytes:
    pieces, size = [], 0
    while chunk := await _chunk(answer):
        pieces.append(chunk)
        size += len(chunk)
        if size > MAX_MESSAGE_SIZE:
            raise LinkError(f"its answer is longer than {MAX_MESSAGE_SIZE // 1024 // 1024} MB")
    return b"".join(pieces)


class EventStream:
    """The events of an answer. `last_id` and `retry_seconds` tell where and when to go on after it broke."""

    def __init__(self, answer: HttpResponse, parser: SseParser | None = None) -> None:
        self._answer = answer
        self._parser = parser or SseParser()
        self._events: list[ServerEvent] = []
        self._size = 0

    @property
    def last_id(self) -> str:
        return self._parser.last_id

    @property
    def retry_seconds(self) -> float | None:
        return self._parser.retry_seconds

    async def next(self) -> ServerEvent | None:
        """The next event; None at the end of the stream, however it ended. Raises `LinkError` for one that is too long."""
        while not self._events:
            try:
                chunk = await _chunk(self._answer)
            except LinkError:
                return None
            if not chunk:
                return None
            self._events = self._parser.feed(chunk)
            self._size = 0 if self._events else self._size + len(chunk)
            if self._size > MAX_MESSAGE_SIZE:
                raise LinkError(f"it sent an event longer than {MAX_MESSAGE_SIZE // 1024 // 1024} MB")
        return self._events.pop(0)


async def _chunk(answer: HttpResponse) -> bytes:
    from toolwright.models.base import ModelError

    try:
        return await answer.next_chunk()
    except ModelError as error:
        raise LinkError(reworded(error)) from None


def messages_in(data: bytes) -> list[Message]:
    """The messages of a body or an event: one, or a list of them (as versions up to 2025-03-26 allow). Raises `LinkError`."""
    if not data.strip():
        return []
    try:
        read = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise LinkError(f"it sent something that is no JSON ({error})") from None
    if is_too_deep(data, read):
        raise LinkError(f"it sent something that is nested deeper than {MAX_MESSAGE_DEPTH} levels")
    return [message for message in (read if isinstance(read, list) else [read]) if isinstance(message, dict)]
