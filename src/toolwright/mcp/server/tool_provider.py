"""What is served: the seam between the protocol and the tools behind it.

An `Offer` belongs to one client: what one client has read or started is nothing to another. A `RunningCall` is how a tool talks
to its client while it runs. Neither knows a transport.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from toolwright.mcp.results import CallResult
from toolwright.mcp.tool_server import ServedTool

Questions = Mapping[str, tuple[str, dict[str, Any]]]
"""A name of ours → the method and its params, such as `elicitation/create`."""


class CannotAsk(Exception):
    """The client has nobody to ask, or did not answer; the text says which. `capability` is what it lacks, if that is why."""

    def __init__(self, text: str, capability: str = "") -> None:
        super().__init__(text)
        self.capability = capability


class AnswerLater(Exception):
    """The client is asked by the result itself (2026-07-28): the call ends here and comes again with the answers."""

    def __init__(self, questions: Questions) -> None:
        super().__init__(f"{', '.join(questions)} must be answered first")
        self.questions = questions


class RunningCall(Protocol):
    """One call while it runs."""

    @property
    def id(self) -> str:
        """Unlike that of any other call."""
        ...

    async def progress(self, done: float, *, total: float | None = None, message: str = "") -> None:
        """Told only if the client wants to hear it."""
        ...

    async def log(self, level: str, data: Any) -> None: ...

    async def ask(self, questions: Questions) -> dict[str, dict[str, Any]]:
        """Ask the client; the answers by the questions' names. Raises `CannotAsk` or `AnswerLater`."""
        ...


class Offer(Protocol):
    """The tools of one client."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def instructions(self) -> str: ...

    async def list_tools(self) -> list[ServedTool]: ...

    async def call_tool(self, name: str, arguments: dict[str, Any], call: RunningCall) -> CallResult:
        """A failing tool gives an error result; `AnswerLater` and `CannotAsk` may pass through."""
        ...

    async def aclose(self) -> None: ...


OpenOffer = Callable[[], Awaitable[Offer]]
"""Makes the offer for a new client."""
