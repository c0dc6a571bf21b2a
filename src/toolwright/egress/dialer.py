"""From a wanted host to an open connection: the rules, one lookup, the address check, and the dial, always in this order."""

from __future__ import annotations

from collections.abc import Collection

from toolwright.egress.addresses import Lookup, look_up, resolve_checked
from toolwright.egress.domains import DomainGate
from toolwright.egress.errors import EgressRefused, HostUnreachable
from toolwright.egress.hosts import clean_host, join_authority
from toolwright.egress.streams import Stream, dial
from toolwright.egress.traffic import Traffic


class Dialer:
    """The only thing in the proxy that connects to a host a command named."""

    __slots__ = ("_gate", "_lookup", "_private_services", "_seconds", "_traffic")

    def __init__(
        self,
        gate: DomainGate,
        traffic: Traffic,
        *,
        connect_seconds: float = 30.0,
        lookup: Lookup = look_up,
        private_services: Collection[tuple[str, int]] = (),
    ) -> None:
        self._gate = gate
        self._traffic = traffic
        self._seconds = connect_seconds
        self._lookup = lookup
        self._private_services = frozenset((clean_host(host), port) for host, port in private_services)

    async def dial(self, host: str, port: int) -> Stream:
        """Connect to a cleaned host. Raises a kind of `EgressRefused`, which stands in the record too."""
        try:
            return await self._dial(host, port)
        except EgressRefused as error:
            self._traffic.note_refusal(join_authority(host, port), str(error))
            raise

    async def _dial(self, host: str, port: int) -> Stream:
        await self._gate.admit(host, port)
        addresses = await resolve_checked(host, port, lookup=self._lookup, private_services=self._private_services)
        try:
            stream = await dial(addresses, port, self._seconds)
        except TimeoutError:
            raise HostUnreachable(host, port, f"no answer within {self._seconds:.0f} seconds") from None
        except OSError as error:
            raise HostUnreachable(host, port, error.strerror or str(error)) from error
        self._traffic.dialled += 1
        return stream
