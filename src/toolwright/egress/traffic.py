"""What went through the proxy and what did not: counters, and the latest refusals for the report to the model."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from msgspec import Struct, field

_REFUSALS_KEPT = 200
_MAX_IN_WORDS = 10


class RefusedConnection(Struct, frozen=True):
    """One connection that was not made."""

    number: int
    """Counts all refusals of the session, from 1."""
    target: str
    """What was asked for, as printable ASCII."""
    reason: str


class Traffic(Struct):
    """Counters of one session's proxy."""

    connections: int = 0
    """Accepted from commands."""
    dialled: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    refused: int = 0
    _latest: deque[RefusedConnection] = field(default_factory=lambda: deque(maxlen=_REFUSALS_KEPT))

    def note_refusal(self, target: str, reason: str) -> None:
        self.refused += 1
        self._latest.append(RefusedConnection(self.refused, target, reason))

    def refusals_since(self, number: int) -> list[RefusedConnection]:
        """The refusals after the first `number` ones (at most the latest 200)."""
        return [refusal for refusal in self._latest if refusal.number > number]

    def count_sent(self, count: int) -> None:
        self.bytes_sent += count

    def count_received(self, count: int) -> None:
        self.bytes_received += count


def in_words(refusals: Sequence[RefusedConnection]) -> str | None:
    """What to tell a model after a command: many clients show nothing of a refused tunnel but its number, 403."""
    reasons = list(dict.fromkeys(refusal.reason for refusal in refusals))
    if not reasons:
        return None
    more = len(reasons) - _MAX_IN_WORDS
    told = "\n".join(f"- {reason}" for reason in reasons[:_MAX_IN_WORDS])
    rest = f"\n- and {more} more" if more > 0 else ""
    return (
        f"While this command ran, the sandbox refused connections:\n{told}{rest}\nIf the work needs a host, ask the user to "
        "allow it (sandbox.network.allowedDomains); do not try to get around the sandbox."
    )
