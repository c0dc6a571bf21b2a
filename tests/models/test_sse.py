"""The event parser: WHATWG's rules, and one result for every way of cutting the bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.models.sse import ServerEvent, SseParser


def parse(*chunks: bytes) -> list[ServerEvent]:
    parser = SseParser()
    return [event for chunk in chunks for event in parser.feed(chunk)]


def naive(stream: bytes) -> list[ServerEvent]:
    """The rules written down as plainly as possible, for a stream that is all there."""
    text = stream.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events: list[ServerEvent] = []
    name, data = b"", list[bytes]()
    for line in text.split(b"\n")[:-1]:
        if line == b"":
            if data:
                events.append(ServerEvent(name.decode(errors="replace") or "message", b"\n".join(data)))
            name, data = b"", []
            continue
        field, _, value = line.partition(b":")
        value = value[1:] if value[:1] == b" " else value
        if field == b"event":
            name = value
        elif field == b"data":
            data.append(value)
    return events


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"event: ping\ndata: {}\n\n", [("ping", b"{}")]),
        (b"data: a\r\ndata: b\r\n\r\n", [("message", b"a\nb")]),
        (b"data: a\rdata: b\r\r", [("message", b"a\nb")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("message", b"a")]),
        (b": comment\ndata:x\nid: 7\nretry: 5\n\n", [("message", b"x")]),
        (b"data\n\ndata\ndata\n\n", [("message", b""), ("message", b"\n")]),
        (b"data:  two spaces\n\n", [("message", b" two spaces")]),
        (b"event: lost\n\ndata: y\n\n", [("message", b"y")]),
        (b"unknown: z\nDATA: no\ndata: y\n\n", [("message", b"y")]),
        (b"data: never finished\n", []),
        (b"data: \xe2\x80\xa8 \xc2\x85 \x0b \x0c \x1c\n\n", [("message", b"\xe2\x80\xa8 \xc2\x85 \x0b \x0c \x1c")]),
        (b"\n\n\n", []),
        (b"", []),
    ],
)
def test_streams_read_by_the_rules(stream: bytes, expected: list[tuple[str, bytes]]) -> None:
    assert parse(stream) == expected
    assert parse(*[stream[i : i + 1] for i in range(len(stream))]) == expected


PIECES = st.sampled_from(
    [
        b"\r",
        b"\n",
        b"\r\n",
        b"data",
        b"data:",
        b"data: ",
        b"event: ",
        b"event:",
        b":",
        b" ",
        b"x",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xa8",
        b"id: 1",
        b"{}",
    ]
)


@given(st.lists(PIECES, max_size=40), st.data())
def test_every_chunking_gives_the_same_events(pieces: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(pieces)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)))))
    chunks = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert parse(*chunks) == naive(stream)


def test_a_long_line_in_small_pieces_is_joined_once() -> None:
    parser = SseParser()
    parser.feed(b"data: ")
    for _ in range(100_000):  # copying the line for each piece would move 300 GB: this test would never end
        assert parser.feed(b"x" * 64) == []
    assert len(parser.feed(b"\n\n")[0].data) == 6_400_000


def test_close_tells_whether_something_was_cut_off() -> None:
    parser = SseParser()
    parser.feed(b"data: whole\n\n")
    assert parser.close() is False
    parser.feed(b"data: half")
    assert parser.close() is True
    assert parser.feed(b"\n\n") == []


def test_what_to_reconnect_with_is_remembered() -> None:
    parser = SseParser()
    parser.feed(b"id: 7\ndata: x\n\nretry: 1500\nid:8\ndata:\n\n")
    assert (parser.last_id, parser.retry_seconds) == ("8", 1.5)
    parser.feed(b"id: a\0b\nretry: soon\n")
    assert (parser.last_id, parser.retry_seconds) == ("8", 1.5)
