"""An MCP server over the older HTTP transport: one event stream that brings everything, and a URL to POST to.

The stream is read by a task of its own. The URL for posting must have the origin of the stream: a server cannot send our
headers elsewhere. Knows messages only.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urljoin, urlsplit

import anyio

from toolwright.base.concurrency import OwnedTask, spawn
from toolwright.mcp.client.http_client import EventStream, HttpDoor, messages_in, refused
from toolwright.mcp.client.transport import Inbox, LinkError, LinkLost, Message, Waiting, is_answer
from toolwright.protocol.lines import encode


class SseLink:
    """Implements `Link`."""

    def __init__(self, url: str, headers: Mapping[str, str], env: Mapping[str, str]) -> None:
        self.inbox: Inbox | None = None
        self._url = url
        self._door = HttpDoor(url, headers, env)
        self._reader: OwnedTask | None = None
        self._opened = anyio.Event()
        self._waiting = Waiting()
        self._endpoint = ""
        self._version: str | None = None
        self._failure: LinkError | None = None
        self._closing = False

    async def open(self) -> None:
        self._opened, self._waiting, self._failure, self._closing = anyio.Event(), Waiting(), None, False
        self._reader = spawn(self._listen, name="mcp server events")
        await self._opened.wait()
        if self._failure is not None:
            raise self._failure

    async def exchange(self, message: Message) -> Message:
        return await self._waiting.exchange(message, self.send)

    async def send(self, message: Message) -> None:
        if self._reader is None or self._reader.done:
            raise self._failure or LinkLost("its event stream has ended")
        headers = {"content-type": "application/json"} | ({"mcp-protocol-version": self._version} if self._version else {})
        async with self._door.request("POST", headers, body=encode(message), target=self._endpoint) as answer:
            if not 200 <= answer.status < 300:
                raise await refused(answer)

    async def ready(self, protocol_version: str, *, listen: bool) -> None:
        self._version = protocol_version

    async def close(self) -> None:
        self._closing = True
        reader, self._reader = self._reader, None
        with anyio.CancelScope(shield=True):
            if reader is not None:
                reader.cancel()
                await reader.wait()
            await self._door.release()

    async def _listen(self) -> None:
        reason = "its event stream has ended"
        try:
            async with self._door.request("GET", {"accept": "text/event-stream"}) as answer:
                if answer.status != 200:
                    raise await refused(answer)
                stream = EventStream(answer)
                while (event := await stream.next()) is not None:
                    self._take(event.event, event.data)
        except LinkError as error:
            self._failure = error
            reason = str(error)
        finally:
            self._ended(reason)

    def _ended(self, reason: str) -> None:
        if not self._opened.is_set():
            self._failure = self._failure or LinkLost("its event stream ended before it named a URL to post to")
            self._opened.set()
        self._waiting.lose(reason)
        if self.inbox is not None and not self._closing:
            self.inbox.lost(reason)

    def _take(self, event: str, data: bytes) -> None:
        if event == "endpoint":
            self._endpoint = self._target(data.decode("utf-8", "replace").strip())
            self._opened.set()
            return
        for message in messages_in(data) if event == "message" else []:
            if is_answer(message):
                self._waiting.deliver(message)
            elif self.inbox is not None:
                self.inbox.received(message)

    def _target(self, given: str) -> str:
        parts = urlsplit(urljoin(self._url, given))
        origin = f"{parts.scheme.lower()}://{parts.netloc.rpartition('@')[2]}"
        if origin != self._door.origin or not given.isascii() or not given.isprintable():
            raise LinkError(f"it wants messages posted to {given[:200]!r}, which is not on {self._door.origin}")
        return parts.path + (f"?{parts.query}" if parts.query else "")
