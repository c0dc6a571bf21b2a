"""What Read sees of a file that is not shown as lines: its whole content, for the reader of its kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from toolwright.tools.base import ToolOutput
from toolwright.tools.media.kinds import Kind


@dataclass(frozen=True, slots=True)
class Whole:
    """A file that was read whole for `reader`. `kind` is what its first bytes say it is; `pages` what the call asked for."""

    path: str
    data: bytes
    reader: str
    kind: Kind | None = None
    pages: str | None = None

    @property
    def size(self) -> int:
        return len(self.data)


@dataclass(frozen=True, slots=True)
class Reader:
    """How files of a kind are shown. `advice` is for a file of more than `limit` bytes."""

    show: Callable[[Whole], Awaitable[ToolOutput]]
    limit: int
    advice: str
