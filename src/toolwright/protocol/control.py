"""Control requests: questions and answers, both ways, over any duplex of frames.

Either side may ask: a client to interrupt, a session for a permission. A `ControlPeer` numbers its own questions and
matches their answers, and gives the other side's questions to one handler, each in a task of its own, so a slow answer
holds up nothing. Knows neither what is asked nor how frames travel.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from itertools import count
from typing import Any

import anyio

from toolwright.base.concurrency import OwnedTask, spawn
from toolwright.base.ids import new_uuid
from toolwright.protocol.lines import Frame
from toolwright.types import ClaudeSDKError, CLIConnectionError, ControlError

Write = Callable[[Frame], Awaitable[None]]
Handler = Callable[[Frame], Awaitable[Frame]]

REQUEST_SECONDS = 60.0
_WITHDRAW_SECONDS = 1.0
_DEAD_WIRE = (ClaudeSDKError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError)

_log = logging.getLogger("toolwright.protocol")
_answering: ContextVar[str | None] = ContextVar("toolwright_answering", default=None)
"""The question that this task is answering: a handler that closes its own connection must not wait for itself."""


def client_ids() -> Callable[[], str]:
    """Ids as clients give them: `req_1_5f0c9a3e`, `req_2_…`."""
    numbers = count(1)
    return lambda: f"req_{next(numbers)}_{os.urandom(4).hex()}"


def session_ids() -> Callable[[], str]:
    """Ids as sessions give them: UUIDs."""
    return new_uuid


class _Answer:
    """The place where one question's answer will be."""

    __slots__ = ("_arrived", "_error", "_value")

    def __init__(self) -> None:
        self._arrived = anyio.Event()
        self._value: Frame = {}
        self._error: BaseException | None = None

    def arrive(self, value: Frame) -> None:
        self._value = value
        self._arrived.set()

    def fail(self, error: BaseException) -> None:
        self._error = error
        self._arrived.set()

    async def wait(self) -> Frame:
        await self._arrived.wait()
        if self._error is not None:
            raise self._error
        return self._value


class ControlPeer:
    """One side's control requests. Whoever reads the duplex gives every frame to `deliver`."""

    __slots__ = ("_closed_by", "_handle", "_handling", "_new_id", "_waiting", "_write")

    def __init__(self, write: Write, handle: Handler, *, new_id: Callable[[], str]) -> None:
        self._write = write
        self._handle = handle
        self._new_id = new_id
        self._waiting: dict[str, _Answer] = {}
        self._handling: dict[str, OwnedTask] = {}
        self._closed_by: BaseException | None = None

    async def request(self, payload: Frame, *, timeout: float | None = REQUEST_SECONDS) -> Frame:
        """Ask, and wait for the answer. Raises `ControlError` when it is refused or does not come in time.

        When the waiting task is cancelled, the other side is told that nobody waits any more.
        """
        if self._closed_by is not None:
            raise self._closed_by
        request_id = self._new_id()
        answer = self._waiting[request_id] = _Answer()
        try:
            with anyio.move_on_after(timeout):
                await self._write({"type": "control_request", "request_id": request_id, "request": payload})
                return await answer.wait()
        finally:
            if self._waiting.pop(request_id, None) is not None:
                await self._withdraw(request_id)
        raise ControlError(f"Control request timeout: {payload.get('subtype')}", code="timeout")

    def deliver(self, frame: Frame) -> bool:
        """Take a frame if it is about control; False leaves it to the caller. Never waits."""
        match frame.get("type"):
            case "control_response":
                self._take_answer(frame.get("response"))
            case "control_request":
                self._take_question(frame.get("request_id"), frame.get("request"))
            case "control_cancel_request":
                self._take_withdrawal(frame.get("request_id"))
            case _:
                return False
        return True

    def close(self, error: BaseException | None = None) -> None:
        """The duplex is gone: every waiting `request` fails with the error, every handler is cancelled."""
        if self._closed_by is not None:
            return
        self._closed_by = error or CLIConnectionError("The connection is closed.")
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            answer.fail(self._closed_by)
        for task in self._handling.values():
            task.cancel()

    async def wait_closed(self) -> None:
        """Wait until no handler runs any more, except the one that is calling this."""
        own = _answering.get()
        for request_id, task in list(self._handling.items()):
            if request_id != own:
                await task.wait()

    def _take_answer(self, response: Any) -> None:
        request_id = response.get("request_id") if isinstance(response, dict) else None
        answer = self._waiting.pop(request_id, None) if isinstance(request_id, str) else None
        if answer is None:
            _log.debug("an answer came that nobody waits for: %.200r", response)
        elif response.get("subtype") == "error":
            answer.fail(ControlError(str(response.get("error") or "Unknown error"), response.get("error_code")))
        else:
            value = response.get("response")
            answer.arrive(value if isinstance(value, dict) else {})

    def _take_question(self, request_id: Any, request: Any) -> None:
        if not isinstance(request_id, str) or self._closed_by is not None or request_id in self._handling:
            _log.warning("a control request was ignored: its request_id is missing, repeated or too late: %.200r", request_id)
            return
        work = partial(self._answer, request_id, request)
        self._handling[request_id] = spawn(work, name=f"control request {request_id}")

    def _take_withdrawal(self, request_id: Any) -> None:
        task = self._handling.get(request_id) if isinstance(request_id, str) else None
        if task is not None:
            task.cancel()

    async def _answer(self, request_id: str, request: Any) -> None:
        _answering.set(request_id)
        try:
            await self._write(_success(request_id, await self._handled(request)))
        except Exception as error:  # noqa: BLE001 — whatever a handler raises is its answer
            with suppress(*_DEAD_WIRE):
                await self._write(_failure(request_id, error))
        finally:
            self._handling.pop(request_id, None)

    async def _handled(self, request: Any) -> Frame:
        if not isinstance(request, dict) or not isinstance(request.get("subtype"), str):
            raise ControlError("A control request needs an object 'request' with a 'subtype'.", code="invalid_request")
        return await self._handle(request)

    async def _withdraw(self, request_id: str) -> None:
        with anyio.move_on_after(_WITHDRAW_SECONDS, shield=True), suppress(*_DEAD_WIRE):
            await self._write({"type": "control_cancel_request", "request_id": request_id})


def unsupported(subtype: object) -> ControlError:
    """The error for a request that a side does not know."""
    return ControlError(f"Unsupported control request subtype: {subtype}", code="unsupported_request")


def _success(request_id: str, response: Frame) -> Frame:
    return {"type": "control_response", "response": {"subtype": "success", "request_id": request_id, "response": response}}


def _failure(request_id: str, error: Exception) -> Frame:
    response: Frame = {"subtype": "error", "request_id": request_id, "error": str(error) or type(error).__name__}
    if isinstance(error, ControlError) and error.code:
        response["error_code"] = error.code
    return {"type": "control_response", "response": response}
