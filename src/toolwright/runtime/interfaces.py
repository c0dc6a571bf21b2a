"""The two seams of a running conversation: `Session`, as its user sees it, and `Host`, whom it asks.

A session speaks frames: the JSON objects of the control protocol (reference: docs/protocol.md). The same frames go to a Python
caller, over stdio and over any other transport, so every way of holding a session shows the same conversation.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:
    from toolwright.mcp.tool_server import ToolServer
    from toolwright.types import CanUseTool, HookMatcher

Frame = dict[str, Any]


class Host(Struct, frozen=True):
    """Who answers the session's questions: plain Python callables.

    Over a wire the callables send a control request and wait for its answer; the session cannot tell the difference.
    """

    can_use_tool: CanUseTool | None = None
    hooks: Mapping[str, list[HookMatcher]] = field(default_factory=dict)
    tool_servers: Mapping[str, ToolServer] = field(default_factory=dict)
    converses: bool = True
    """Whether whoever answers permission questions can answer others too: tools that talk to a person need that."""


class Session(Protocol):
    """One conversation. Implementations: local (this process) and remote (behind a Transport)."""

    async def start(self) -> Frame:
        """Get ready; the answer is what `initialize` answers (commands, models, account, …). Once ready, only answer."""
        ...

    async def send(self, frame: Frame) -> None:
        """Hand over a `user` frame. It waits its turn if one is running."""
        ...

    def frames(self) -> AsyncIterator[Frame]:
        """Every frame the session gives out, until it has ended. Raises what ended it, if that was a failure."""
        ...

    async def control(self, request: Frame) -> Frame:
        """Answer a control request (`{"subtype": "interrupt"}`, …) or raise `ControlError`."""
        ...

    async def end_input(self) -> None:
        """No more user messages will come: finish what is queued, then end."""
        ...

    async def close(self) -> None:
        """End now: stop the running turn, leave no task, process or descriptor behind. May be called more than once."""
        ...
