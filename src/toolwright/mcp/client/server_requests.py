"""What a server may ask of us, and who answers: its roots, something from a person (elicitation), a model (sampling), a ping.

Everything is off that nobody handed a function in for; unknown questions are refused. How much a server may ask is bounded.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from toolwright.mcp.client.untrusted_schemas import ForeignValidator
from toolwright.mcp.rpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND

Params = dict[str, Any]
Ask = Callable[[str, Params], Awaitable[Params]]
"""(server's name, params of its request) → result of the request."""

MAX_QUESTIONS = 50
"""How often one connection may ask a person. A model has a budget of its own."""


def no_roots() -> Sequence[str]:
    return ()


class Answering(Struct, frozen=True):
    """Who answers. `elicit` gives `{"action": "accept" | "decline" | "cancel", "content"?: {…}}`.

    `sample` gives a message of a model, asks whoever must allow it and keeps to its budget. Both may raise `RefusedRequest`.
    """

    roots: Callable[[], Sequence[str]] = no_roots
    elicit: Ask | None = None
    sample: Ask | None = None

    def capabilities(self) -> dict[str, Any]:
        """What we tell the server that it may ask."""
        able: dict[str, Any] = {"roots": {}}
        if self.elicit is not None:
            able["elicitation"] = {"form": {}, "url": {}}
        return able | ({"sampling": {}} if self.sample is not None else {})


class RefusedRequest(Exception):
    """A question that gets an error for an answer."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Questions:
    """Answers the questions of one connection."""

    def __init__(self, server_name: str, answering: Answering) -> None:
        self._name = server_name
        self._answering = answering
        self._asked = 0

    async def answer(self, method: str, params: Any) -> Params:
        """Raises `RefusedRequest`."""
        given: Params = params if isinstance(params, dict) else {}
        match method:
            case "ping":
                return {}
            case "roots/list":
                return {"roots": [{"uri": f"file://{quote(root)}", "name": root} for root in self._answering.roots()]}
            case "elicitation/create":
                return await self._elicit(given)
            case "sampling/createMessage" if self._answering.sample is not None:
                return await self._asking(self._answering.sample, given)
        raise RefusedRequest(METHOD_NOT_FOUND, f"Method not found: {method[:200]}")

    async def _elicit(self, params: Params) -> Params:
        if self._answering.elicit is None:
            return {"action": "decline"}
        if not isinstance(params.get("message"), str):
            raise RefusedRequest(INVALID_PARAMS, 'elicitation/create needs "message", a string')
        self._count()
        answer = await self._asking(self._answering.elicit, params)
        return checked_elicitation(answer, params)

    async def _asking(self, ask: Ask, params: Params) -> Params:
        try:
            return await ask(self._name, params)
        except RefusedRequest:
            raise
        except Exception as error:  # host callback: its failure is an answer
            raise RefusedRequest(INTERNAL_ERROR, f"The question could not be answered: {type(error).__name__}") from error

    def _count(self) -> None:
        self._asked += 1
        if self._asked > MAX_QUESTIONS:
            raise RefusedRequest(INTERNAL_ERROR, f"This connection has asked {MAX_QUESTIONS} times; it may not ask again.")


def checked_elicitation(answer: Params, params: Params) -> Params:
    """An answer that fits what was asked: content only where accepted, as the schema wants it. Raises `RefusedRequest`."""
    action = answer.get("action")
    if action != "accept":
        return {"action": action if action in ("decline", "cancel") else "decline"}
    if params.get("mode") == "url":
        return {"action": "accept"}
    content, schema = answer.get("content") or {}, params.get("requestedSchema")
    if isinstance(schema, dict) and ForeignValidator(schema).problem(content):
        raise RefusedRequest(INTERNAL_ERROR, "The answer that was given does not fit the requested schema.")
    return {"action": "accept", "content": content}
