"""What is new in the log of a background command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.base.workspace_errors import BadPattern
from toolwright.processes.line_filter import matching_lines
from toolwright.processes.output_buffer import visible
from toolwright.processes.output_log import ShellLog


def new_log(folder: Path) -> ShellLog:
    path = str(folder / os.urandom(8).hex())
    return ShellLog(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), path)


def test_each_look_shows_only_what_is_new(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.append(b"one\n")
    assert log.read_new(100).text == "one\n"
    assert log.read_new(100).text == ""
    log.append(b"two")
    assert log.read_new(100).text == "two"
    log.close()


@settings(max_examples=60, deadline=None)
@given(pieces=st.lists(st.binary(max_size=12) | st.text(max_size=6).map(lambda text: text.encode("utf-8", "replace"))))
def test_looks_put_together_are_the_whole_however_it_was_cut(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]
) -> None:
    log = new_log(tmp_path_factory.getbasetemp())
    whole = "".join(pieces_seen(log, pieces))
    assert log.unseen == 0
    text = b"".join(pieces)
    try:
        expected = visible(text.decode().encode())
    except UnicodeDecodeError:
        expected = None  # what is no text may be shown byte by byte in more than one way
    assert expected is None or whole == expected


def pieces_seen(log: ShellLog, pieces: list[bytes]) -> list[str]:
    seen = []
    for piece in pieces:
        log.append(piece)
        seen.append(log.read_new(10_000).text)
    log.close()
    return [*seen, log.read_new(10_000).text]


@pytest.mark.parametrize("letter", ["x", "é", "→", "🙂", "\x01"])
@pytest.mark.parametrize("count", [101, 300, 5000])
def test_of_much_the_beginning_and_the_end_are_shown_and_the_rest_is_counted(tmp_path: Path, letter: str, count: int) -> None:
    log = new_log(tmp_path)
    data = ("<" + letter * count + ">").encode()
    log.append(data)
    news = log.read_new(100)
    assert (news.text[0], news.ending[-1], len(news.text), len(news.ending)) == ("<", ">", 50, 50)
    assert news.left_out > 0
    if letter != "\x01":
        assert len((news.text + news.ending).encode()) + news.left_out == len(data)
    assert log.read_new(100).text == ""
    log.close()


def test_a_filter_gets_whole_lines_and_an_unfinished_one_later(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.append(b"one\ntw")
    assert log.next_lines(100) == b"one\n"
    log.skip(4)
    assert log.next_lines(100) == b""
    log.append(b"o\nthree")
    assert log.next_lines(100) == b"two\n"
    log.close()
    assert log.next_lines(100) == b"two\nthree"
    assert log.next_lines(6) == b"two\n"
    assert log.next_lines(3) == b"two"


@pytest.mark.anyio
async def test_lines_are_matched_as_bytes_and_counted_beyond_what_is_kept() -> None:
    found = await matching_lines("a+$", b"xa\r\n\xff\0a\nb\naa", limit=4)
    assert (found.data, found.lines) == (b"xa\r\n", 3)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("pattern", "why"), [("(", "unclosed group"), ("a\0", "NUL"), ("\udc80", "surrogate"), ("a{9999}{9999}", "cannot be used")]
)
async def test_a_bad_pattern_is_named(pattern: str, why: str) -> None:
    with pytest.raises(BadPattern, match=why):
        await matching_lines(pattern, b"text\n", limit=10)


@pytest.mark.anyio
async def test_no_pattern_takes_for_ever() -> None:
    """It would take an engine that tries all ways longer than the age of the world."""
    found = await matching_lines("^(a+)+$", b"a" * 100_000 + b"b\n", limit=10)
    assert found.lines == 0
