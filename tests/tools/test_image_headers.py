from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from support_media import picture, saved
from toolwright.tools.media.headers import BadHeader, Header, is_whole, read_header
from toolwright.tools.media.kinds import GIF, JPEG, PNG, WEBP, Kind, describe_binary, shown_kind

FORMATS = [
    (PNG, "PNG", {}),
    (JPEG, "JPEG", {}),
    (JPEG, "JPEG", {"progressive": True}),
    (GIF, "GIF", {}),
    (WEBP, "WEBP", {}),
    (WEBP, "WEBP", {"lossless": True}),
    (WEBP, "WEBP", {"exif": b"Exif\0\0II*\0\x08\0\0\0\0\0\0\0\0\0"}),
]


@given(st.sampled_from(FORMATS), st.integers(1, 300), st.integers(1, 300))
def test_the_header_says_what_a_decoder_finds(case: tuple[Kind, str, dict[str, object]], width: int, height: int) -> None:
    kind, format_, options = case
    data = saved(picture(width, height), format_, **options)
    assert shown_kind(data[:1024]) is kind
    assert read_header(kind, data) == Header(width, height)
    assert is_whole(kind, data)
    assert not is_whole(kind, data[: len(data) - 9])


@pytest.mark.parametrize(("kind", "format_"), [(GIF, "GIF"), (WEBP, "WEBP"), (PNG, "PNG")])
def test_an_animation_is_recognised(kind: Kind, format_: str) -> None:
    frames = [Image.new("RGB", (60, 40), colour) for colour in ("red", "green")]
    data = saved(frames[0], format_, save_all=True, append_images=frames[1:], duration=50)
    assert read_header(kind, data) == Header(60, 40, animated=True)


@given(st.sampled_from([PNG, JPEG, GIF, WEBP]), st.binary(max_size=200))
def test_any_bytes_have_a_header_or_a_clear_error(kind: Kind, rest: bytes) -> None:
    data = kind.signature + rest
    is_whole(kind, data)
    with suppress(BadHeader):
        assert read_header(kind, data).pixels > 0


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"RIFF\0\0\0\0WEBPVP8 ", "WebP image"),
        (b"RIFF\0\0\0\0WAVEfmt ", "WAVE audio"),
        (b"\0\0\0\x18ftypheic", "ISO media (MP4, HEIC or AVIF)"),
        (b"\x7fELF\x02", "ELF program"),
        (b"\x01\x02", "binary data"),
        (b"", "binary data"),
    ],
)
def test_binary_data_is_put_into_words(head: bytes, words: str) -> None:
    assert describe_binary(head) == words
