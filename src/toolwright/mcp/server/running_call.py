"""One tool call of a client while it runs: progress, log lines, and questions to the client in the way of its era."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
from msgspec import Struct, field

from toolwright.base.concurrency import spawn
from toolwright.mcp.client.client import STATELESS
from toolwright.mcp.rpc import INVALID_PARAMS
from toolwright.mcp.server.requests import Incoming, Refused
from toolwright.mcp.server.tool_provider import AnswerLater, CannotAsk, Questions

if TYPE_CHECKING:
    from toolwright.mcp.server.client import WayBack

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
CAPABILITIES = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
"""What a client must be able to do to be asked this."""
ANSWER_SECONDS = 600.0
"""How long a client may take to answer a question: behind it is a person."""
ALIVE_SECONDS = 5.0
"""How often a client that wants progress hears that a silent call is still running."""


class Facts(Struct):
    """What is known of a client: its protocol version, what it can do, and from which level on it wants log lines."""

    version: str
    capabilities: dict[str, Any] = field(default_factory=dict)
    log_level: str = "info"

    def can_be_asked(self, method: str) -> bool:
        return isinstance(self.capabilities.get(CAPABILITIES.get(method, "")), dict)

    def wants(self, level: str) -> bool:
        return self.log_level in LEVELS and level in LEVELS and LEVELS.index(level) >= LEVELS.index(self.log_level)


class Sealed:
    """What a call was answered so far, handed to the client and given back with the same call; nobody else can write it."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def seal(self, request: Incoming, *, asked: Iterable[str], answers: Mapping[str, Any]) -> str:
        content = msgspec.json.encode({"call": _digest(request), "asked": sorted(asked), "answers": answers})
        return f"{b64encode(content).decode()}.{self._mark(content)}"

    def answers(self, request: Incoming) -> dict[str, Any]:
        """The answers that came with a call, now and before. Raises `Refused` for a state that is not of ours and this call."""
        state, given = request.params.get("requestState"), request.params.get("inputResponses")
        if state is None:
            return {}
        content = self._opened(state)
        if content is None or content["call"] != _digest(request):
            raise Refused(INVALID_PARAMS, "requestState is not what this server gave for this call.")
        came = given if isinstance(given, dict) else {}
        fresh = {key: came[key] for key in content["asked"] if isinstance(came.get(key), dict)}
        return {**content["answers"], **fresh}

    def _opened(self, state: Any) -> Any:
        sealed, _, mark = state.partition(".") if isinstance(state, str) else ("", "", "")
        try:
            content = b64decode(sealed, validate=True)
        except ValueError:
            return None
        fits = hmac.compare_digest(mark.encode("utf-8", "replace"), self._mark(content).encode())
        return msgspec.json.decode(content) if fits else None

    def _mark(self, content: bytes) -> str:
        return hmac.new(self._secret, content, hashlib.sha256).hexdigest()


def _digest(request: Incoming) -> str:
    told = [request.params.get("name"), request.params.get("arguments") or {}]
    return hashlib.sha256(msgspec.json.encode(told, order="sorted")).hexdigest()


class ServedCall:
    """Implements `RunningCall`. Raises `Refused` when made for a call that comes with answers to another one."""

    def __init__(self, number: str, request: Incoming, facts: Facts, *, back: WayBack, sealed: Sealed) -> None:
        self.id = number
        self._request = request
        self._facts = facts
        self._back = back
        self._sealed = sealed
        self._answers = sealed.answers(request) if facts.version == STATELESS else {}
        token = request.meta.get("progressToken")
        self._token = token if isinstance(token, int | str) and not isinstance(token, bool) else None
        self._done = -1.0

    async def progress(self, done: float, *, total: float | None = None, message: str = "") -> None:
        if self._token is None or done <= self._done:  # it must grow
            return
        self._done = done
        params: dict[str, Any] = {"progressToken": self._token, "progress": done}
        params |= ({} if total is None else {"total": total}) | ({"message": message} if message else {})
        await self._back.notify({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})

    async def log(self, level: str, data: Any) -> None:
        if self._facts.wants(level):
            params = {"level": level, "logger": "toolwright", "data": data}
            await self._back.notify({"jsonrpc": "2.0", "method": "notifications/message", "params": params})

    async def ask(self, questions: Questions) -> dict[str, dict[str, Any]]:
        for method, _ in questions.values():
            if not self._facts.can_be_asked(method):
                raise CannotAsk(f"the client does not support {method}", CAPABILITIES.get(method, ""))
        if self._facts.version == STATELESS:
            return self._answers_that_came(questions)
        with anyio.move_on_after(ANSWER_SECONDS):
            return {name: await self._back.request(method, params) for name, (method, params) in questions.items()}
        raise CannotAsk(f"the client did not answer within {ANSWER_SECONDS:g} seconds")

    def _answers_that_came(self, questions: Questions) -> dict[str, dict[str, Any]]:
        missing = {name: question for name, question in questions.items() if name not in self._answers}
        if missing:
            raise AnswerLater(missing)
        return {name: self._answers[name] for name in questions}

    def wants_input(self, later: AnswerLater) -> dict[str, Any]:
        """The result that asks: the client is to answer and to make the same call again."""
        wanted = {name: {"method": method, "params": params} for name, (method, params) in later.questions.items()}
        state = self._sealed.seal(self._request, asked=wanted, answers=self._answers)
        return {"resultType": "input_required", "inputRequests": wanted, "requestState": state}

    @asynccontextmanager
    async def keeping_alive(self) -> AsyncIterator[None]:
        """While this is open, a client that wants progress hears from time to time that the call still runs."""
        if self._token is None:
            yield
            return
        ticking = spawn(self._tell_time, name="mcp call progress")
        try:
            yield
        finally:
            ticking.cancel()

    async def _tell_time(self) -> None:
        started = anyio.current_time()
        while True:
            await anyio.sleep(ALIVE_SECONDS)
            seconds = anyio.current_time() - started
            await self.progress(max(self._done + 0.001, round(seconds, 3)), message=f"running for {seconds:.0f} seconds")
