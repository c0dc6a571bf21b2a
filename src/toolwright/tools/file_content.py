"""What Read sees of a file that is not shown as lines: its whole content, for the reader of its kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct

from toolwright.tools.base import ToolOutput
from toolwright.tools.media.kinds import Kind


class Whole(Struct, frozen=True):
    """A file that was read whole for `reader`. `kind` is what its first bytes say it is; `pages` what the call asked for."""

    path: str
    data: bytes
    reader: str
    kind: Kind | None = None
    pages: str | None = None

    @property
    def size(self) -> int:
        return len(self.data)


class FileViewer(Struct, frozen=True):
    """How files of a kind are shown. `advice` is for a file of more than `limit` bytes."""

    show: Callable[[Whole], Awaitable[ToolOutput]]
    limit: int
    advice: str
