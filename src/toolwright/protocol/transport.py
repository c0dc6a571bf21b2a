"""The transport seam: how lines travel between a client and the session it drives.

Knows nothing of what the lines say. Implementations here: a child process, an in-memory pair.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import Any


class Transport(ABC):
    """A duplex of JSON lines. Subclass it to reach a session by another way: a socket, a container, another machine."""

    @abstractmethod
    async def connect(self) -> None:
        """Open the connection. Raises `CLIConnectionError` when that fails."""

    @abstractmethod
    async def write(self, data: str) -> None:
        """Send one line, given with its line end. Calls may overlap; lines may not."""

    @abstractmethod
    def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Every frame from the other side, until it ends the stream. Raises when it ended by a failure."""

    @abstractmethod
    async def close(self) -> None:
        """End the connection and free everything. Runs shielded from cancellation, so it must bound itself; may be repeated."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether `write` can work."""

    @abstractmethod
    async def end_input(self) -> None:
        """Tell the other side that nothing more will be written."""
