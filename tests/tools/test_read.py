from __future__ import annotations

import os
from pathlib import Path

import pytest

from support_tools import call, error_of, make_workspace, open_descriptors, text_of
from toolwright.tools import line_window
from toolwright.workspace import OpenFile

pytestmark = pytest.mark.anyio


async def test_lines_come_with_their_numbers_and_the_structured_result(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    file = tmp_path / "ws/a.txt"
    file.write_text("one\ntwo\n")
    output = await call("Read", workspace, file_path=str(file))
    assert output.content == "1\tone\n2\ttwo"
    assert output.is_error is None
    assert output.structured == {
        "type": "text",
        "file": {"filePath": str(file), "content": "one\ntwo", "numLines": 2, "startLine": 1, "totalLines": 2}
        | {"size": 8, "encoding": "utf-8"},
    }


async def test_a_window_says_where_it_is_and_how_to_go_on(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (tmp_path / "ws/a").write_text("".join(f"{n}\n" for n in range(1, 5001)))
    path = str(tmp_path / "ws/a")
    assert (await text_of("Read", workspace, file_path=path)).endswith(
        "2000\t2000\n\n[lines 1-2000 of 5000; continue with offset=2001]"
    )
    assert await text_of("Read", workspace, file_path=path, offset=4999, limit=9) == (
        "4999\t4999\n5000\t5000\n\n[lines 4999-5000 of 5000]"
    )
    past = await text_of("Read", workspace, file_path=path, offset=6000)
    assert "has 5000 lines: offset 6000 is past its end" in past


async def test_a_long_line_is_cut_and_marked(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (tmp_path / "ws/a").write_text("x" * 2500 + "\nshort\n")
    text = await text_of("Read", workspace, file_path=str(tmp_path / "ws/a"))
    assert (
        text
        == f"1\t{'x' * 2000} [... 500 characters more in this line; to see them: sed -n '1p' FILE | cut -c2001- ]\n2\tshort"
    )


async def test_much_text_stops_at_a_line_and_says_so(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (tmp_path / "ws/a").write_text("".join(f"{n} {'x' * 1000}\n" for n in range(1000)))
    text = await text_of("Read", workspace, file_path=str(tmp_path / "ws/a"))
    assert len(text) < 270_000
    assert "of 1000; continue with offset=" in text[-60:]


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"zwei\r\nzeilen\r\n", "1\tzwei\n2\tzeilen"),
        (b"\xef\xbb\xbfmarked", "1\tmarked"),
        ("größe\nb".encode("utf-16"), "1\tgröße\n2\tb"),
        ("größe\nb".encode("latin-1"), "1\tgröße\n2\tb"),
        ("u2028:\u2028 stays one line".encode(), "1\tu2028:\u2028 stays one line"),
    ],
)
async def test_any_common_encoding_is_shown_as_text(tmp_path: Path, data: bytes, shown: str) -> None:
    workspace = make_workspace(tmp_path)
    (tmp_path / "ws/a").write_bytes(data)
    assert await text_of("Read", workspace, file_path=str(tmp_path / "ws/a")) == shown


async def test_empty_binary_and_relative_files_are_explained(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (tmp_path / "ws/empty").touch()
    (tmp_path / "ws/archive").write_bytes(b"PK\x03\x04\x14\0\0\0\x08\0")
    (tmp_path / "ws/text").write_text("hi\n")
    assert "exists and is empty" in await text_of("Read", workspace, file_path=str(tmp_path / "ws/empty"))
    described = await text_of("Read", workspace, file_path=str(tmp_path / "ws/archive"))
    assert "no text but ZIP archive (or a format built on it): 10 bytes, beginning 50 4b 03 04" in described
    assert await text_of("Read", workspace, file_path=f"{tmp_path}/ws/archive", encoding="base64") == "UEsDBBQAAAAIAA=="
    assert await text_of("Read", workspace, file_path="text") == f"1\thi\n\n[relative path: this is {tmp_path}/ws/text]"


async def test_what_cannot_be_read_is_told_at_once(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    os.mkfifo(tmp_path / "ws/fifo")
    (tmp_path / "ws/reader.py").touch()
    (tmp_path / "ws/folder").mkdir()
    root = f"{tmp_path}/ws"
    assert "is a FIFO (named pipe)" in await error_of("Read", workspace, file_path=f"{root}/fifo")
    assert "is a directory, not a regular file. List it with Glob" in await error_of(
        "Read", workspace, file_path=f"{root}/folder"
    )
    missing = await error_of("Read", workspace, file_path=f"{root}/raeder.py")
    assert missing == (
        f"File does not exist: {root}/raeder.py. Note: your current working directory is {root}. Did you mean {root}/reader.py?"
    )
    assert "folder does not exist" not in missing
    assert "does not exist either" in await error_of("Read", workspace, file_path=f"{root}/no/file")
    assert "NUL" in await error_of("Read", workspace, file_path="a\0b")
    outside = await error_of("Read", workspace, file_path="/etc/passwd")
    assert outside.startswith("Access denied: Path /etc/passwd is outside allowed boundaries")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make devices")
async def test_an_endless_device_is_refused(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    try:
        os.mknod(tmp_path / "ws/zero", 0o20666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("not even root may make devices here")
    assert "character device" in await error_of("Read", workspace, file_path=f"{tmp_path}/ws/zero")


async def test_a_huge_file_costs_what_it_shows(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    file = tmp_path / "ws/huge"
    file.write_bytes(b"first\nsecond\n" + b"x" * 3_000_000 + b"\n")
    os.truncate(file, 1 << 40)
    text = await text_of("Read", workspace, file_path=str(file), limit=3)
    assert text.startswith("1\tfirst\n2\tsecond\n3\txxx")
    assert "about 2,998,000 bytes more" in text
    assert "continue with offset=4" in text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
async def test_a_sparse_file_costs_its_data_and_not_its_size(tmp_path: Path, encoding: str) -> None:
    workspace = make_workspace(tmp_path)
    file = tmp_path / "ws/sparse"
    start = "".join(f"line {n}\n" for n in range(1, 1001)).encode(encoding)
    with file.open("wb") as stream:
        stream.write(start)
        stream.seek(5 << 40)  # no system reads five terabytes of zeros in the time a test has
        stream.write("\nafter the hole\nlast".encode(encoding).removeprefix(b"\xff\xfe"))
    output = await call("Read", workspace, file_path=str(file), offset=1000, limit=9)
    first, hole, after, last, *rest = str(output.content).split("\n")
    assert (first, after, last) == ("1000\tline 1000", "1002\tafter the hole", "1003\tlast")
    assert hole.startswith("1001\t" + "\0" * 2000 + " [... about ")
    assert rest == ["", "[lines 1000-1003 of 1003]"]


def test_a_file_that_does_not_tell_its_size_is_read_all_the_same() -> None:
    descriptor = os.open("/proc/self/status", os.O_RDONLY)
    try:
        page = line_window.read_page(OpenFile(descriptor, "/proc/self/status", os.fstat(descriptor)), 1, 5)
        assert isinstance(page, line_window.Page)
        assert page.lines[0].startswith("Name:")
        assert page.size > 0
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("whole_file_bytes", [100, 1000])
def test_what_grows_while_it_is_read_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole_file_bytes: int) -> None:
    monkeypatch.setattr(line_window, "WHOLE_FILE_BYTES", whole_file_bytes)
    file = tmp_path / "log"
    file.write_bytes(b"line\n" * 100)
    descriptor = os.open(file, os.O_RDONLY)
    try:
        status = os.fstat(descriptor)
        with file.open("ab") as stream:
            stream.write(b"more\n" * 900)
        page = line_window.read_page(OpenFile(descriptor, str(file), status), 99, 3)
        assert isinstance(page, line_window.Page)
        if whole_file_bytes < 500:
            assert (page.lines, page.total) == (["line", "line"], 100)
        else:
            assert (page.lines, page.total) == (["line", "line", "more"], 1000)
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1", "cp1251"])
async def test_streaming_shows_the_same_as_reading_whole(
    tmp_path: Path, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = make_workspace(tmp_path)
    word = "Привет" if encoding == "cp1251" else "größe"
    (tmp_path / "ws/a").write_bytes(
        "".join(f"zeile {n} {word}\r\n" for n in range(1, 3000)).encode(encoding) + "ende".encode(encoding)[-8:]
    )
    windows = [(1, 5), (1, 4000), (1500, 3), (2999, 9), (3000, 9), (4000, 2)]
    whole = [await call("Read", workspace, file_path="a", offset=first, limit=count) for first, count in windows]
    monkeypatch.setattr(line_window, "WHOLE_FILE_BYTES", 1000)
    assert [await call("Read", workspace, file_path="a", offset=first, limit=count) for first, count in windows] == whole


async def test_reading_leaves_no_descriptor_open(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (tmp_path / "ws/a").write_text("x")
    (tmp_path / "ws/big").write_bytes(b"x\n" * 300_000)
    (tmp_path / "ws/l").symlink_to("a")
    os.mkfifo(tmp_path / "ws/fifo")
    for _ in range(2):
        before = open_descriptors()
        for path in ("a", "big", "l", "fifo", "none", "..", "../x", "/etc/passwd"):
            await call("Read", workspace, file_path=path)
    assert open_descriptors() == before
