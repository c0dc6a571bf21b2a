"""One spelling for every host: what the rules judge is, letter by letter, what is dialled.

Whatever two programs could read differently (NUL, escapes, user names, non-ASCII letters, numbers that C libraries take for
addresses) is refused here, before a rule or a resolver sees it. Nothing is looked up.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from toolwright.egress.errors import BadHost

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORT = re.compile(r"[0-9]{1,5}")
_MAX_CHARACTERS = 253


def clean_host(text: str) -> str:
    """The host in its one spelling: lower case, no final dot, addresses in their canonical form. Raises `BadHost`."""
    if not text.isascii():
        raise BadHost(text, "it has letters outside ASCII (write the xn-- form of the name)")
    host = text.lower().removesuffix(".")
    if ":" in host:
        return _clean_ipv6(host)
    labels = host.split(".")
    if len(host) > _MAX_CHARACTERS or not all(map(_LABEL.fullmatch, labels)):
        raise BadHost(text, "a host is made of letters, digits, hyphens and dots, at most 253 characters")
    if _NUMBER.fullmatch(labels[-1]):
        return _clean_ipv4(host)
    return host


def as_address(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a cleaned host spells, if it is no name."""
    if ":" in host:
        return IPv6Address(host)
    return IPv4Address(host) if host.rpartition(".")[2].isdigit() else None


def split_authority(text: str, default_port: int | None = None) -> tuple[str, int]:
    """`host:port`, `[v6]:port`, or only the host where a default is given; cleaned. Raises `BadHost`."""
    bracket = text.rfind("]")
    name, colon, port = text.rpartition(":") if text.rfind(":") > bracket else (text, "", "")
    if not colon:
        if default_port is None:
            raise BadHost(text, "the port is missing (host:port)")
        return clean_host(_without_brackets(name)), default_port
    if not _PORT.fullmatch(port) or not 0 < int(port) < 65536:
        raise BadHost(text, "the port is not a number from 1 to 65535")
    return clean_host(_without_brackets(name)), int(port)


def join_authority(host: str, port: int, default_port: int | None = None) -> str:
    """The host as it stands in a `Host` header or in front of a port."""
    name = f"[{host}]" if ":" in host else host
    return name if port == default_port else f"{name}:{port}"


def _without_brackets(name: str) -> str:
    if name.startswith("[") and name.endswith("]") and ":" in name:
        return name[1:-1]
    if ":" in name:
        raise BadHost(name, "an IPv6 address stands in brackets")
    return name


def _clean_ipv6(host: str) -> str:
    try:
        address = IPv6Address(host)
    except AddressValueError:
        raise BadHost(host, "it is no IPv6 address") from None
    if address.scope_id is not None:
        raise BadHost(host, "it names a network interface")
    return str(address.ipv4_mapped or address)


def _clean_ipv4(host: str) -> str:
    """Only four plain decimal numbers: 127.1, 0x7f.1, 0177.0.0.1 and 2130706433 mean addresses to some and names to others."""
    try:
        return str(IPv4Address(host))
    except AddressValueError:
        raise BadHost(host, "a host that ends in a number has to be an address of four plain decimal numbers") from None
