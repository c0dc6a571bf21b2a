"""What the two tools for resources of MCP servers share: the seam to the servers, and resources as values."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct


class Resource(Struct, frozen=True):
    """A resource as its server lists it."""

    uri: str
    name: str
    server: str
    media_type: str = ""
    description: str = ""


class ResourcePart(Struct, frozen=True):
    """One part of a resource: text, or bytes."""

    uri: str
    media_type: str
    text: str | None = None
    data: bytes = b""


class Resources(Protocol):
    """The resources of a session's servers."""

    async def listed(self, server: str | None) -> tuple[list[Resource], list[str]]:
        """Those of one server or of all, and what went wrong with which. Raises `ToolFailure` for an unknown server."""
        ...

    async def read(self, server: str, uri: str) -> list[ResourcePart]:
        """Raises `ToolFailure`, which tells apart what is not there and what we may not see."""
        ...
