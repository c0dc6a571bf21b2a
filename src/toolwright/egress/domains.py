"""Which hosts commands may reach: allow and deny rules, and one question per unknown host.

`DomainPolicy` is pure. `DomainGate` adds the question and remembers its answers for the session. Neither knows what
asks the user, nor what is dialled afterwards.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Literal, Self

import anyio
from msgspec import Struct

from toolwright.egress.errors import BadDomainRule, BadHost, HostBlocked
from toolwright.egress.hosts import as_address, clean_host, split_authority

Verdict = Literal["allow", "deny", "ask"]
Ask = Callable[[str, int], Awaitable[bool]]
"""Asks whether a host may be reached (host, port). Whatever is not `True` means no."""

ASK_SECONDS = 600.0


class DomainRule(Struct, frozen=True):
    """`example.com`, `*.example.com` (every name below, not the domain itself), either with `:port`; `*` to deny all."""

    host: str
    """The cleaned host, or the domain below which every name is meant; empty for `*`."""
    below: bool = False
    port: int | None = None

    @classmethod
    def parse(cls, text: str, *, allows: bool) -> Self:
        """Read a rule. Raises `BadDomainRule`, also for an allow rule that is wider than one domain."""
        name = text.strip()
        if name == "*":
            if allows:
                raise BadDomainRule(text, "it would allow every host; name the domains")
            return cls("", below=True)
        below = name.startswith("*.")
        try:
            host, port = _read(name.removeprefix("*.") if below else name)
        except BadHost as error:
            raise BadDomainRule(text, f"write example.com or *.example.com ({error})") from error
        if below and (as_address(host) is not None or (allows and "." not in host)):
            raise BadDomainRule(text, "a wildcard stands in front of a domain of at least two parts, such as *.example.com")
        return cls(host, below, port)

    def covers(self, host: str, port: int) -> bool:
        """Whether a cleaned host is meant."""
        if self.port is not None and self.port != port:
            return False
        if self.below:
            return not self.host or (host.endswith("." + self.host) and as_address(host) is None)
        return host == self.host


class DomainPolicy(Struct, frozen=True):
    """Deny wins over allow. Unknown hosts are asked about, but without a single allow rule everything is denied."""

    allowed: tuple[DomainRule, ...] = ()
    denied: tuple[DomainRule, ...] = ()
    strict: bool = False
    """Deny unknown hosts instead of asking."""
    asks_if_empty: bool = False
    """Ask about every host even if no rule allows one."""

    @classmethod
    def parse(
        cls, allowed: Iterable[str] = (), denied: Iterable[str] = (), *, strict: bool = False, asks_if_empty: bool = False
    ) -> Self:
        """Read the rules. Raises `BadDomainRule`."""
        return cls(
            tuple(DomainRule.parse(rule, allows=True) for rule in allowed),
            tuple(DomainRule.parse(rule, allows=False) for rule in denied),
            strict,
            asks_if_empty,
        )

    def verdict(self, host: str, port: int) -> Verdict:
        """What the rules say about a cleaned host."""
        if any(rule.covers(host, port) for rule in self.denied) or not (self.allowed or self.asks_if_empty):
            return "deny"
        if any(rule.covers(host, port) for rule in self.allowed):
            return "allow"
        return "deny" if self.strict else "ask"


class DomainGate:
    """Decides for one session. Answers are remembered by host; a question that fails or hangs is a no for those who wait."""

    __slots__ = ("_answers", "_ask", "_open", "_seconds", "policy")

    def __init__(self, policy: DomainPolicy, *, ask: Ask | None = None, ask_seconds: float = ASK_SECONDS) -> None:
        self.policy = policy
        self._ask = ask
        self._seconds = ask_seconds
        self._answers: dict[str, bool] = {}
        self._open: dict[str, _Question] = {}

    async def admit(self, host: str, port: int) -> None:
        """Return if the host may be reached; raise `HostBlocked` (or `BadHost`) if not."""
        host = clean_host(host)
        verdict = self.policy.verdict(host, port)
        if verdict == "ask" and self._ask is not None and await self._answer(self._ask, host, port):
            return
        if verdict != "allow":
            raise HostBlocked(host, port, self._why(verdict))

    def _why(self, verdict: Verdict) -> str:
        if verdict == "ask":
            return "the user was asked and did not allow it" if self._ask else "it is not among the allowed domains"
        if not self.policy.allowed:
            return "no domain is allowed in this sandbox (sandbox.network.allowedDomains is empty)"
        return "it is denied, or not among the allowed domains (sandbox.network)"

    async def _answer(self, ask: Ask, host: str, port: int) -> bool:
        while host not in self._answers:
            question = self._open.get(host)
            if question is None:
                return await self._put(ask, host, port)
            await question.done.wait()
            if question.answer is not None:
                return question.answer
            # Whoever asked was cancelled before there was an answer: ask again.
        return self._answers[host]

    async def _put(self, ask: Ask, host: str, port: int) -> bool:
        question = self._open[host] = _Question(anyio.Event())
        try:
            answer = False
            with anyio.move_on_after(self._seconds):
                answer = self._answers[host] = await ask(host, port) is True
            question.answer = answer
        except Exception:  # noqa: BLE001 — the host's callback: a question that cannot be put is answered no
            question.answer = False
        finally:
            del self._open[host]
            question.done.set()
        return question.answer


class _Question(Struct):
    done: anyio.Event
    answer: bool | None = None


def _read(name: str) -> tuple[str, int | None]:
    """Host and port of a rule. Rules are written by people, so a name may be spelt in their own letters."""
    if not name.isascii():
        import idna  # comes with anyio; only a rule in other letters needs it

        try:
            host, colon, port = name.partition(":")
            name = idna.encode(host, uts46=True).decode("ascii") + colon + port
        except idna.IDNAError as error:
            raise BadHost(name, str(error)) from error
    if name.count(":") == 1 or "]:" in name:
        return split_authority(name)
    return clean_host(name.removeprefix("[").removesuffix("]")), None
