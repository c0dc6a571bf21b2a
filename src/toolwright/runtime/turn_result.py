"""How a turn ended, in the words of its result frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from toolwright.base.ids import new_uuid

if TYPE_CHECKING:
    from toolwright.protocol import frames


class TurnResult(Struct):
    """`text` is the answer of a success; `errors` tell what went wrong otherwise."""

    subtype: str = "success"
    terminal_reason: str = "completed"
    text: str = ""
    errors: list[str] = field(default_factory=list)
    is_error: bool = False
    api_error_status: int | None = None
    structured_output: Any = None
    deferred: dict[str, Any] | None = None
    """The call that a hook put off: id, name and input."""

    def fields(self) -> dict[str, Any]:
        """The optional fields of the result frame: absent rather than null."""
        fields: dict[str, Any] = {"result": self.text} if self.subtype == "success" else {"errors": self.errors}
        if self.structured_output is not None:
            fields["structured_output"] = self.structured_output
        if self.deferred is not None:
            fields |= {"stop_reason": "tool_deferred", "deferred_tool_use": self.deferred}
        if self.api_error_status is not None:
            fields["api_error_status"] = self.api_error_status
        return fields


def failed(subtype: str, terminal_reason: str, *errors: str) -> TurnResult:
    return TurnResult(subtype, terminal_reason, errors=list(errors), is_error=True)


def failed_to_start(error: str) -> frames.Frame:
    """The result of a session that never began."""
    ending = failed("error_during_execution", "turn_setup_failed", error)
    return {
        "type": "result",
        "subtype": ending.subtype,
        "is_error": True,
        "duration_ms": 0,
        "duration_api_ms": 0,
        "num_turns": 0,
        "session_id": new_uuid(),
        "stop_reason": None,
        "terminal_reason": ending.terminal_reason,
        "total_cost_usd": 0,
        "usage": {"input_tokens": 0, "output_tokens": 0},
        "modelUsage": {},
        "permission_denials": [],
        "uuid": new_uuid(),
        **ending.fields(),
    }
