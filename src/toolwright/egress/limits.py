"""How much a command may ask of the proxy."""

from __future__ import annotations

from msgspec import Struct


class ProxyLimits(Struct, frozen=True):
    """Bounds of one session's proxy."""

    connections: int = 256
    """At the same time; further ones wait in the kernel's queue."""
    head_bytes: int = 65_536
    head_seconds: float = 30.0
    """For the whole head of a request, however slowly its bytes come."""
    connect_seconds: float = 30.0
    idle_seconds: float = 600.0
    """Without a byte in either direction."""
