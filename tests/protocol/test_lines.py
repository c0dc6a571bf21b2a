import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.protocol.lines import FrameReader, LineSplitter, decode, decode_rest, encode
from toolwright.types import CLIJSONDecodeError

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=10,
)
frames = st.dictionaries(st.text(), values, max_size=4)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(bounds)]


@given(st.lists(frames, max_size=5), st.lists(st.integers(min_value=0), max_size=10))
def test_every_chunking_gives_the_same_frames(sent: list[dict[str, object]], places: list[int]) -> None:
    data = b"".join(encode(frame) for frame in sent)
    lines = LineSplitter()
    received = [decode(line) for piece in cut(data, places) for line in lines.feed(piece)]
    assert received == sent
    assert lines.end() == b""


@given(frames)
def test_a_frame_is_one_line(frame: dict[str, object]) -> None:
    line = encode(frame)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert len(line.decode().splitlines()) <= 1 + line.count(b"\xc2\x85")


def test_only_a_newline_ends_a_line() -> None:
    line = '{"text":"a\u2028b\u2029c\u0085d\\n"}\n'.encode()
    [only] = LineSplitter().feed(line)
    assert decode(only) == {"text": "a\u2028b\u2029c\u0085d\n"}


def test_separators_that_other_readers_split_at_are_escaped() -> None:
    assert encode({"text": "a\u2028b\u2029c"}) == b'{"text":"a\\u2028b\\u2029c"}\n'


def test_carriage_returns_at_the_end_are_tolerated() -> None:
    assert [decode(line) for line in LineSplitter().feed(b'{"a":1}\r\n{"b":2}\r\n')] == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize("noise", [b"", b"   ", b"debug: starting", b"[1, 2]", b'"text"', b"null"])
def test_lines_that_are_no_objects_are_noise(noise: bytes) -> None:
    assert decode(noise) is None


@pytest.mark.parametrize("broken", [b'{"a":', b"{'a': 1}", b'{"a":1} trailing', b'{"a":"\xff"}', b"{" + b'"a":{' * 100_000])
def test_a_broken_object_is_a_typed_error(broken: bytes) -> None:
    with pytest.raises(CLIJSONDecodeError) as caught:
        decode(broken)
    assert caught.value.line.startswith("{")


def test_lone_surrogates_survive_both_ways() -> None:
    assert decode(encode({"text": "a\ud800b"})) == {"text": "a\ud800b"}


def test_numbers_that_only_python_writes_are_read() -> None:
    assert decode(b'{"cost":Infinity}') == {"cost": float("inf")}


def test_a_line_of_fifty_megabytes_in_small_pieces_is_joined_once() -> None:
    piece = b"x" * 4096
    lines = LineSplitter()
    assert lines.feed(b'{"data":"') == []
    for _ in range(12_800):
        assert lines.feed(piece) == []
    [line] = lines.feed(b'"}\n')
    frame = decode(line)
    assert frame is not None
    assert len(frame["data"]) == 12_800 * 4096


def test_a_limit_is_kept_only_when_it_is_set() -> None:
    lines = LineSplitter(max_bytes=10)
    assert lines.feed(b'{"a":1}\n') == [b'{"a":1}']
    with pytest.raises(CLIJSONDecodeError, match="max_buffer_size=10"):
        lines.feed(b'{"a":123456789')


def test_a_whole_line_above_the_limit_is_refused() -> None:
    with pytest.raises(CLIJSONDecodeError, match="max_buffer_size=10"):
        LineSplitter(max_bytes=10).feed(b'{"a":123456789}\n')


def taken(*lines: bytes, limit: int | None = None) -> list[object]:
    reader = FrameReader(limit)
    return [frame for line in lines if (frame := reader.take(line)) is not None]


@pytest.mark.parametrize(
    "lines",
    [
        [b'{"type":"user","n":[1,', b"2]}"],
        [b'{"type":"us', b'er","n":[1,2]}'],
        [b"{", b'  "type": "user",', b'  "n": [', b"    1,", b"    2", b"  ]", b"}"],
        [b"noise", b'{"type":"user",\r', b'"n":[1,2]}\r'],
    ],
)
def test_a_frame_spread_over_lines_is_kept_until_it_is_whole(lines: list[bytes]) -> None:
    assert taken(*lines, b'{"next":1}') == [{"type": "user", "n": [1, 2]}, {"next": 1}]


def test_a_torn_frame_is_an_error_as_soon_as_the_next_one_comes() -> None:
    with pytest.raises(CLIJSONDecodeError, match="torn"):
        taken(b'{"torn":', b'{"type":"system"}')


def test_a_spread_frame_keeps_to_the_limit() -> None:
    with pytest.raises(CLIJSONDecodeError, match="max_buffer_size=10"):
        taken(b'{"a":1,', b'"b":2,', limit=10)


def test_what_waits_for_its_end_is_given_back_at_the_end() -> None:
    reader = FrameReader()
    assert reader.take(b'{"a":') is None
    assert decode_rest(reader.end(b"1}")) == {"a": 1}


def test_a_last_line_counts_without_its_end_but_not_torn() -> None:
    lines = LineSplitter()
    lines.feed(b'{"a":1}\n{"b":2}')
    assert decode_rest(lines.end()) == {"b": 2}
    assert decode_rest(b'{"b":') is None
    assert decode_rest(b"") is None
