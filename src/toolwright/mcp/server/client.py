"""One client of our server: its handshake, its requests, its running calls. Both eras; knows no transport.

2025-11-25 and older shake hands and may be asked while a call runs; 2026-07-28 says with each request who asks, and is asked by
a result that wants the same call again with the answer. Whatever a request is, it gets one answer and breaks nothing else.
"""

from __future__ import annotations

import itertools
import secrets
from contextlib import suppress
from typing import Any, Protocol

import anyio

from toolwright.mcp.client.client import STATELESS
from toolwright.mcp.client.transport import Waiting
from toolwright.mcp.rpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PROTOCOL_VERSIONS
from toolwright.mcp.server.requests import META, Id, Incoming, Message, Refused, check_envelope
from toolwright.mcp.server.running_call import LEVELS, Facts, Sealed, ServedCall
from toolwright.mcp.server.tool_provider import AnswerLater, CannotAsk, Offer, OpenOffer
from toolwright.mcp.tool_server import ServedTool

MAX_AT_ONCE = 64
"""Requests of one client that are worked on at the same time; more are refused."""
BUSY = -32000
MISSING_CAPABILITY = -32021


class WayBack(Protocol):
    """What can be said to the client about one request before its answer."""

    async def notify(self, message: Message) -> None: ...

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Raises `CannotAsk`."""
        ...


class Client:
    """A client's side of the server. `withdrawable`: its request ids are its own, so that it can take one back by its id."""

    def __init__(self, open_offer: OpenOffer, *, withdrawable: bool = True) -> None:
        self._open_offer = open_offer
        self._withdrawable = withdrawable
        self._offer: Offer | None = None
        self._opening = anyio.Lock()
        self._running: dict[Any, anyio.CancelScope] = {}
        self._numbers = itertools.count()
        self._facts: Facts | None = None
        self._sealed = Sealed()
        self.answers = Waiting()
        """What the client is asked and has not answered yet."""
        self.used_at = anyio.current_time()

    @property
    def is_busy(self) -> bool:
        return bool(self._running)

    @property
    def protocol_version(self) -> str | None:
        """As agreed in the handshake."""
        return None if self._facts is None else self._facts.version

    # requests

    async def answer(self, request: Incoming, back: WayBack) -> Message | None:
        """The answer; None if the client took the request back. Only cancellation from outside raises."""
        self.used_at = anyio.current_time()
        key = request.number if self._withdrawable else next(self._numbers)
        if key in self._running:
            return Refused(INVALID_REQUEST, f"A request with the id {key!r} is still being worked on.").answer(request.number)
        if len(self._running) >= MAX_AT_ONCE:
            return Refused(BUSY, f"More than {MAX_AT_ONCE} requests at once.").answer(request.number)
        with anyio.CancelScope() as scope:
            self._running[key] = scope
            try:
                return await self._answered(request, back)
            finally:
                del self._running[key]
                self.used_at = anyio.current_time()
        return None

    async def _answered(self, request: Incoming, back: WayBack) -> Message:
        try:
            result = await self._result(request, back)
        except Refused as refusal:
            return refusal.answer(request.number)
        except Exception as error:  # noqa: BLE001 — the request boundary: a failing handler answers, the server goes on
            return Refused(INTERNAL_ERROR, f"Internal error: {type(error).__name__}").answer(request.number)
        return {"jsonrpc": "2.0", "id": request.number, "result": result}

    async def _result(self, request: Incoming, back: WayBack) -> dict[str, Any]:
        if request.is_stateless:
            facts = Facts(STATELESS, check_envelope(request), str(request.meta.get(f"{META}logLevel") or ""))
            return await self._stateless(request, facts, back)
        match request.method:
            case "initialize":
                return await self._initialize(request)
            case "ping":
                return {}
        if self._facts is None:
            raise Refused(INVALID_REQUEST, "Say initialize first, or give the protocol version in _meta.")
        if request.method == "logging/setLevel":
            return self._set_level(request.params.get("level"))
        return await self._served(request, self._facts, back)

    async def _stateless(self, request: Incoming, facts: Facts, back: WayBack) -> dict[str, Any]:
        if request.method == "server/discover":
            result = await self._discover()
        elif request.method == "subscriptions/listen":
            result = await self._listen(request, back)
        else:
            result = await self._served(request, facts, back)
        offer = await self._opened()
        meta = {**result.get("_meta", {}), f"{META}serverInfo": {"name": offer.name, "version": offer.version}}
        cached = {"ttlMs": 0, "cacheScope": "private"} if request.method in ("server/discover", "tools/list") else {}
        return {"resultType": "complete", **cached, **result, "_meta": meta}

    async def _served(self, request: Incoming, facts: Facts, back: WayBack) -> dict[str, Any]:
        match request.method:
            case "tools/list":
                return await self._list_tools(request.params)
            case "tools/call":
                return await self._call_tool(request, facts, back)
        raise Refused(METHOD_NOT_FOUND, f"Method not found: {request.method[:200]}")

    # handshakes

    async def _initialize(self, request: Incoming) -> dict[str, Any]:
        if self._facts is not None:
            raise Refused(INVALID_REQUEST, "This connection was initialized before.")
        wanted, capabilities = request.params.get("protocolVersion"), request.params.get("capabilities")
        if not isinstance(wanted, str):
            raise Refused(INVALID_PARAMS, 'initialize needs "protocolVersion", a text.')
        if not isinstance(capabilities, dict):
            raise Refused(INVALID_PARAMS, 'initialize needs "capabilities", an object.')
        version = wanted if wanted in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[0]
        offer = await self._opened()
        self._facts = Facts(version, capabilities)
        return {
            "protocolVersion": version,
            "serverInfo": {"name": offer.name, "version": offer.version},
            **_introduction(offer),
        }

    async def _discover(self) -> dict[str, Any]:
        return {"supportedVersions": [STATELESS, *PROTOCOL_VERSIONS], **_introduction(await self._opened())}

    async def _listen(self, request: Incoming, back: WayBack) -> dict[str, Any]:
        """A standing stream. Our tools do not change, so after the acknowledgement nothing is ever said on it."""
        mark = {f"{META}subscriptionId": request.number}
        params = {"notifications": {}, "_meta": mark}
        await back.notify({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params})
        await anyio.sleep_forever()
        return {"_meta": mark}

    def _set_level(self, level: Any) -> dict[str, Any]:
        if level not in LEVELS:
            raise Refused(INVALID_PARAMS, f'logging/setLevel needs "level", one of {", ".join(LEVELS)}.')
        if self._facts is not None:
            self._facts.log_level = level
        return {}

    # tools

    async def _list_tools(self, params: dict[str, Any]) -> dict[str, Any]:
        if params.get("cursor") is not None:
            raise Refused(INVALID_PARAMS, "Unknown cursor: all tools are on one page.")
        return {"tools": [described(tool) for tool in await (await self._opened()).list_tools()]}

    async def _call_tool(self, request: Incoming, facts: Facts, back: WayBack) -> dict[str, Any]:
        name, arguments = request.params.get("name"), request.params.get("arguments")
        if not isinstance(name, str):
            raise Refused(INVALID_PARAMS, 'tools/call needs "name", a text.')
        if arguments is not None and not isinstance(arguments, dict):
            raise Refused(INVALID_PARAMS, 'tools/call: "arguments" must be an object.')
        offer = await self._opened()
        if all(tool.name != name for tool in await offer.list_tools()):
            raise Refused(INVALID_PARAMS, f"Unknown tool: {name[:200]}")
        call = ServedCall(f"mcp_{secrets.token_hex(12)}", request, facts, back=back, sealed=self._sealed)
        try:
            async with call.keeping_alive():
                return await offer.call_tool(name, arguments or {}, call)
        except AnswerLater as later:
            return call.wants_input(later)
        except CannotAsk as error:
            lacking: Any = {"requiredCapabilities": {error.capability: {}}} if error.capability else None
            raise Refused(MISSING_CAPABILITY if lacking else INTERNAL_ERROR, str(error), lacking) from None

    # notifications and the end

    def notified(self, note: Incoming) -> None:
        self.used_at = anyio.current_time()
        number = note.params.get("requestId")
        if note.method == "notifications/cancelled" and self._withdrawable and isinstance(number, int | str):
            self.withdraw(number)

    def withdraw(self, number: Id) -> None:
        scope = self._running.get(number)
        if scope is not None:
            scope.cancel()

    async def _opened(self) -> Offer:
        async with self._opening:
            if self._offer is None:
                self._offer = await self._open_offer()
            return self._offer

    async def aclose(self) -> None:
        self.answers.lose("the connection ended")
        for scope in tuple(self._running.values()):
            scope.cancel()
        with anyio.CancelScope(shield=True), suppress(Exception):
            if self._offer is not None:
                await self._offer.aclose()


def _introduction(offer: Offer) -> dict[str, Any]:
    told = {"instructions": offer.instructions} if offer.instructions else {}
    return {"capabilities": {"tools": {}, "logging": {}}, **told}


def described(tool: ServedTool) -> dict[str, Any]:
    title = {"title": tool.annotations["title"]} if "title" in tool.annotations else {}
    shown = {"name": tool.name, **title, "description": tool.description, "inputSchema": tool.input_schema}
    optional = {"annotations": tool.annotations, "_meta": tool.meta, "outputSchema": tool.output_schema}
    return shown | {key: value for key, value in optional.items() if value}
