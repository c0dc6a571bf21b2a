"""One tool call of a client while it runs: progress, log lines, and questions to the client in the way of its era."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import msgspec

from toolwright.concurrency import spawn
from toolwright.mcp.client import STATELESS
from toolwright.mcp.serving.offer import AnswerLater, CannotAsk
from toolwright.mcp.serving.requests import Incoming

if TYPE_CHECKING:
    from toolwright.mcp.serving.client import WayBack

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
ANSWER_SECONDS = 600.0
"""How long a client may take to answer a question: behind it is a person."""
ALIVE_SECONDS = 5.0
"""How often a client that wants progress hears that a silent call is still running."""


@dataclass(slots=True)
class Facts:
    """What is known of a client: its protocol version, what it can do, and from which level on it wants log lines."""

    version: str
    capabilities: dict[str, Any] = field(default_factory=dict)
    log_level: str = "info"

    def can_be_asked(self, method: str) -> bool:
        key = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}.get(method)
        return key is not None and isinstance(self.capabilities.get(key), dict)

    def wants(self, level: str) -> bool:
        return self.log_level in LEVELS and level in LEVELS and LEVELS.index(level) >= LEVELS.index(self.log_level)


class StateSeal:
    """Ties an answer that comes with a repeated call to the call and the question it was asked for."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def of(self, request: Incoming, key: str) -> str:
        told = [request.params.get("name"), request.params.get("arguments") or {}, key]
        return hmac.new(self._secret, msgspec.json.encode(told, order="sorted"), hashlib.sha256).hexdigest()

    def fits(self, request: Incoming, key: str) -> bool:
        given = request.params.get("requestState")
        return isinstance(given, str) and hmac.compare_digest(given.encode("utf-8", "replace"), self.of(request, key).encode())


class Call:
    """Implements `RunningCall`."""

    def __init__(self, number: str, request: Incoming, facts: Facts, *, back: WayBack, seal: StateSeal) -> None:
        self.id = number
        self._request = request
        self._facts = facts
        self._back = back
        self._seal = seal
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

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if not self._facts.can_be_asked(method):
            raise CannotAsk(f"the client does not support {method}")
        if self._facts.version == STATELESS:
            return self._answer_that_came(method, params)
        with anyio.move_on_after(ANSWER_SECONDS):
            return await self._back.request(method, params)
        raise CannotAsk(f"the client did not answer within {ANSWER_SECONDS:g} seconds")

    def _answer_that_came(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        key = hashlib.sha256(msgspec.json.encode([method, params], order="sorted")).hexdigest()[:16]
        answers = self._request.params.get("inputResponses")
        answer = answers.get(key) if isinstance(answers, dict) else None
        if isinstance(answer, dict) and self._seal.fits(self._request, key):
            return answer
        raise AnswerLater(key, method, params)

    def wants_input(self, question: AnswerLater) -> dict[str, Any]:
        """The result that asks: the client is to answer and to make the same call again."""
        return {
            "resultType": "input_required",
            "inputRequests": {question.key: {"method": question.method, "params": question.params}},
            "requestState": self._seal.of(self._request, question.key),
        }

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
