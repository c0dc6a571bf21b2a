"""JSON-RPC messages from a client, read strictly: a request, a notification, an answer, or what is wrong with it.

Both eras: a request of 2026-07-28 says in `_meta` which version it speaks and what its client can do. Pure; knows no transport.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field

from toolwright.mcp.client.client import STATELESS, UNSUPPORTED_VERSION
from toolwright.mcp.rpc import INVALID_PARAMS, INVALID_REQUEST

Message = dict[str, Any]
Id = str | int

PARSE_ERROR = -32700
META = "io.modelcontextprotocol/"
VERSION_KEY, CAPABILITIES_KEY = f"{META}protocolVersion", f"{META}clientCapabilities"
MAX_ID_LENGTH = 1000


class Refused(Exception):
    """A message that gets an error for an answer."""

    def __init__(self, code: int, text: str, data: Any = None) -> None:
        super().__init__(text)
        self.code, self.data = code, data

    def answer(self, number: Id | None) -> Message:
        error: dict[str, Any] = {"code": self.code, "message": str(self)}
        return {"jsonrpc": "2.0", "id": number, "error": error | ({} if self.data is None else {"data": self.data})}


class Incoming(Struct, frozen=True):
    """A message that makes sense. `number` is None for a notification."""

    kind: Literal["request", "notification", "answer"]
    method: str = ""
    number: Id | None = None
    params: dict[str, Any] = field(default_factory=dict)
    message: Message = field(default_factory=dict)

    @property
    def meta(self) -> dict[str, Any]:
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}

    @property
    def is_stateless(self) -> bool:
        """Whether it says of itself that it belongs to the era without a handshake."""
        return VERSION_KEY in self.meta


def number_of(message: Any) -> Id | None:
    """The id that an error answer may name."""
    number = message.get("id") if isinstance(message, dict) else None
    return number if is_id(number) else None


def is_id(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return False
    return len(value) <= MAX_ID_LENGTH if isinstance(value, str) else -(2**63) <= value < 2**63


def read_message(message: Any) -> Incoming:
    """Raises `Refused`."""
    if not isinstance(message, dict):
        raise Refused(INVALID_REQUEST, f"A message must be a JSON object, not {_kind(message)}.")
    if message.get("jsonrpc") != "2.0":
        raise Refused(INVALID_REQUEST, '"jsonrpc" must be "2.0".')
    if "method" not in message and ("result" in message or "error" in message):
        return Incoming("answer", number=number_of(message), message=message)
    method, params = message.get("method"), message.get("params", {})
    if not isinstance(method, str) or not method:
        raise Refused(INVALID_REQUEST, '"method" must be a text that is not empty.')
    if "id" not in message:
        return Incoming("notification", method, params=params if isinstance(params, dict) else {}, message=message)
    if not is_id(message["id"]):
        raise Refused(INVALID_REQUEST, '"id" must be a text or a whole number.')
    if not isinstance(params, dict):
        raise Refused(INVALID_PARAMS, '"params" must be an object.')
    return Incoming("request", method, message["id"], params, message)


def check_envelope(request: Incoming) -> dict[str, Any]:
    """The capabilities of the client of a request without a handshake. Raises `Refused`."""
    missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in request.meta]
    if missing:
        raise Refused(INVALID_PARAMS, f"params._meta needs {' and '.join(missing)}.")
    version, capabilities = request.meta[VERSION_KEY], request.meta[CAPABILITIES_KEY]
    if not isinstance(version, str) or not isinstance(capabilities, dict):
        raise Refused(INVALID_PARAMS, f"{VERSION_KEY} must be a text and {CAPABILITIES_KEY} an object.")
    check_version(version)
    return capabilities


def check_version(version: str) -> None:
    if version != STATELESS:
        raise Refused(
            UNSUPPORTED_VERSION, "Unsupported protocol version", {"supported": [STATELESS], "requested": version[:100]}
        )


def _kind(value: Any) -> str:
    return "null" if value is None else f"a {type(value).__name__}"
