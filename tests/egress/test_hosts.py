"""One spelling for every host, and no way to write one that two programs read differently."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_egress import LOOPBACK, TRICKS
from toolwright.egress.errors import BadHost
from toolwright.egress.hosts import as_address, clean_host, join_authority, split_authority


@pytest.mark.parametrize(
    ("written", "clean"),
    [
        ("Example.COM", "example.com"),
        ("example.com.", "example.com"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("my_host", "my_host"),
        ("1.1.1.1", "1.1.1.1"),
        ("::FFFF:1.1.1.1", "1.1.1.1"),
        ("2606:4700:4700:0:0:0:0:1111", "2606:4700:4700::1111"),
        ("3com.example", "3com.example"),
    ],
)
def test_a_host_has_one_spelling(written: str, clean: str) -> None:
    assert clean_host(written) == clean


ODD = [
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "0x7f.0.0.1",
    "0",
    "1.2.3.4.5",
    "256.1.1.1",
    "a.0x1f",
    "example.1",
    "0x",
]


@pytest.mark.parametrize(
    "written", [*TRICKS, *ODD, "bücher.example", "①.①.①.①", "127。0。0。1", "fe80::1%eth0", "a" * 64, "a." * 127 + "a"]
)
def test_what_can_be_read_in_two_ways_is_no_host(written: str) -> None:
    if written in ("allowed.test.evil.test", "notallowed.test"):
        assert clean_host(written) == written  # a plain host, only another one
        return
    with pytest.raises(BadHost):
        clean_host(written)


def _accepted(text: str) -> str | None:
    try:
        return clean_host(text)
    except BadHost:
        return None


HOSTLIKE = st.one_of(st.text(max_size=40), st.text("aA0x1f.:-_[]%@\0\t\\/#? ①。", max_size=25), st.sampled_from(LOOPBACK))


@given(HOSTLIKE)
def test_a_cleaned_host_is_plain_and_cleaning_it_again_changes_nothing(text: str) -> None:
    clean = _accepted(text)
    if clean is not None:
        assert clean_host(clean) == clean
        assert clean.isascii()
        assert not set(clean) & set("\0\t\r\n\\/@#?%[] ")


@given(st.text("0123456789abcdefx.", min_size=1, max_size=16))
def test_what_the_c_library_takes_for_a_number_is_never_taken_for_a_name(text: str) -> None:
    try:
        meant = socket.inet_ntoa(socket.inet_aton(text))
    except OSError:
        return
    clean = _accepted(text)
    assert clean is None or (str(as_address(clean)) == meant == clean)


@given(st.sampled_from(["example.com", "1.1.1.1", "2606:4700::1"]), st.integers(1, 65535))
def test_host_and_port_survive_being_joined(host: str, port: int) -> None:
    assert split_authority(join_authority(host, port)) == (host, port)


@pytest.mark.parametrize(
    "text", ["a:0", "a:65536", "a:", "a:+1", "a: 1", "a:1_0", "a:٣", "a:-1", "a", "::1", "::1:80", "[::1", "::1]:1", "[a]:1"]
)
def test_an_authority_without_a_clear_host_and_port_is_refused(text: str) -> None:
    with pytest.raises(BadHost):
        split_authority(text)


def test_a_missing_port_may_have_a_default() -> None:
    assert split_authority("[2606:4700::1]", 80) == ("2606:4700::1", 80)
    assert split_authority("a.example", 80) == ("a.example", 80)
