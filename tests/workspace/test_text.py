from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.workspace.text import TextFormat, decode_text, detect_format


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"", "utf-8"),
        (b"plain", "utf-8"),
        ("größe".encode(), "utf-8"),
        (b"\xef\xbb\xbfmarked", "utf-8"),
        ("größe und mehr".encode("latin-1"), "latin-1"),
        ("text".encode("utf-16"), "utf-16-le"),
        (b"\xfe\xff" + "text".encode("utf-16-be"), "utf-16-be"),
        ("some longer text".encode("utf-16-le"), "utf-16-le"),
        ("some longer text".encode("utf-16-be"), "utf-16-be"),
        ("ünïcödé and one bad byte: ".encode() + b"\xff", "utf-8"),
    ],
)
def test_the_encoding_of_a_text_is_found(data: bytes, encoding: str) -> None:
    found = detect_format(data)
    assert found is not None
    assert found.encoding == encoding


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", bytes(range(256)), b"\0" * 100])
def test_binary_data_has_no_format(data: bytes) -> None:
    assert detect_format(data) is None


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1), st.sampled_from(["utf-8", "utf-16-le", "utf-16-be"])
)
def test_marked_text_survives_decoding_and_encoding(text: str, encoding: str) -> None:
    mark = "\ufeff".encode(encoding)
    decoded = decode_text(mark + text.encode(encoding))
    assert decoded is not None
    assert decoded == (text, TextFormat(encoding, mark))
    assert decoded[1].mark + decoded[1].encode(decoded[0]) == mark + text.encode(encoding)
