"""MCP over HTTP, server side (streamable HTTP): each POST is one message, answered by JSON or by an event stream.

Clients that shake hands get a session id, which only its own principal can use; clients of 2026-07-28 have none. Knows HTTP
requests and `Client`s; knows no sockets.
"""

from __future__ import annotations

import base64
import binascii
import re
import secrets
from collections.abc import Mapping
from typing import Any

import anyio
from msgspec import Struct

from toolwright.base.concurrency import OwnedTask, spawn
from toolwright.mcp.client.client import STATELESS
from toolwright.mcp.client.streamable_http import METHOD, NAME, SESSION, VERSION
from toolwright.mcp.rpc import INVALID_PARAMS, METHOD_NOT_FOUND, PROTOCOL_VERSIONS
from toolwright.mcp.server.access import Access, Barred
from toolwright.mcp.server.client import Client
from toolwright.mcp.server.exchange import HttpExchange
from toolwright.mcp.server.http_messages import MAX_BODY_SIZE, HttpConnection, Request
from toolwright.mcp.server.requests import (
    CAPABILITIES_KEY,
    VERSION_KEY,
    Incoming,
    Message,
    Refused,
    check_version,
    number_of,
    read_message,
)
from toolwright.mcp.server.stdio import decoded_json
from toolwright.mcp.server.tool_provider import OpenOffer
from toolwright.protocol.lines import encode

PATHS = ("/mcp", "/")
MAX_SESSIONS = 100
IDLE_SECONDS = 3600.0
HEADER_MISMATCH = -32020
MAX_STRANGER_SIZE = 64 * 1024
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_JSON = {"content-type": "application/json", "cache-control": "no-store", "x-content-type-options": "nosniff"}
_STATUS_OF_CODE = {-32700: 400, -32600: 400, INVALID_PARAMS: 400, HEADER_MISMATCH: 400, -32021: 400, -32022: 400}


class _Session(Struct):
    principal: str
    client: Client


class Endpoint:
    """Answers the requests of all connections."""

    def __init__(self, open_offer: OpenOffer, access: Access) -> None:
        self._open_offer = open_offer
        self._access = access
        self._sessions: dict[str, _Session] = {}
        self._stateless: dict[str, Client] = {}
        self._work: set[OwnedTask] = set()

    async def serve(self, request: Request, connection: HttpConnection) -> None:
        """One request. Raises `PeerGone`."""
        reply = HttpReply(connection, close=not request.keeps_alive)
        try:
            principal = self._access.principal(request.headers)
        except Barred as barred:  # a stranger: no reason to keep the connection
            await HttpReply(connection, close=True).refuse(barred.status, str(barred))
            return
        try:
            if request.path not in PATHS:
                raise Barred(404, f"There is nothing here; the endpoint is {PATHS[0]}.")
            await self._served(request, principal, reply)
        except Barred as barred:
            await reply.refuse(barred.status, str(barred))

    def room(self, headers: Mapping[str, str]) -> int:
        """How large a body may be: only that of somebody we let in is worth keeping."""
        try:
            self._access.principal(headers)
        except Barred:
            return MAX_STRANGER_SIZE
        return MAX_BODY_SIZE

    async def _served(self, request: Request, principal: str, reply: HttpReply) -> None:
        match request.method:
            case "POST":
                await self._posted(request, principal, reply)
            case "DELETE":
                await self._end(self._session_of(request.headers, principal), request.headers[SESSION])
                await reply.plain(204)
            case _:
                raise Barred(405, "Only POST and DELETE are served; this server says nothing by itself.")

    # messages

    async def _posted(self, request: Request, principal: str, reply: HttpReply) -> None:
        _check_media_types(request.headers)
        decoded: Any = None
        try:
            decoded = decoded_json(request.body)
            incoming = read_message(decoded)
            client, headers = await self._client_for(request, incoming, principal)
        except Refused as refusal:
            await reply.message(refusal.answer(number_of(decoded)), status=_STATUS_OF_CODE.get(refusal.code, 400))
            return
        if incoming.kind == "request":
            await self._answer(incoming, client, HttpExchange(reply, headers))
            return
        if incoming.kind == "answer":
            client.answers.deliver(incoming.message)
        else:
            client.notified(incoming)
        await reply.plain(202)

    async def _client_for(self, request: Request, incoming: Incoming, principal: str) -> tuple[Client, dict[str, str]]:
        version = request.headers.get(VERSION)
        if incoming.is_stateless or version == STATELESS:
            _check_routing(request.headers, incoming)
            return self._stateless_client(principal), {}
        if incoming.kind == "request" and incoming.method == "initialize":
            return await self._begin(principal)
        session = self._session_of(request.headers, principal)
        if version is not None and version not in PROTOCOL_VERSIONS:
            check_version(version)
        return session.client, {}

    async def _answer(self, request: Incoming, client: Client, exchange: HttpExchange) -> None:
        """When the client goes away: one that shook hands may come back, so its call runs on; any other has cancelled it."""
        begun = request.method == "initialize"

        async def work() -> None:
            answer = await client.answer(request, exchange.way_back(client.answers))
            refused = answer is None or "error" in answer
            if begun and refused:
                self._forget(client)
            status = status_of(answer) if request.is_stateless and answer is not None else 200
            exchange.finish(answer, status=status)

        task = spawn(work, name=f"mcp {request.method[:40]}")
        self._work = {each for each in self._work if not each.done} | {task}
        try:
            await exchange.carry(task)
        except BaseException:
            if request.is_stateless:
                task.cancel()
            raise

    # clients

    def _stateless_client(self, principal: str) -> Client:
        if principal not in self._stateless:
            self._stateless[principal] = Client(self._open_offer, withdrawable=False)
        return self._stateless[principal]

    async def _begin(self, principal: str) -> tuple[Client, dict[str, str]]:
        await self._make_room()
        number = secrets.token_urlsafe(32)
        client = Client(self._open_offer)
        self._sessions[number] = _Session(principal, client)
        return client, {SESSION: number}

    def _session_of(self, headers: Mapping[str, str], principal: str) -> _Session:
        number = headers.get(SESSION)
        if number is None:
            raise Barred(400, "The Mcp-Session-Id header is missing: say initialize first.")
        session = self._sessions.get(number)
        if session is None or session.principal != principal:
            raise Barred(404, "There is no such session: say initialize again.")
        return session

    async def _make_room(self) -> None:
        """Forget sessions that nobody uses any more. Raises `Barred` if all are in use."""
        now = anyio.current_time()
        idle = sorted((s.client.used_at, number) for number, s in self._sessions.items() if not s.client.is_busy)
        for used_at, number in idle:
            if now - used_at > IDLE_SECONDS or len(self._sessions) >= MAX_SESSIONS:
                await self._end(self._sessions[number], number)
        if len(self._sessions) >= MAX_SESSIONS:
            raise Barred(503, f"{MAX_SESSIONS} sessions are at work; try again later.")

    async def _end(self, session: _Session, number: str) -> None:
        self._sessions.pop(number, None)
        await session.client.aclose()

    def _forget(self, client: Client) -> None:
        for number, session in tuple(self._sessions.items()):
            if session.client is client:
                del self._sessions[number]

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            for client in [*(session.client for session in self._sessions.values()), *self._stateless.values()]:
                await client.aclose()
            for task in tuple(self._work):
                task.cancel()
                await task.wait()


class HttpReply:
    """The answer to one request: a refusal, a JSON message, or events."""

    def __init__(self, connection: HttpConnection, *, close: bool) -> None:
        self.connection = connection
        self._close = close

    async def plain(self, status: int) -> None:
        await self.connection.respond(status, {}, close=self._close)

    async def refuse(self, status: int, text: str) -> None:
        headers = dict(_JSON)
        headers |= {"www-authenticate": 'Bearer realm="toolwright"'} if status == 401 else {}
        headers |= {"allow": "POST, DELETE"} if status == 405 else {}
        body = encode(Refused(-32000, text).answer(None))
        await self.connection.respond(status, headers, body, close=self._close)

    async def message(self, message: Message, *, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        await self.connection.respond(status, {**_JSON, **(headers or {})}, encode(message), close=self._close)


def status_of(answer: Message) -> int:
    """The HTTP status that 2026-07-28 wants for an error."""
    error = answer.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return 404 if code == METHOD_NOT_FOUND else _STATUS_OF_CODE.get(code, 200) if isinstance(code, int) else 200


def _check_media_types(headers: Mapping[str, str]) -> None:
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Barred(415, "The Content-Type must be application/json.")
    accepted = {part.partition(";")[0].strip().lower() for part in headers.get("accept", "").split(",")}
    wanted = ({"application/json", "application/*", "*/*"}, {"text/event-stream", "text/*", "*/*"})
    if not all(accepted & kinds for kinds in wanted):
        raise Barred(406, "The client must accept application/json and text/event-stream.")


def _check_routing(headers: Mapping[str, str], incoming: Incoming) -> None:
    """In 2026-07-28 headers repeat what the body says; whoever routes by them must not be told something else."""
    version = headers.get(VERSION)
    if incoming.kind != "request":
        check_version(version or "")
        return
    missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in incoming.meta]
    if missing:
        raise Refused(INVALID_PARAMS, f"params._meta needs {' and '.join(missing)}.")
    if version is None or version != incoming.meta[VERSION_KEY]:
        raise Refused(HEADER_MISMATCH, f"The header {VERSION} is not what params._meta says.")
    if headers.get(METHOD) != incoming.method:
        raise Refused(HEADER_MISMATCH, f"The header {METHOD} is not the method of the body.")
    named = incoming.params.get(_NAMED.get(incoming.method, ""))
    if named is not None and plain_value(headers.get(NAME)) != named:
        raise Refused(HEADER_MISMATCH, f"The header {NAME} is not what the body names.")


def plain_value(value: str | None) -> str | None:
    """A header's text; `=?base64?…?=` is how one that is not plain ASCII travels."""
    wrapped = re.fullmatch(r"=\?base64\?([A-Za-z0-9+/=]*)\?=", value or "")
    if wrapped is None:
        return value
    try:
        return base64.b64decode(wrapped[1], validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
