"""What a refusal means: from a status, headers and an error object to a `ModelError` of the right kind.

Both big APIs put `{"error": {"type": …, "message": …}}` into the body, so both providers use this. It sends nothing and
retries nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from toolwright.models.base import ErrorKind, ModelError

KIND_BY_TYPE: dict[str, ErrorKind] = {
    "authentication_error": "authentication_failed",
    "permission_error": "authentication_failed",
    "billing_error": "billing_error",
    "insufficient_quota": "billing_error",
    "rate_limit_error": "rate_limit",
    "overloaded_error": "overloaded",
    "request_too_large": "prompt_too_long",
    "context_length_exceeded": "prompt_too_long",
    "not_found_error": "model_not_found",
    "model_not_found": "model_not_found",
    "invalid_request_error": "invalid_request",
    "timeout_error": "timeout",
    "api_error": "server_error",
    "server_error": "server_error",
}
KIND_BY_STATUS: dict[int, ErrorKind] = {
    401: "authentication_failed",
    402: "billing_error",
    403: "authentication_failed",
    404: "model_not_found",
    408: "timeout",
    413: "prompt_too_long",
    429: "rate_limit",
    529: "overloaded",
}
KIND_BY_WORDS: dict[str, ErrorKind] = {
    "prompt is too long": "prompt_too_long",
    "maximum context length": "prompt_too_long",
    "exceed context limit": "prompt_too_long",
    "credit balance is too low": "billing_error",
}
RETRYABLE_KINDS = frozenset({"rate_limit", "overloaded", "server_error", "timeout"})
REQUEST_ID_HEADERS = ("request-id", "x-request-id")
MAX_TEXT_LENGTH = 2000


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    """The error for an answer with a status other than 2xx. Header names are in lower case."""
    found = _error_object(body)
    text = found.get("message") or _shorten(body.decode("utf-8", "replace").strip()) or "the answer had no text"
    kind = _kind(found, text, status)
    return ModelError(
        f"{status}: {text}",
        kind=kind,
        status=status,
        retryable=_is_retryable(status, kind, headers),
        retry_after=retry_after(headers),
        request_id=next((headers[name] for name in REQUEST_ID_HEADERS if name in headers), None),
    )


def error_event(data: bytes, request_id: str | None) -> ModelError:
    """The error for an `error` event inside a stream that began well."""
    found = _error_object(data)
    text = found.get("message") or _shorten(data.decode("utf-8", "replace").strip()) or "an error without a text"
    kind = _kind(found, text, None)
    return ModelError(f"{text}", kind=kind, retryable=kind in RETRYABLE_KINDS, request_id=request_id)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from `retry-after-ms`, or `retry-after` in seconds or as a date. None if neither can be read."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _number(headers.get(name))
        if seconds is not None:
            return seconds * unit
    return _seconds_until(headers.get("retry-after", ""))


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _seconds_until(date: str) -> float | None:
    from email.utils import parsedate_to_datetime  # rare, and the email package is big

    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    from datetime import UTC, datetime

    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _error_object(body: bytes) -> dict[str, Any]:
    try:
        parsed = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return {}
    found = parsed.get("error", parsed) if isinstance(parsed, dict) else {}
    if isinstance(found, str):
        return {"message": _shorten(found)}
    if not isinstance(found, dict):
        return {}
    return {key: _shorten(value) for key, value in found.items() if isinstance(value, str)}


def _kind(found: Mapping[str, str], text: str, status: int | None) -> ErrorKind:
    lowered = text.lower()
    for words, kind in KIND_BY_WORDS.items():
        if words in lowered:
            return kind
    if status in KIND_BY_STATUS and found.get("code") not in KIND_BY_TYPE:
        return KIND_BY_STATUS[status]
    for name in (found.get("code"), found.get("type")):
        if name in KIND_BY_TYPE:
            return KIND_BY_TYPE[name]
    if status is None:
        return "unknown"
    return "server_error" if status >= 500 else "invalid_request"


def _is_retryable(status: int, kind: ErrorKind, headers: Mapping[str, str]) -> bool:
    told = headers.get("x-should-retry")
    if told in ("true", "false"):
        return told == "true"
    return (status in (408, 429) or status >= 500) and kind not in ("billing_error", "prompt_too_long")


def _shorten(text: str) -> str:
    return (
        text if len(text) <= MAX_TEXT_LENGTH else f"{text[:MAX_TEXT_LENGTH]}… ({len(text) - MAX_TEXT_LENGTH} more characters)"
    )
