from __future__ import annotations

import os
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from support_tools import call, error_of, make_workspace, text_of

pytestmark = pytest.mark.anyio


async def test_a_new_file_is_made_with_its_folders(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    path = f"{tmp_path}/ws/new/folder/a.txt"
    output = await call("Write", workspace, file_path=path, content="héllo\n")
    assert output.content == f"File created successfully at: {path} (7 bytes)"
    assert output.structured == {
        "type": "create",
        "filePath": path,
        "content": "héllo\n",
        "structuredPatch": [],
        "originalFile": None,
        "userModified": False,
        "success": True,
        "bytesWritten": 7,
    }
    assert Path(path).read_text() == "héllo\n"


async def test_overwriting_needs_a_read_of_the_present_version(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    file = tmp_path / "ws/a"
    file.write_text("one\n")
    assert "has not been read yet" in await error_of("Write", workspace, file_path=str(file), content="two\n")
    await text_of("Read", workspace, file_path=str(file))
    os.utime(file)  # a touch changes nothing
    output = await call("Write", workspace, file_path=str(file), content="two\n")
    assert output.content == f"The file {file} has been updated successfully (4 bytes)."
    assert output.structured["structuredPatch"] == snapshot(
        [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-one", "+two"]}]
    )
    assert output.structured["originalFile"] == "one\n"
    await text_of("Write", workspace, file_path=str(file), content="three\n")  # it knows its own version
    file.write_text("somebody else\n")
    assert "has changed on disk since it was read" in await error_of("Write", workspace, file_path=str(file), content="four\n")
    assert file.read_text() == "somebody else\n"


async def test_two_sessions_do_not_share_what_they_read(tmp_path: Path) -> None:
    one, two = make_workspace(tmp_path), make_workspace(tmp_path)
    (tmp_path / "ws/a").write_text("x")
    await text_of("Read", one, file_path="a")
    assert "has not been read" in await error_of("Write", two, file_path="a", content="y")


async def test_encoding_and_line_ends_are_kept(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    file = tmp_path / "ws/a"
    file.write_bytes("alt\r\n".encode("utf-16"))
    await text_of("Read", workspace, file_path="a")
    text = await text_of("Write", workspace, file_path="a", content="größe\nneu\n")
    assert "CRLF line ends kept; encoding kept: utf-16-le with BOM" in text
    assert file.read_bytes() == "größe\r\nneu\r\n".encode("utf-16")
    file.write_bytes("größe".encode("latin-1"))
    await text_of("Read", workspace, file_path="a")
    assert "encoding changed from latin-1 to utf-8" in await text_of("Write", workspace, file_path="a", content="→")


async def test_bytes_can_be_written_as_base64(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    await text_of("Write", workspace, path="a", content="AAH/\n", encoding="base64")
    assert (tmp_path / "ws/a").read_bytes() == b"\0\x01\xff"
    assert "not valid base64" in await error_of("Write", workspace, path="b", content="!", encoding="base64")
    assert not (tmp_path / "ws/b").exists()


async def test_what_cannot_be_written_is_explained(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (tmp_path / "ws/folder").mkdir()
    (tmp_path / "ws/file").touch()
    (tmp_path / "ws/out").symlink_to(tmp_path)
    assert "is a directory" in await error_of("Write", workspace, file_path="folder", content="")
    assert "is a directory" in await error_of("Write", workspace, file_path=".", content="")
    assert "Not a directory" in await error_of("Write", workspace, file_path="file/x", content="")
    assert "surrogate" in await error_of("Write", workspace, file_path="x", content="\ud800")
    for path in ("out/x", "../x", "/etc/x", "folder/../../x"):
        assert "Access denied" in await error_of("Write", workspace, file_path=path, content="")
    assert sorted(os.listdir(tmp_path)) == ["ws"]
    assert sorted(os.listdir(tmp_path / "ws")) == ["file", "folder", "out"]


async def test_a_link_planted_by_a_command_is_not_followed(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (tmp_path / "home").mkdir()
    await text_of("Bash", workspace, command=f"ln -s {tmp_path}/home l")
    assert "Access denied" in await error_of("Write", workspace, file_path=f"{tmp_path}/ws/l/x", content="")
    assert not os.listdir(tmp_path / "home")
