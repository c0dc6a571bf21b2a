"""Closing a stream that was left before its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio


async def closed(stream: AsyncIterator[Any]) -> None:
    """Close a generator now and here, not when it is collected; an iterator of another kind has nothing to close."""
    close = getattr(stream, "aclose", None)
    if close is not None:
        with anyio.CancelScope(shield=True):
            await close()
