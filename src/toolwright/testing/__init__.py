"""Public fakes for tests of programs that use toolwright. Each name is loaded when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolwright.testing.messages_dialect import Message, ToolCall, answer, tool_turns
    from toolwright.testing.model_server import ModelServer
    from toolwright.testing.steps import Cut, Pause, Raw, ReceivedRequest, Reset, Stall, Status, Step

__all__ = [
    "Cut",
    "Message",
    "ModelServer",
    "Pause",
    "Raw",
    "ReceivedRequest",
    "Reset",
    "Stall",
    "Status",
    "Step",
    "ToolCall",
    "answer",
    "tool_turns",
]

_HOMES = {
    "messages_dialect": ("Message", "ToolCall", "answer", "tool_turns"),
    "model_server": ("ModelServer",),
    "steps": ("Cut", "Pause", "Raw", "ReceivedRequest", "Reset", "Stall", "Status", "Step"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"toolwright.testing.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
