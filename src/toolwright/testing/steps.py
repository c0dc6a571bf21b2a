"""What a scripted model server can do with one request: the steps of its script.

A step is an answer in bytes (`Raw`), a refusal (`Status`), or a function that looks at the request and returns a step. Dialects
(`messages_dialect`, …) make `Raw` steps out of texts and tool calls. This module does no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import msgspec

EVENT_STREAM = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}


@dataclass(frozen=True, slots=True)
class Pause:
    """Send nothing for a while."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Reset:
    """Break the connection with a TCP reset."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Close the connection without the end of the body, in the middle of an HTTP chunk if `inside_chunk`."""

    inside_chunk: bool = True


@dataclass(frozen=True, slots=True)
class Stall:
    """Send nothing more and keep the connection open until the client closes it."""


Action: TypeAlias = Pause | Reset | Cut | Stall


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer given as it goes over the wire: each piece of bytes is one HTTP chunk; an action happens between two pieces."""

    chunks: Sequence[bytes | Action]
    headers: Mapping[str, str] = field(default_factory=lambda: EVENT_STREAM)
    status: int = 200


@dataclass(frozen=True, slots=True)
class Status:
    """A refusal. A body that is not bytes is sent as JSON; none becomes the Messages API's error object for the code."""

    code: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None

    def as_raw(self) -> Raw:
        body = {"type": "error", "error": {"type": _error_type(self.code), "message": f"scripted {self.code}"}}
        content = self.body if self.body is not None else body
        data = content if isinstance(content, bytes) else msgspec.json.encode(content)
        return Raw([data], {"content-type": "application/json", **self.headers}, self.code)


@dataclass
class ReceivedRequest:
    """A request as the server got it. Header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes

    @cached_property
    def json(self) -> Any:
        return msgspec.json.decode(self.raw) if self.raw else None


class Chooser(Protocol):
    """A function that looks at a request and says what to do with it."""

    def __call__(self, request: ReceivedRequest, /) -> Step: ...


Step: TypeAlias = Raw | Status | Chooser


def _error_type(code: int) -> str:
    known = {
        400: "invalid_request_error",
        401: "authentication_error",
        403: "permission_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        529: "overloaded_error",
    }
    return known.get(code, "api_error")
