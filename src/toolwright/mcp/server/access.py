"""Who may talk to our HTTP server: a token, and names of the server that a page in a browser cannot make up.

Without the Host and Origin checks any web page could reach a server on this machine by pointing a name of its own at it
(DNS rebinding). Pure; knows no sockets.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from msgspec import Struct

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


class Barred(Exception):
    """A request that is turned away."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Access(Struct, frozen=True):
    """`tokens` by which clients are known; none means that everybody who reaches the port is let in. `hosts` are host:port."""

    tokens: tuple[str, ...]
    hosts: frozenset[str]
    origins: frozenset[str] = frozenset()

    def principal(self, headers: Mapping[str, str]) -> str:
        """Who asks. Raises `Barred`."""
        if headers.get("host", "").lower() not in self.hosts:
            raise Barred(421, "The Host header does not name this server.")
        origin = headers.get("origin")
        if origin is not None and not self._may_come_from(origin):
            raise Barred(403, "Requests from this Origin are not served.")
        if not self.tokens:
            return ""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        known = [
            token for token in self.tokens if hmac.compare_digest(token.encode(), given.strip().encode("latin-1", "replace"))
        ]
        if scheme.lower() != "bearer" or not known:
            raise Barred(401, "A token is needed: Authorization: Bearer …")
        return hashlib.sha256(known[0].encode()).hexdigest()

    def _may_come_from(self, origin: str) -> bool:
        if origin in self.origins:
            return True
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and parts.netloc.lower() in self.hosts


def hosts_of(address: str, port: int, names: Iterable[str] = ()) -> frozenset[str]:
    """The host:port under which a listener at `address` may be asked for."""
    shown = f"[{address}]" if ":" in address else address
    is_loopback = address == "localhost" or address.startswith("127.") or address == "::1"
    own = {shown, *names, *(LOOPBACK_NAMES if is_loopback else ())}
    with_port = {name if _has_port(name) else f"{name}:{port}" for name in own}
    return frozenset(name.lower() for name in with_port | (own if port == 80 else set()))


def _has_port(name: str) -> bool:
    return ":" in name.rpartition("]")[2]
