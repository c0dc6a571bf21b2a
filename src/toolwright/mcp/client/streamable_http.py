"""An MCP server over streamable HTTP: each message is a POST, its answer is JSON or an event stream.

A request is carried by its caller's own task: cancelling the caller closes the stream. A stream that breaks before the answer
came is taken up again where it stood, if the server numbered its events. Beside the requests there is at most one stream for
what the server says by itself, in a task of its own. Knows sessions and headers; knows methods only where headers need them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio

from toolwright.base.concurrency import OwnedTask, spawn
from toolwright.mcp.client.http_client import EventStream, HttpDoor, messages_in, refused, whole_body
from toolwright.mcp.client.parameter_headers import BadMark, Marks, marks_of, values_of
from toolwright.mcp.client.transport import Inbox, LinkError, LinkLost, Message, SessionGone, is_answer
from toolwright.protocol.lines import encode

if TYPE_CHECKING:
    from toolwright.models.http import HttpResponse

SESSION, VERSION, METHOD, NAME, LAST_EVENT = "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id"
STATELESS_VERSION = "2026-07-28"
_ACCEPT = {"accept": "application/json, text/event-stream"}
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_MAX_RESUMPTIONS = 10
_RETRY_SECONDS = 1.0
_MAX_RETRY_DELAY = 30.0
_CLOSE_SECONDS = 2.0
_LISTEN_SECONDS = 0.5
_PLAIN = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_WRAPPED = re.compile(r"=\?base64\?.*\?=")


class StreamableHttpLink:
    """Implements `Link`."""

    def __init__(self, url: str, headers: Mapping[str, str], env: Mapping[str, str], *, tokens: str | None = None) -> None:
        self.inbox: Inbox | None = None
        self._door = HttpDoor(url, headers, env)
        self._login = None if tokens is None else (url, tokens, env)
        self._session_id: str | None = None
        self._version: str | None = None
        self._listener: OwnedTask | None = None
        self._marks: dict[str, Marks] = {}
        """Tool → the arguments that it wants as headers, as the server last listed it."""
        self._heard = anyio.Event()
        """Set when the server has answered the request for its own messages."""

    @property
    def door(self) -> HttpDoor:
        return self._door

    async def open(self) -> None:
        """The first message dials; here only a login that is kept is looked up."""
        self._session_id = self._version = None
        if self._login is not None and "authorization" not in self._door.headers:
            from toolwright.mcp.client.oauth.bearer import token_for  # only for servers over HTTP

            token = await token_for(*self._login)
            self._door.headers |= {} if token is None else {"authorization": f"Bearer {token}"}

    async def exchange(self, message: Message) -> Message:
        async with self._door.request("POST", self._headers(message), body=encode(message)) as answer:
            await self._check(answer, message)
            if message["method"] == "initialize":
                self._session_id = _session_id(answer.headers.get(SESSION))
            if _media_type(answer) == "text/event-stream":
                found, stream = await self._answer_in(EventStream(answer), message["id"])
            else:
                found, stream = self._sorted(messages_in(await whole_body(answer)), message["id"]), None
        if found is None and stream is not None:
            found = await self._resumed(stream, message["id"])
        if found is None:
            raise LinkLost("its answer ended before it was complete")
        if self._version == STATELESS_VERSION and message["method"] == "tools/list":
            self._marks |= _marks_in(found.get("result"))
        return found

    async def send(self, message: Message) -> None:
        if self._version == STATELESS_VERSION and message.get("method") == "notifications/cancelled":
            return  # in this version the closed stream says it
        async with self._door.request("POST", self._headers(message), body=encode(message)) as answer:
            await self._check(answer, message)

    async def ready(self, protocol_version: str, *, listen: bool) -> None:
        self._version = protocol_version
        if listen and protocol_version != STATELESS_VERSION and self._listener is None:
            self._listener = spawn(self._listen, name="mcp server messages")
            with anyio.move_on_after(_LISTEN_SECONDS):  # some servers lose what they say before the stream stands
                await self._heard.wait()

    async def close(self) -> None:
        listener, self._listener = self._listener, None
        with anyio.CancelScope(shield=True):
            if listener is not None:
                listener.cancel()
                await listener.wait()
            await self._end_session()
            await self._door.release()

    # headers

    def _headers(self, message: Message | None = None) -> dict[str, str]:
        headers = dict(_ACCEPT) | ({"content-type": "application/json"} if message is not None else {})
        if self._session_id is not None:
            headers[SESSION] = self._session_id
        version = _envelope_version(message) or self._version
        if version is not None:
            headers[VERSION] = version
        if message is not None and version == STATELESS_VERSION:
            headers |= _routing_headers(message) | self._parameter_headers(message)
        return headers

    def _parameter_headers(self, message: Message) -> dict[str, str]:
        params = message.get("params")
        if message.get("method") != "tools/call" or not isinstance(params, dict):
            return {}
        values = values_of(self._marks.get(params["name"], {}), params.get("arguments") or {})
        return {name: header_text(value) for name, value in values.items()}

    # answers

    async def _check(self, answer: HttpResponse, message: Message) -> None:
        """Raises for an answer that is no success, unless its body is a JSON-RPC error, which is left for the reader."""
        if 200 <= answer.status < 300:
            return
        if answer.status == 404 and self._session_id is not None:
            raise SessionGone("it no longer knows our session (HTTP 404)")
        if answer.status in (400, 404) and "id" in message and _media_type(answer) == "application/json":
            return
        raise await refused(answer)

    async def _answer_in(self, stream: EventStream, number: Any) -> tuple[Message | None, EventStream | None]:
        """The answer on a stream; None and the stream if it ended before."""
        while (event := await stream.next()) is not None:
            found = self._sorted(messages_in(event.data), number) if event.event == "message" else None
            if found is not None:
                return found, None
        return None, stream

    def _sorted(self, messages: list[Message], number: Any) -> Message | None:
        """The answer we wait for; everything else goes to the inbox. An answer to something else is dropped."""
        found = None
        for message in messages:
            if not is_answer(message):
                if self.inbox is not None and isinstance(message.get("method"), str):
                    self.inbox.received(message)
            elif message.get("id") == number or (message.get("id") is None and "error" in message):
                found = found or message
        return found

    async def _resumed(self, stream: EventStream, number: Any) -> Message | None:
        """Go on with a stream that broke. Without event ids there is nowhere to go on."""
        for _ in range(_MAX_RESUMPTIONS):
            if not stream.last_id:
                return None
            await anyio.sleep(min(_MAX_RETRY_DELAY, _RETRY_SECONDS if stream.retry_seconds is None else stream.retry_seconds))
            async with self._door.request("GET", self._stream_headers(stream.last_id)) as answer:
                if answer.status != 200:
                    return None
                found, again = await self._answer_in(_continued(answer, stream), number)
            if found is not None or again is None:
                return found
            stream = again
        return None

    def _stream_headers(self, last_id: str) -> dict[str, str]:
        headers = self._headers() | {"accept": "text/event-stream"}
        return headers | ({LAST_EVENT: last_id} if last_id and last_id.isascii() and last_id.isprintable() else {})

    # what the server says by itself

    async def _listen(self) -> None:
        stream: EventStream | None = None
        delay = _RETRY_SECONDS
        while True:
            with suppress(LinkError):
                async with self._door.request("GET", self._stream_headers(stream.last_id if stream else "")) as answer:
                    self._heard.set()
                    if answer.status != 200 or _media_type(answer) != "text/event-stream":
                        if answer.status < 500:
                            return  # it has no such stream (405), or no such session: the next request will tell
                    else:
                        stream = EventStream(answer) if stream is None else _continued(answer, stream)
                        delay = _RETRY_SECONDS
                        await self._answer_in(stream, None)
            wanted = stream.retry_seconds if stream is not None else None
            await anyio.sleep(delay if wanted is None else max(wanted, 0.05))
            delay = min(_MAX_RETRY_DELAY, delay * 2)

    async def _end_session(self) -> None:
        session_id, headers = self._session_id, self._headers()
        self._session_id = self._version = None
        if session_id is None:
            return
        with anyio.move_on_after(_CLOSE_SECONDS), suppress(LinkError):
            async with self._door.request("DELETE", headers):
                pass


def _continued(answer: HttpResponse, before: EventStream) -> EventStream:
    from toolwright.models.sse import SseParser

    parser = SseParser()
    parser.last_id, parser.retry_seconds = before.last_id, before.retry_seconds
    return EventStream(answer, parser)


def _media_type(answer: HttpResponse) -> str:
    return answer.headers.get("content-type", "").partition(";")[0].strip().lower()


def _session_id(given: str | None) -> str | None:
    """The protocol allows visible ASCII; anything else would be an injected header."""
    if given is None:
        return None
    if not re.fullmatch(r"[\x21-\x7e]{1,1024}", given):
        raise LinkError("it gave a session id with characters that are not allowed")
    return given


def _envelope_version(message: Message | None) -> str | None:
    """The version that a request of the stateless era carries itself."""
    params = (message or {}).get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get("io.modelcontextprotocol/protocolVersion") if isinstance(meta, dict) else None
    return version if isinstance(version, str) else None


def _routing_headers(message: Message) -> dict[str, str]:
    method = message.get("method")
    if not isinstance(method, str):
        return {}
    params = message.get("params")
    name = params.get(_NAMED[method]) if method in _NAMED and isinstance(params, dict) else None
    return {METHOD: method} | ({NAME: header_text(name)} if isinstance(name, str) else {})


def _marks_in(listed: Any) -> dict[str, Marks]:
    """The marks of the tools on a page of a list. A tool whose marks are wrong is not offered, so it needs none."""
    found: dict[str, Marks] = {}
    for tool in listed.get("tools") or () if isinstance(listed, dict) else ():
        with suppress(BadMark, AttributeError, KeyError, TypeError):
            found[tool["name"]] = marks_of(tool["inputSchema"])
    return found


def header_text(value: str) -> str:
    """`value` as it may stand in a header: in base64 if it is not plain ASCII."""
    if (not value or _PLAIN.fullmatch(value)) and not _WRAPPED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'replace')).decode()}?="
