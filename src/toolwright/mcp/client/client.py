"""One connection to an MCP server, as its client: the handshake of either era, requests, calls, and what the server says.

2025-11-25 and older begin with `initialize`; 2026-07-28 has no handshake, each request says who asks. `initialize` is tried
first, because nearly every server knows it; a server that refuses it is asked with `server/discover`. Knows no transport (that
is the link's) and no session; it lives as long as its link.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
from msgspec import Struct, field

from toolwright._version import __version__
from toolwright.base.concurrency import OwnedTask, spawn
from toolwright.mcp.client.listing import ToolListing, list_all, without_bad_marks
from toolwright.mcp.client.parameter_headers import HEADER_MISMATCH
from toolwright.mcp.client.prompts import ServedPrompt, list_prompts
from toolwright.mcp.client.server_requests import Questions, RefusedRequest
from toolwright.mcp.client.transport import Link, LinkError, Message, request_error
from toolwright.mcp.rpc import PROTOCOL_VERSIONS, TOOL_USE_META

STATELESS = "2026-07-28"
UNSUPPORTED_VERSION = -32022
_META = "io.modelcontextprotocol/"
_WITHDRAW_SECONDS = 1.0
_MAX_ROUNDS = 10
_MAX_ANSWERS_AT_ONCE = 16
_ROUND_DELAY = 0.1


class ServerRefused(Exception):
    """The server answered a request with an error."""

    def __init__(self, method: str, error: Any) -> None:
        known = isinstance(error, dict)
        self.code = error.get("code") if known else None
        self.data = error.get("data") if known else None
        message = str(error.get("message", "no message") if known else error)[:2000]
        super().__init__(f"{method} failed: {message} (code {self.code})")


class BadAnswer(Exception):
    """The server does not keep to the protocol."""


class Hearing(Struct):
    """Who hears what the server says by itself. None of these may block."""

    tools_changed: Callable[[], None] = lambda: None
    logged: Callable[[str, str], None] = lambda level, text: None
    lost: Callable[[str], None] = lambda reason: None
    said: Callable[[str, Any], None] = lambda method, params: None
    """Any other notification, such as changed resources or prompts."""


Progress = Callable[[dict[str, Any]], None]


class Introduction(Struct):
    """What the server said of itself."""

    name: str = ""
    version: str = ""
    protocol_version: str = ""
    capabilities: dict[str, Any] = field(default_factory=dict)
    instructions: str = ""


class McpClient:
    """A connection. Implements the link's `Inbox`."""

    def __init__(self, link: Link, questions: Questions, hearing: Hearing, *, capabilities: dict[str, Any]) -> None:
        self._link = link
        self._questions = questions
        self._hearing = hearing
        self._capabilities = capabilities
        self._ids = itertools.count(1)
        self._progress: dict[Any, Progress] = {}
        self._answers: dict[OwnedTask, Any] = {}
        """Questions of the server that are being answered, and their ids."""
        self._calls: set[int] = set()
        self._subscription: OwnedTask | None = None
        self.introduction = Introduction()
        link.inbox = self

    # the handshake

    async def connect(self, protocol: str | None = None) -> None:
        """Raises `LinkError`, `ServerRefused` or `BadAnswer`."""
        await self._link.open()
        if protocol == STATELESS:
            await self._discover()
            return
        try:
            await self._initialize(protocol or PROTOCOL_VERSIONS[0])
        except ServerRefused as refusal:
            if refusal.code not in (UNSUPPORTED_VERSION, -32601) or protocol is not None:
                raise
            await self._discover()

    async def _initialize(self, version: str) -> None:
        params = {"protocolVersion": version, "capabilities": self._capabilities, "clientInfo": _client_info()}
        result = await self.request("initialize", params)
        spoken, info = result.get("protocolVersion"), result.get("serverInfo")
        if spoken not in PROTOCOL_VERSIONS:
            raise BadAnswer(f"it speaks protocol version {spoken!r}; we speak {', '.join((STATELESS, *PROTOCOL_VERSIONS))}")
        self._introduced(result, info, str(spoken))
        await self._link.ready(str(spoken), listen=False)
        await self._link.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        asks = "elicitation" in self._capabilities or "sampling" in self._capabilities  # some ask beside the call's own stream
        await self._link.ready(str(spoken), listen=self._may_speak() or asks)

    async def _discover(self) -> None:
        self.introduction.protocol_version = STATELESS
        try:
            result = await self.request("server/discover", {})
        except ServerRefused as refusal:
            version = _version_offered(refusal)
            if version is None:
                raise
            if version != STATELESS:
                self.introduction.protocol_version = ""
                await self._initialize(version)
                return
            result = await self.request("server/discover", {})
        if STATELESS not in (result.get("supportedVersions") or ()):
            raise BadAnswer(
                f"it supports the versions {result.get('supportedVersions')!r}, none of which we speak without a handshake"
            )
        meta = result.get("_meta")
        self._introduced(result, meta.get(f"{_META}serverInfo") if isinstance(meta, dict) else None, STATELESS)
        await self._link.ready(STATELESS, listen=False)
        if self._may_speak():
            self._subscription = spawn(self._subscribe, name="mcp subscription")

    def _introduced(self, result: dict[str, Any], info: Any, version: str) -> None:
        told = info if isinstance(info, dict) else {}
        capabilities, instructions = result.get("capabilities"), result.get("instructions")
        self.introduction = Introduction(
            str(told.get("name", ""))[:200],
            str(told.get("version", ""))[:200],
            version,
            capabilities if isinstance(capabilities, dict) else {},
            instructions if isinstance(instructions, str) else "",
        )

    def _may_speak(self) -> bool:
        """Whether the server announced that it will say something by itself."""
        able = self.introduction.capabilities
        changing = any(isinstance(part, dict) and (part.get("listChanged") or part.get("subscribe")) for part in able.values())
        return changing or "logging" in able

    async def _subscribe(self) -> None:
        """Without a handshake there is no standing stream: this request is one, as long as it is not answered."""
        wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
        with suppress(LinkError, ServerRefused, BadAnswer):
            await self.request("subscriptions/listen", {"notifications": wanted})

    # requests

    async def request(self, method: str, params: dict[str, Any], *, number: int | None = None) -> dict[str, Any]:
        """One request, its result. Raises `LinkError`, `ServerRefused` or `BadAnswer`. The caller bounds the time."""
        number = next(self._ids) if number is None else number
        message: Message = {"jsonrpc": "2.0", "id": number, "method": method}
        stamped = self._stamped(params)
        answer = await self._link.exchange(message | ({"params": stamped} if stamped else {}))
        if answer.get("error") is not None:
            raise ServerRefused(method, answer["error"])
        result = answer.get("result")
        if not isinstance(result, dict):
            raise BadAnswer(f"its answer to {method} has no result")
        return result

    def _stamped(self, params: dict[str, Any]) -> dict[str, Any]:
        if self.introduction.protocol_version != STATELESS:
            return params
        stamp = {
            f"{_META}protocolVersion": STATELESS,
            f"{_META}clientInfo": _client_info(),
            f"{_META}clientCapabilities": self._capabilities,
        }
        return {**params, "_meta": {**params.get("_meta", {}), **stamp}}

    async def list_tools(self) -> ToolListing:
        if self.introduction.protocol_version and "tools" not in self.introduction.capabilities:
            return ToolListing()
        listing = await list_all(lambda cursor: self.request("tools/list", {} if cursor is None else {"cursor": cursor}))
        return without_bad_marks(listing) if self.introduction.protocol_version == STATELESS else listing

    async def list_prompts(self) -> list[ServedPrompt]:
        """None of them where the server has none, or will not tell."""
        if "prompts" not in self.introduction.capabilities:
            return []
        with suppress(ServerRefused, BadAnswer):
            return await list_prompts(lambda cursor: self.request("prompts/list", {} if cursor is None else {"cursor": cursor}))
        return []

    async def call_tool(
        self, name: str, arguments: dict[str, Any], *, tool_use_id: str = "", progress: Progress | None = None
    ) -> dict[str, Any]:
        """The result of a call. When cancelled, the server is told."""
        params: dict[str, Any] = {"name": name, "arguments": arguments}
        for round_number in range(_MAX_ROUNDS):
            result = await self._called(params, tool_use_id=tool_use_id, progress=progress)
            if result.get("resultType") != "input_required":
                return result
            answers = await self._answer_all(result.get("inputRequests"))
            if not answers:
                await anyio.sleep(_ROUND_DELAY * (round_number + 1))
            params = {**params, "inputResponses": answers} if answers else params
            if isinstance(result.get("requestState"), str):
                params = {**params, "requestState": result["requestState"]}
        raise BadAnswer(f"it asked for more input {_MAX_ROUNDS} times in one call")

    async def _called(self, params: dict[str, Any], *, tool_use_id: str, progress: Progress | None) -> dict[str, Any]:
        try:
            return await self._withdrawable("tools/call", params, tool_use_id=tool_use_id, progress=progress)
        except ServerRefused as refusal:
            if refusal.code != HEADER_MISMATCH:
                raise
            await self.list_tools()  # the schema has changed: the link learns which arguments are headers now
            return await self._withdrawable("tools/call", params, tool_use_id=tool_use_id, progress=progress)

    async def _withdrawable(
        self, method: str, params: dict[str, Any], *, tool_use_id: str, progress: Progress | None
    ) -> dict[str, Any]:
        number = next(self._ids)
        meta = ({TOOL_USE_META: tool_use_id} if tool_use_id else {}) | {"progressToken": number}
        if progress is not None:
            self._progress[number] = progress
        self._calls.add(number)
        try:
            return await self.request(method, {**params, "_meta": meta}, number=number)
        except anyio.get_cancelled_exc_class():
            await self._withdraw(number)
            raise
        finally:
            self._calls.discard(number)
            self._progress.pop(number, None)

    async def _withdraw(self, number: int) -> None:
        """Nobody waits for the call any more: the server can stop."""
        self._calls.discard(number)
        dropped = [] if self._calls else self._drop_questions()  # whose they are is not said: they end with the last call
        params = {"requestId": number, "reason": "The call was given up."}
        with anyio.move_on_after(_WITHDRAW_SECONDS, shield=True), suppress(LinkError):
            await self._link.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
            for question in dropped:
                await self._link.send(request_error(question, -32000, "The call that this was asked for was given up."))

    def _drop_questions(self) -> list[Any]:
        """The ids of those that had no answer yet."""
        dropped = {task: number for task, number in self._answers.items() if not task.done}
        for task in dropped:
            task.cancel()
        return list(dropped.values())

    async def _answer_all(self, requests: Any) -> dict[str, Any]:
        """The questions of a result that wants more input, answered one after the other. Raises `BadAnswer`."""
        answers: dict[str, Any] = {}
        for key, request in list(requests.items())[:_MAX_ANSWERS_AT_ONCE] if isinstance(requests, dict) else ():
            try:
                answers[key] = await self._questions.answer(str(request.get("method")), request.get("params"))
            except (RefusedRequest, AttributeError) as error:
                raise BadAnswer(f"it wanted something that is not allowed here: {error}") from None
        return answers

    # what the server says

    def received(self, message: Message) -> None:
        method = message.get("method")
        if not isinstance(method, str):
            return
        if "id" in message:
            self._asked(message, method)
        else:
            self._notified(method, message.get("params"))

    def lost(self, reason: str) -> None:
        self._hearing.lost(reason)

    def _asked(self, message: Message, method: str) -> None:
        self._answers = {task: number for task, number in self._answers.items() if not task.done}
        busy = len(self._answers) >= _MAX_ANSWERS_AT_ONCE
        work = partial(self._refuse_busy, message) if busy else partial(self._answer, message, method)
        if len(self._answers) < 4 * _MAX_ANSWERS_AT_ONCE:  # a flood of questions gets no answer at all
            self._answers[spawn(work, name="mcp question")] = message["id"]

    async def _refuse_busy(self, message: Message) -> None:
        with suppress(LinkError):
            await self._link.send(request_error(message["id"], -32000, "Too many questions at once."))

    async def _answer(self, message: Message, method: str) -> None:
        try:
            result = await self._questions.answer(method, message.get("params"))
            answer: Message = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        except RefusedRequest as refusal:
            answer = request_error(message["id"], refusal.code, str(refusal))
        with suppress(LinkError):
            await self._link.send(answer)

    def _notified(self, method: str, params: Any) -> None:
        given = params if isinstance(params, dict) else {}
        match method:
            case "notifications/progress":
                token = given.get("progressToken")
                heard = self._progress.get(token) if isinstance(token, int | str) else None
                if heard is not None:
                    heard(given)
            case "notifications/cancelled":
                for task in [task for task, number in self._answers.items() if number == given.get("requestId")]:
                    task.cancel()
            case "notifications/tools/list_changed":
                self._hearing.tools_changed()
            case "notifications/message":
                self._hearing.logged(str(given.get("level", "info")), str(given.get("data", ""))[:2000])
            case _:
                self._hearing.said(method, params)

    async def close(self) -> None:
        with anyio.CancelScope(shield=True):
            tasks = [*self._answers, *([self._subscription] if self._subscription else [])]
            for task in tasks:
                task.cancel()
            for task in tasks:
                await task.wait()
            await self._link.close()


def _version_offered(refusal: ServerRefused) -> str | None:
    """Of the versions that a server names when it refuses ours, the newest that we speak."""
    named = refusal.data.get("supported") if refusal.code == UNSUPPORTED_VERSION and isinstance(refusal.data, dict) else None
    offered = named if isinstance(named, list) else []
    return next((version for version in (STATELESS, *PROTOCOL_VERSIONS) if version in offered), None)


def _client_info() -> dict[str, str]:
    return {"name": "toolwright", "version": __version__}
