from __future__ import annotations

from hashlib import sha1

from hypothesis import given
from hypothesis import strategies as st

from toolwright.files.digests import digest, foresee

STEP = 16 * 1024
LENGTHS = st.sampled_from([0, 1, STEP - 1, STEP, STEP + 1, 3 * STEP, 256 * 1024, 256 * 1024 + 1])


@given(st.lists(st.binary(max_size=2), max_size=30))
def test_a_digest_that_is_remembered_is_that_of_the_content(contents: list[bytes]) -> None:
    assert [digest(data) for data in contents] == [sha1(data).digest() for data in contents]


@given(st.lists(st.tuples(LENGTHS, st.binary(max_size=2), LENGTHS, st.booleans()), max_size=8))
def test_contents_that_begin_alike_have_digests_of_their_own(cases: list[tuple[int, bytes, int, bool]]) -> None:
    for before, middle, behind, foreseen in cases:
        data = b"a" * before + middle + b"b" * behind
        if foreseen:
            foresee(data)
        assert digest(data) == sha1(data).digest()
