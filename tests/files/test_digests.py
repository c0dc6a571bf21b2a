"""Digests tell versions of a file apart."""

from hashlib import sha1

from toolwright.files.digests import digest


def test_a_digest_is_that_of_the_content() -> None:
    assert [digest(data) for data in (b"", b"a", b"a" * 100_000)] == [
        sha1(data).digest() for data in (b"", b"a", b"a" * 100_000)
    ]
