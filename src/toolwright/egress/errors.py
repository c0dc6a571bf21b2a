"""Why something does not get out, as typed errors whose text a model can act on.

EgressRefused
├── BadHost            not a name or address that everybody reads the same way
├── BadRequest         not a request that a proxy can pass on without guessing
├── HostBlocked        the rules, or the answer to a question, say no
├── AddressBlocked     the name leads to this machine, a private network or a metadata service
├── HostUnknown        the name does not resolve
└── HostUnreachable    resolved and allowed, but nobody answered
BadDomainRule          a rule that cannot be understood: refused when it is read, never ignored
NetworkUnavailable     this machine gives us no private network namespace
"""

from __future__ import annotations

from typing import ClassVar

from toolwright.base.workspace_errors import WorkspaceError

BLOCKED = "Blocked by the toolwright sandbox"


class EgressRefused(WorkspaceError):
    """The connection was not made; the text says why and what to do."""

    http_status: ClassVar[int] = 403
    socks_reply: ClassVar[int] = 2  # "connection not allowed by ruleset"


class BadHost(EgressRefused):
    """The text is no host name or address, or one that programs read differently."""

    http_status = 400

    def __init__(self, host: str, why: str) -> None:
        super().__init__(f"{BLOCKED}: {host[:100]!a} is not accepted as a host: {why}.")


class BadRequest(EgressRefused):
    """What came is not a proxy request, or can be read in two ways."""

    http_status = 400
    socks_reply = 1

    def __init__(self, why: str) -> None:
        super().__init__(f"{BLOCKED}: the proxy cannot pass this request on: {why}.")


class HostBlocked(EgressRefused):
    """The rules do not let this host be reached."""

    def __init__(self, host: str, port: int, why: str) -> None:
        super().__init__(f"{BLOCKED}: host {host} (port {port}) is not allowed; {why}.")


class AddressBlocked(EgressRefused):
    """The host leads to an address that is nobody's public server."""

    def __init__(self, host: str, address: str, why: str) -> None:
        super().__init__(f"{BLOCKED}: host {host} is not allowed; it leads to {address}, {why}.")


class HostUnknown(EgressRefused):
    """The name has no address."""

    http_status = 502
    socks_reply = 4

    def __init__(self, host: str, why: str) -> None:
        super().__init__(f"The toolwright sandbox could not resolve {host}: {why}.")


class HostUnreachable(EgressRefused):
    """Nobody answered at the address."""

    http_status = 502
    socks_reply = 5

    def __init__(self, host: str, port: int, why: str) -> None:
        super().__init__(f"The toolwright sandbox could not connect to {host} port {port}: {why}.")


class BadDomainRule(WorkspaceError):
    """A domain rule that says nothing, too much, or cannot be read."""

    def __init__(self, rule: str, why: str) -> None:
        super().__init__(f"The domain rule {rule[:200]!a} cannot be used: {why}.")


class NetworkUnavailable(WorkspaceError):
    """A private network namespace could not be made, so no sandboxed command can be given a way out."""
