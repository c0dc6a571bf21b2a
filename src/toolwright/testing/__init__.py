"""Public fakes for tests of programs that use toolwright. Each name is loaded when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolwright.models.replay import ReplayModel
    from toolwright.models.script_file import load_script
    from toolwright.models.scripted import Block, BreakOff, Call, Fail, Say, ScriptedModel, Think, Turn, Wait, WaitFor
    from toolwright.protocol.memory import MemoryPeer, MemoryTransport, memory_transport_pair
    from toolwright.testing.chat_dialect import ChatHabits, chat_answer, chat_tool_turns
    from toolwright.testing.messages_dialect import Message, ToolCall, answer, tool_turns
    from toolwright.testing.model_server import ModelServer
    from toolwright.testing.steps import Cut, Pause, Raw, ReceivedRequest, Reset, Stall, Status, Step

__all__ = [
    "ScriptedModel",
    "Say",
    "Think",
    "Call",
    "Block",
    "Wait",
    "WaitFor",
    "Turn",
    "Fail",
    "BreakOff",
    "load_script",
    "ReplayModel",
    "MemoryPeer",
    "MemoryTransport",
    "memory_transport_pair",
    "ChatHabits",
    "chat_answer",
    "chat_tool_turns",
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
    "toolwright.models.scripted": (
        "ScriptedModel",
        "Say",
        "Think",
        "Call",
        "Block",
        "Wait",
        "WaitFor",
        "Turn",
        "Fail",
        "BreakOff",
    ),
    "toolwright.models.script_file": ("load_script",),
    "toolwright.models.replay": ("ReplayModel",),
    "toolwright.protocol.memory": ("MemoryPeer", "MemoryTransport", "memory_transport_pair"),
    "toolwright.testing.chat_dialect": ("ChatHabits", "chat_answer", "chat_tool_turns"),
    "toolwright.testing.messages_dialect": ("Message", "ToolCall", "answer", "tool_turns"),
    "toolwright.testing.model_server": ("ModelServer",),
    "toolwright.testing.steps": ("Cut", "Pause", "Raw", "ReceivedRequest", "Reset", "Stall", "Status", "Step"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
