"""The address guard: which addresses may be dialled, and one lookup whose checked answer is what gets dialled.

An explicit list of networks, because `ipaddress.is_global` calls NAT64, 6to4, multicast and the metadata services of two
clouds global. It knows no rules about names; `domains` does. Runs on asyncio and trio.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Collection, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import anyio

from toolwright.egress.errors import AddressBlocked, HostUnknown
from toolwright.egress.hosts import as_address, clean_host

Lookup = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses of a host as text. Raises `OSError` if there are none."""

LOOKUP_SECONDS = 15.0

_REFUSED_4 = {
    IPv4Network(network): meaning
    for network, meaning in {
        "0.0.0.0/8": "this machine",
        "10.0.0.0/8": "a private network",
        "100.64.0.0/10": "a provider's inner network",
        "127.0.0.0/8": "this machine",
        "168.63.129.16/32": "a cloud's metadata service",
        "169.254.0.0/16": "a link-local address (cloud metadata services live there)",
        "172.16.0.0/12": "a private network",
        "192.0.0.0/24": "reserved by the IETF (a cloud's metadata service lives there)",
        "192.0.2.0/24": "an address for documentation",
        "192.31.196.0/24": "reserved for AS112",
        "192.52.193.0/24": "reserved for multicast tunnels",
        "192.88.99.0/24": "a 6to4 relay",
        "192.168.0.0/16": "a private network",
        "192.175.48.0/24": "reserved for AS112",
        "198.18.0.0/15": "a network for benchmarks",
        "198.51.100.0/24": "an address for documentation",
        "203.0.113.0/24": "an address for documentation",
        "224.0.0.0/4": "multicast",
        "240.0.0.0/4": "reserved",
    }.items()
}
_GLOBAL_6 = IPv6Network("2000::/3")  # all that has ever been given out; loopback, ULA, link-local and multicast lie outside
_REFUSED_6 = {
    IPv6Network("2001::/23"): "reserved by the IETF (Teredo and others)",
    IPv6Network("2001:db8::/32"): "an address for documentation",
    IPv6Network("2620:4f:8000::/48"): "reserved for AS112",
    IPv6Network("3fff::/20"): "an address for documentation",
}
_NAT64 = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")
_SIX_TO_FOUR = IPv6Network("2002::/16")
_ISATAP = 0x5EFE


def refusal(address: IPv4Address | IPv6Address | str) -> str | None:
    """Why this address may not be dialled, in words; None if it may."""
    if isinstance(address, str):
        address = ip_address(address)
    if isinstance(address, IPv6Address):
        embedded = embedded_ipv4(address)
        if embedded is not None:
            return refusal(embedded)
        return _refusal_6(address)
    return next((meaning for network, meaning in _REFUSED_4.items() if address in network), None)


def embedded_ipv4(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for: mapped, compatible, NAT64, 6to4, ISATAP."""
    number = int(address)
    if address.ipv4_mapped is not None or address in _NAT64:
        return IPv4Address(number & 0xFFFFFFFF)
    if address in _COMPATIBLE:  # :: and ::1 too: 0.0.0.0 and 0.0.0.1 are refused as "this machine"
        return IPv4Address(number & 0xFFFFFFFF)
    if address in _SIX_TO_FOUR:
        return IPv4Address((number >> 80) & 0xFFFFFFFF)
    if (number >> 32) & 0xFDFFFFFF == _ISATAP:
        return IPv4Address(number & 0xFFFFFFFF)
    return None


async def look_up(host: str, port: int) -> Sequence[str]:
    """Ask the system's resolver."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


async def resolve_checked(
    host: str, port: int, *, lookup: Lookup = look_up, private_services: Collection[tuple[str, int]] = ()
) -> tuple[str, ...]:
    """The addresses to dial for `host`: looked up once, every one checked. Dial these, never the name again.

    One refused address refuses them all. `private_services` are the exact (host, port) pairs that may lead anywhere.
    Raises `BadHost`, `HostUnknown` or `AddressBlocked`.
    """
    host = clean_host(host)
    literal = as_address(host)
    found = (str(literal),) if literal is not None else await _looked_up(host, port, lookup)
    if (host, port) not in private_services:
        for address in found:
            meaning = refusal(address)
            if meaning is not None:
                raise AddressBlocked(host, address, meaning)
    return found


async def _looked_up(host: str, port: int, lookup: Lookup) -> tuple[str, ...]:
    try:
        with anyio.fail_after(LOOKUP_SECONDS):
            answer = await lookup(host, port)
        found = tuple(dict.fromkeys(str(ip_address(address)) for address in answer))
    except TimeoutError:
        raise HostUnknown(host, f"no answer within {LOOKUP_SECONDS:.0f} seconds") from None
    except (OSError, ValueError) as error:  # ValueError: an answer that is no address, a name that cannot be encoded
        raise HostUnknown(host, getattr(error, "strerror", None) or str(error) or "lookup failed") from error
    if not found:
        raise HostUnknown(host, "it has no address")
    return found


def _refusal_6(address: IPv6Address) -> str | None:
    if address not in _GLOBAL_6:
        return "not a public IPv6 address"
    return next((meaning for network, meaning in _REFUSED_6.items() if address in network), None)
