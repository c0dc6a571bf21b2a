from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support_tools import TOOLS, call, error_of, make_workspace, text_of
from toolwright.tools.base import InvalidInput
from toolwright.tools.multi_edit import MultiEdit
from toolwright.workspace import Workspace

pytestmark = pytest.mark.anyio


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


async def seen(workspace: Workspace, data: bytes | str) -> Path:
    """A file of the session with this content, already read."""
    file = Path(workspace.home) / "file.py"
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    await call("Read", workspace, file_path=str(file))
    return file


def edit(old: str, new: str, **more: Any) -> dict[str, Any]:
    return {"old_string": old, "new_string": new, **more}


async def test_edits_are_made_in_order_each_on_what_the_last_one_left(workspace: Workspace) -> None:
    file = await seen(workspace, "a = 1\nb = 2\na = 1\n")
    edits = [edit("b = 2", "c = 3\nd = 4"), edit("c = 3", "e = 5"), edit("a = 1", "a = 0", replace_all=True)]
    output = await call("MultiEdit", workspace, file_path=str(file), edits=edits)
    assert file.read_text() == "a = 0\ne = 5\nd = 4\na = 0\n"
    assert output.content == (
        f"The file {file} has been updated successfully (3 edits, lines as each edit found them).\n"
        "1. 1 replacement, line 2\n2. 1 replacement, line 2\n3. 2 replacements, lines 1, 4"
    )
    lines = ["-a = 1", "-b = 2", "-a = 1", "+a = 0", "+e = 5", "+d = 4", "+a = 0"]
    assert output.structured == {
        "filePath": str(file),
        "edits": [
            {"oldString": "b = 2", "newString": "c = 3\nd = 4", "replaceAll": False},
            {"oldString": "c = 3", "newString": "e = 5", "replaceAll": False},
            {"oldString": "a = 1", "newString": "a = 0", "replaceAll": True},
        ],
        "originalFile": "a = 1\nb = 2\na = 1\n",
        "structuredPatch": [{"oldStart": 1, "oldLines": 3, "newStart": 1, "newLines": 4, "lines": lines}],
        "userModified": False,
        "success": True,
        "replacements": 4,
    }


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([edit("a", "b"), edit("missing", "x")], "Edit 2 of 2 failed, so none was made: String to replace not found"),
        (
            [edit("a\n", "b\n"), edit("x", "y"), edit("z", "z")],
            "Edit 3 of 3 failed, so none was made: old_string and new_string",
        ),
        (
            [edit("a", "b"), edit("x", "y")],
            "Edit 2 of 2 failed, so none was made: old_string occurs 2 times in the file (lines 2, 3)",
        ),
        ([edit("a", "q"), edit("a", "r")], "write old_string as they leave it"),
        ([edit("a", "b"), edit("", "r")], "Edit 2 of 2 failed, so none was made: The file exists and is not empty"),
        ([edit("", "b"), edit("x", "r")], "Edit 1 of 2 failed, so none was made: The file exists and is not empty"),
        ([edit("a", "b"), edit("b", "\udc80")], "Edit 2 of 2 failed, so none was made: new_string holds \\udc80"),
        ([edit("nothing", "b")], "String to replace not found"),
    ],
)
async def test_one_failing_edit_leaves_the_file_and_is_named(
    workspace: Workspace, edits: list[dict[str, Any]], words: str
) -> None:
    file = await seen(workspace, "a\nx\nx\n")
    before = file.stat()
    assert words in await error_of("MultiEdit", workspace, file_path=str(file), edits=edits)
    assert file.read_text() == "a\nx\nx\n"
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert os.listdir(workspace.home) == ["file.py"]


async def test_the_file_is_written_once(workspace: Workspace) -> None:
    file = await seen(workspace, "".join(f"line {number};\n" for number in range(50)))
    inode = file.stat().st_ino
    edits = [edit(f"line {number};", f"row {number}") for number in range(50)]
    text = await text_of("MultiEdit", workspace, file_path=str(file), edits=edits)
    assert file.read_text() == "".join(f"row {number}\n" for number in range(50))
    assert file.stat().st_ino != inode
    assert text.endswith("20. 1 replacement, line 20\n… and 30 more")


async def test_an_empty_first_old_string_creates_the_file(workspace: Workspace) -> None:
    edits = [edit("", "one\ntwo\n"), edit("two", "2")]
    text = await text_of("MultiEdit", workspace, path="sub/new.txt", edits=edits)
    assert (Path(workspace.home) / "sub/new.txt").read_text() == "one\n2\n"
    assert "File created successfully" in text
    assert "1. created" in text


async def test_read_before_write_holds_as_for_edit(workspace: Workspace) -> None:
    file = Path(workspace.home) / "file.py"
    file.write_text("x y z")
    edits = [edit("x", "1"), edit("y", "2")]
    assert "has not been read yet" in await error_of("MultiEdit", workspace, file_path=str(file), edits=edits)
    assert "File does not exist" in await error_of("MultiEdit", workspace, file_path="other", edits=edits)
    await text_of("Read", workspace, file_path=str(file))
    file.write_text("x y z!")
    everywhere = [edit("x", "1"), edit("y", "2", replace_all=True)]
    assert "has changed on disk" in await error_of("MultiEdit", workspace, file_path=str(file), edits=everywhere)
    assert "had changed on disk" in await text_of("MultiEdit", workspace, file_path=str(file), edits=edits)
    assert file.read_text() == "1 2 z!"


async def test_encoding_mark_and_line_ends_survive(workspace: Workspace) -> None:
    file = await seen(workspace, b"\xff\xfe" + "größe\r\nb\r\n".encode("utf-16-le"))
    edits = [edit("ö", "oe\n"), edit("e\nb", "e\nc\nb")]
    assert (await call("MultiEdit", workspace, file_path=str(file), edits=edits)).is_error is None
    assert file.read_bytes() == b"\xff\xfe" + "groe\r\nße\r\nc\r\nb\r\n".encode("utf-16-le")


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([], "Expected `array` of length >= 1"),
        ([{"old_string": "a"}], "missing required field `new_string`"),
        ([edit("a", "b", more=1)], "unknown field `more`"),
        ("[]", "expected `array`, got `str`"),
    ],
)
def test_a_misfit_is_named(edits: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        TOOLS["MultiEdit"].parse({"file_path": "a", "edits": edits})
    assert words.lower() in str(caught.value).lower()


@settings(deadline=None)
@example("a", [("a", "", False), ("", "b", False)])
@given(
    st.text("ab\n", max_size=12),
    st.lists(st.tuples(st.text("ab\n", max_size=2), st.text("abc", max_size=2), st.booleans()), min_size=1, max_size=4),
)
def test_it_is_the_same_as_one_edit_after_the_other_or_nothing(
    tmp_path_factory: pytest.TempPathFactory, content: str, edits: list[tuple[str, str, bool]]
) -> None:
    workspace = make_workspace(tmp_path_factory.getbasetemp())
    changes = [edit(old, new, replace_all=everywhere) for old, new, everywhere in edits]

    async def both() -> None:
        file = await seen(workspace, content)
        results = [await call("Edit", workspace, file_path=str(file), **change) for change in changes]
        expected = content if any(result.is_error for result in results) else file.read_text()
        file = await seen(workspace, content)
        output = await call("MultiEdit", workspace, file_path=str(file), edits=changes)
        assert file.read_text() == expected
        assert bool(output.is_error) == any(result.is_error for result in results)

    anyio.run(both)


async def several(workspace: Workspace) -> tuple[Path, Path]:
    one, two = (Path(workspace.home) / name for name in ("one.py", "two.py"))
    for file in (one, two):
        file.write_text("a = 1\n")
        await text_of("Read", workspace, file_path=str(file))
    return one, two


async def test_edits_may_name_files_of_their_own(workspace: Workspace) -> None:
    one, two = await several(workspace)
    edits = [edit("a", "b"), {**edit("a", "c"), "file_path": str(two)}, edit("b = 1", "b = 2")]
    output = await call("MultiEdit", workspace, file_path=str(one), edits=edits)
    assert (one.read_text(), two.read_text()) == ("b = 2\n", "c = 1\n")
    assert [file["filePath"] for file in output.structured["files"]] == [str(one), str(two)]
    assert (output.structured["success"], output.structured["replacements"]) == (True, 3)


async def test_a_failing_edit_of_one_file_leaves_all_files_alone(workspace: Workspace) -> None:
    one, two = await several(workspace)
    edits = [{**edit("a", "b"), "file_path": str(one)}, {**edit("missing", "c"), "file_path": str(two)}]
    error = await error_of("MultiEdit", workspace, edits=edits)
    assert "two.py" in error
    assert "No file was changed." in error
    assert (one.read_text(), two.read_text()) == ("a = 1\n", "a = 1\n")
    assert "file_path is missing" in await error_of("MultiEdit", workspace, edits=[edit("a", "b")])


async def test_every_file_is_told_to_the_permissions(workspace: Workspace) -> None:
    tool = MultiEdit()
    parsed = tool.parse({"edits": [{**edit("a", "b"), "file_path": "/one"}, {**edit("a", "b"), "file_path": "/two"}]})
    assert set(tool.effects(parsed, workspace).writes) == {"/one", "/two"}


async def test_files_get_their_content_back_when_the_disk_fails_in_between(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = await several(workspace)
    original = Workspace.replace_file
    written: list[str] = []

    async def fails_at_the_second(self: Workspace, path: str, change: Any, **more: Any) -> Any:
        if path == str(two) and written:
            raise OSError("disk full")
        replaced = await original(self, path, change, **more)
        written.append(path)
        return replaced

    monkeypatch.setattr(Workspace, "replace_file", fails_at_the_second)
    edits = [{**edit("a", "b"), "file_path": str(file)} for file in (one, two)]
    assert "disk full. The other files have their old content again." in await error_of("MultiEdit", workspace, edits=edits)
    assert written == [str(one), str(one)]
    assert (one.read_text(), two.read_text()) == ("a = 1\n", "a = 1\n")
