from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.processes.output_buffer import OutputCollector, visible


def collect(folder: Path, pieces: list[bytes], **limits: int) -> tuple[str, bytes | None]:
    path = folder / "spill"
    path.unlink(missing_ok=True)
    collector = OutputCollector(lambda: (os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), str(path)), **limits)
    for piece in pieces:
        collector.feed(piece)
    captured = collector.finish()
    assert captured.total_bytes == sum(map(len, pieces))
    return captured.text, path.read_bytes() if captured.saved_to else None


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_nothing_is_lost_and_short_output_stays_whole(tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    text, saved = collect(tmp_path_factory.getbasetemp(), pieces, limit=100)
    if saved is None:
        assert text == visible(whole)
        assert len(text) <= 100
    else:
        assert saved == whole
        assert "output shortened" in text


def test_a_character_cut_at_the_border_is_not_shown_in_pieces(tmp_path: Path) -> None:
    text, _ = collect(tmp_path, ["é".encode() * 999, b"x", "é".encode() * 999], limit=100)
    assert "\\x" not in text


def test_the_file_has_a_limit_and_it_is_told(tmp_path: Path) -> None:
    text, saved = collect(tmp_path, [b"x" * 1000] * 10, limit=100, file_limit=2500)
    assert saved == b"x" * 2500
    assert "its first 2,500 bytes are in" in text
    assert "the rest is lost" in text
