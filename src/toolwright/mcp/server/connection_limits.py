"""Bounds how many connections there are, in all and of one address, and whose place a new one takes.

A connection that is being served keeps its place. One that waits, for the rest of a request or for the next, gives it up to a
newcomer when there are too many: first those that never brought a whole request, and of them the one that has waited longest.
So half-open connections, however many, keep nobody out. Knows no sockets and no HTTP.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio

MAX_CONNECTIONS = 200
MAX_PER_ADDRESS = 100


class ConnectionSlot:
    """The place of one connection. Whoever holds it runs inside `scope`, which is cancelled if the place is taken away."""

    __slots__ = ("_at_work", "_last", "address", "has_asked", "scope")

    def __init__(self, address: str) -> None:
        self.address = address
        self.scope = anyio.CancelScope()
        self.has_asked = False
        """Whether a whole request came of it."""
        self._at_work = False
        self._last = anyio.current_time()

    @property
    def is_waiting(self) -> bool:
        return not self._at_work and not self.scope.cancel_called

    @property
    def worth(self) -> tuple[bool, float]:
        """The one with the least gives way."""
        return self.has_asked, self._last

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """While a request is served."""
        self.has_asked = self._at_work = True
        try:
            yield
        finally:
            self._at_work, self._last = False, anyio.current_time()


class Places:
    """All places of one listener."""

    def __init__(self, most: int = MAX_CONNECTIONS, most_of_one: int = MAX_PER_ADDRESS) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._taken: set[ConnectionSlot] = set()

    @contextmanager
    def one(self, address: str) -> Iterator[ConnectionSlot | None]:
        """A place for a new connection; None if all are at work."""
        if not self._make_room(address):
            yield None
            return
        place = ConnectionSlot(address)
        self._taken.add(place)
        try:
            yield place
        finally:
            self._taken.discard(place)

    def _make_room(self, address: str) -> bool:
        of_address = [place for place in self._taken if place.address == address]
        if len(of_address) >= self._most_of_one:
            return self._take_away(of_address)
        return len(self._taken) < self._most or self._take_away(list(self._taken))

    def _take_away(self, places: list[ConnectionSlot]) -> bool:
        place = min((place for place in places if place.is_waiting), key=lambda place: place.worth, default=None)
        if place is None:
            return False
        place.scope.cancel()
        self._taken.discard(place)
        return True
