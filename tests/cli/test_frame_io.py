"""Frames on stdin and stdout."""

import os
import tempfile

import pytest

from toolwright.cli.frame_io import Frame, FrameOutput, read_frames
from toolwright.cli.plain_output import OutputClosed

pytestmark = pytest.mark.anyio


async def frames_of(data: bytes) -> tuple[list[Frame], list[str]]:
    reports: list[str] = []

    async def report(text: str) -> None:
        reports.append(text)

    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        return [frame async for frame in read_frames(file.fileno(), report)], reports


async def test_blank_lines_and_windows_line_ends_are_no_matter() -> None:
    assert await frames_of(b'{"a":1}\r\n\n   \n{"b":2}') == ([{"a": 1}, {"b": 2}], [])


@pytest.mark.parametrize("bad", [b"nonsense", b'{"a":', b"[1]", b'"text"', b"\xff\xfe", b"[" * 50_000, b'{"a":' * 50_000])
async def test_a_line_that_is_no_frame_is_reported_by_number_and_skipped(bad: bytes) -> None:
    frames, reports = await frames_of(b'{"a":1}\n' + bad + b'\n{"b":2}\n')
    assert frames == [{"a": 1}, {"b": 2}]
    assert len(reports) == 1
    assert reports[0].startswith("line 2 of stdin is not a")
    assert len(reports[0]) < 1000


async def test_what_python_writes_is_read_even_where_json_has_no_such_thing() -> None:
    frames, reports = await frames_of(b'{"a":"\\ud83d\\ude00"}\n{"a":NaN}\n')
    assert frames[0] == {"a": "😀"}
    assert (len(frames), reports) == (2, [])


async def test_a_frame_is_one_line() -> None:
    reader, writer = os.pipe()
    output = FrameOutput(writer, lambda: None)
    await output.write({"text": "two\nlines", "lone": "\ud800"})
    assert os.read(reader, 1000).count(b"\n") == 1
    os.close(reader)
    os.close(writer)


async def test_a_closed_output_is_told_once_and_raised() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    told: list[bool] = []
    with pytest.raises(OutputClosed):
        await FrameOutput(writer, lambda: told.append(True)).write({})
    assert told == [True]
    os.close(writer)
