from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.files.text import TextFormat, decode_text, detect_format


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


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "cp932", "windows-1252"])
def test_pieces_together_are_the_text(encoding: str) -> None:
    format_ = TextFormat(encoding)
    data = format_.encode("aé\n" * 9 if encoding == "windows-1252" else "a表\r\n" * 9) + (
        b"\xff" if encoding == "utf-8" else b""
    )
    for size in (1, 2, 3, 7, 1000):
        assert "".join(format_.pieces(data, size)) == format_.decode(data)


@pytest.mark.parametrize("text", ["plain — “text”\n", "grün und groß\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "windows-1252"])
def test_large_files_have_the_format_of_small_ones(encoding: str, text: str) -> None:
    small = (text * 500).encode(encoding)
    assert detect_format(small * 80) == detect_format(small)
