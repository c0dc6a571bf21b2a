"""Which addresses may be dialled, and that what was checked is what is dialled."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_egress import LOOPBACK, METADATA, names
from toolwright.egress.addresses import embedded_ipv4, refusal, resolve_checked
from toolwright.egress.errors import AddressBlocked, EgressRefused, HostUnknown

pytestmark = pytest.mark.anyio

PUBLIC = ["1.1.1.1", "93.184.216.34", "8.8.8.8", "2606:4700:4700::1111", "2a00:1450:4001:80b::200e", "64:ff9b::101:101"]
REFUSED = [
    *(
        [
            "0.0.0.0",
            "0.255.1.2",
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
        ]
    ),
    *(
        [
            "172.31.255.255",
            "192.168.1.1",
            "192.0.0.192",
            "168.63.129.16",
            "198.18.0.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
        ]
    ),
    *(
        [
            "255.255.255.255",
            "203.0.113.7",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::1",
        ]
    ),
    *(
        [
            "2002:a9fe:a9fe::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
            "2001:0:1::1",
            "3fff::1",
            "100::1",
            "5f00::1",
        ]
    ),
    *(["2606:4700::5efe:a00:1", "2606:4700::200:5efe:a00:1", "::ffff:0:127.0.0.1"]),
]


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_may_be_dialled(address: str) -> None:
    assert refusal(address) is None


@pytest.mark.parametrize("address", REFUSED)
def test_addresses_that_are_no_public_server_are_refused_with_a_meaning(address: str) -> None:
    assert refusal(address)


@given(st.ip_addresses(v=4))
def test_an_embedded_address_is_judged_as_the_address_itself(address: IPv4Address) -> None:
    number = int(address)
    wrapped = [0xFFFF << 32 | number, 0x64FF9B << 96 | number, 0x2002 << 112 | number << 80 | 1, number]
    for value in wrapped:
        assert embedded_ipv4(IPv6Address(value)) == address
        assert refusal(IPv6Address(value)) == refusal(address)


@given(st.ip_addresses())
def test_what_python_calls_private_is_never_dialled(address: IPv4Address | IPv6Address) -> None:
    if not address.is_global:
        mapped = embedded_ipv4(address) if isinstance(address, IPv6Address) else None
        assert refusal(address) or (mapped is not None and refusal(mapped) is None)


@pytest.mark.parametrize("spelling", [*LOOPBACK, *METADATA])
async def test_every_spelling_of_this_machine_and_of_metadata_is_refused(spelling: str) -> None:
    with pytest.raises(EgressRefused):
        await resolve_checked(spelling.strip("[]"), 80)


async def test_a_name_is_looked_up_once_and_the_answer_is_what_is_given() -> None:
    asked: list[str] = []
    lookup = names({"example.com": ["1.1.1.1", "1.1.1.1", "2606:4700:4700::1111"]}, asked)
    assert await resolve_checked("Example.COM.", 443, lookup=lookup) == ("1.1.1.1", "2606:4700:4700::1111")
    assert asked == ["example.com"]


async def test_one_private_address_refuses_the_whole_name() -> None:
    with pytest.raises(AddressBlocked, match=r"example\.com is not allowed; it leads to 10\.0\.0\.7, a private network"):
        await resolve_checked("example.com", 443, lookup=names({"example.com": ["1.1.1.1", "10.0.0.7"]}))


@pytest.mark.parametrize("answer", [[], ["not an address"], [""]])
async def test_an_answer_without_an_address_is_a_refusal(answer: list[str]) -> None:
    with pytest.raises(HostUnknown, match=r"could not resolve example\.com"):
        await resolve_checked("example.com", 443, lookup=names({"example.com": answer}))


async def test_a_failing_lookup_is_a_refusal() -> None:
    with pytest.raises(HostUnknown, match="Name or service not known"):
        await resolve_checked("example.com", 443, lookup=names({}))


async def test_a_private_service_is_allowed_for_its_exact_host_and_port_only() -> None:
    lookup = names({"db.test": ["10.0.0.7"], "other.test": ["10.0.0.7"]})
    services = {("db.test", 5432)}
    assert await resolve_checked("DB.test", 5432, lookup=lookup, private_services=services) == ("10.0.0.7",)
    for host, port in (("db.test", 80), ("other.test", 5432), ("10.0.0.7", 5432)):
        with pytest.raises(AddressBlocked):
            await resolve_checked(host, port, lookup=lookup, private_services=services)


async def test_a_lookup_that_is_cancelled_stays_cancelled() -> None:
    async def never(host: str, port: int) -> Sequence[str]:
        await anyio.sleep_forever()
        raise AssertionError

    with anyio.move_on_after(0) as scope:
        await resolve_checked("example.com", 443, lookup=never)
    assert scope.cancelled_caught
