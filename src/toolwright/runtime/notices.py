"""Frames that tell the user what goes on besides the conversation itself: retries, fallbacks, refusals, failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolwright.protocol import frames

if TYPE_CHECKING:
    from toolwright.models.base import ModelError, Retry
    from toolwright.permissions.session.gate import Verdict
    from toolwright.runtime.tool_calls import ToolCall

ERROR_NAMES = {
    "authentication_failed": "authentication_failed",
    "billing_error": "billing_error",
    "rate_limit": "rate_limit",
    "overloaded": "server_error",
    "invalid_request": "invalid_request",
    "prompt_too_long": "invalid_request",
    "model_not_found": "invalid_request",
    "server_error": "server_error",
    "answer_too_large": "server_error",
}
"""Our kinds of failure → the values that clients know in `AssistantMessage.error`; the rest are "unknown"."""


def list_changed(server: str, event: str, session_id: str) -> frames.Frame:
    """A tool server has other tools, resources or prompts than before."""
    return frames.system("mcp_list_changed", session_id, server=server, event=event)


def error_name(error: ModelError) -> str:
    return ERROR_NAMES.get(error.kind, "unknown")


def retry(retry: Retry, session_id: str) -> frames.Frame:
    return frames.system(
        "api_retry",
        session_id,
        attempt=retry.attempt,
        max_retries=retry.max_retries,
        retry_delay_ms=int(retry.delay * 1000),
        error_status=retry.error.status,
        error="overloaded" if retry.error.kind == "overloaded" else error_name(retry.error),
        message=str(retry.error),
    )


def fallback(from_model: str, to_model: str, error: ModelError, session_id: str) -> frames.Frame:
    return frames.system("model_fallback", session_id, from_model=from_model, to_model=to_model, reason=str(error))


def denied(call: ToolCall, verdict: Verdict, session_id: str) -> frames.Frame:
    return frames.system(
        "permission_denied",
        session_id,
        tool_name=call.name,
        tool_use_id=call.id,
        message=verdict.message,
        decision_reason=verdict.reason,
        decision_reason_type=verdict.reason_type,
    )


def with_key_source(error: ModelError, source: str) -> ModelError:
    """A refused key says where it came from: people have several."""
    if error.kind != "authentication_failed" or error.status is None or source == "none":
        return error
    from toolwright.models.base import ModelError  # a failure is rare

    text = f"{error} (the key is the one in {source})"
    return ModelError(text, kind=error.kind, status=error.status, request_id=error.request_id)


def api_error(error: ModelError, session_id: str) -> frames.Frame:
    return frames.api_error(f"API error: {error}", session_id=session_id, error=error_name(error), status=error.status)
