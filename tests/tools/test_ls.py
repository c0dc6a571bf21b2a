from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support_tools import TOOLS, call, error_of, make_workspace, open_descriptors, text_of
from toolwright.files.folders import OpenFolder
from toolwright.tools.base import ToolContext
from toolwright.tools.ls import MAX_ENTRIES, FolderScan, shown_name
from toolwright.workspace import Workspace

pytestmark = pytest.mark.anyio


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


@pytest.fixture
def home(workspace: Workspace) -> Path:
    return Path(workspace.home)


async def test_folders_come_first_with_their_entries_and_files_with_their_size(workspace: Workspace, home: Path) -> None:
    (home / "src/deep").mkdir(parents=True)
    (home / "src/a.py").write_text("x")
    (home / ".hidden").mkdir()
    (home / "b.txt").write_text("x" * 1234)
    (home / "A.md").write_text("")
    output = await call("LS", workspace, path=str(home))
    assert output.content == (
        f"{home}\n.hidden/\t0 entries\nsrc/\t2 entries\nA.md\t0 bytes\nb.txt\t1,234 bytes"  # and not a word more
    )
    assert output.structured == {
        "path": str(home),
        "entries": [
            {"name": ".hidden", "type": "directory", "entries": 0},
            {"name": "src", "type": "directory", "entries": 2},
            {"name": "A.md", "type": "file", "size": 0},
            {"name": "b.txt", "type": "file", "size": 1234},
        ],
        "numEntries": 4,
        "totalEntries": 4,
        "truncated": False,
    }


async def test_the_current_folder_is_the_default_and_an_empty_one_says_so(workspace: Workspace, home: Path) -> None:
    assert await text_of("LS", workspace) == f"{home}\n[no entries]"


async def test_names_to_ignore_are_left_out_and_counted(workspace: Workspace, home: Path) -> None:
    for name in ("a.pyc", "b.pyc", "node_modules", "c.py", "build", "q[1]"):
        (home / name).mkdir()
    ignore = ["*.pyc", "**/node_modules", "./build/", "q[[]1]"]
    assert await text_of("LS", workspace, ignore=ignore) == f"{home}\nc.py/\t0 entries\n[5 left out by ignore]"


async def test_links_and_special_files_are_shown_for_what_they_are(workspace: Workspace, home: Path) -> None:
    (home / "out").symlink_to("/etc")
    (home / "loop").symlink_to("loop")
    (home / "gone").symlink_to("nowhere\nat all")
    os.mkfifo(home / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        old = os.getcwd()
        os.chdir(home)
        try:
            listener.bind("socket")
        finally:
            os.chdir(old)
        text = await text_of("LS", workspace)
    assert text.splitlines()[1:] == [
        "gone -> nowhere\\nat all\tlink",
        "loop -> loop\tlink",
        "out -> /etc\tlink",
        "pipe\tFIFO (named pipe)",
        "socket\tsocket",
    ]


async def test_a_large_folder_is_capped_and_its_total_told(workspace: Workspace, home: Path) -> None:
    for number in range(MAX_ENTRIES + 5):
        (home / f"f{number:05}").touch()
    (home / "zoo").mkdir()
    output = await call("LS", workspace)
    lines = output.text.splitlines()
    assert lines[1:3] == ["zoo/\t0 entries", "f00000\t0 bytes"]
    assert lines[-1].startswith("[the first 1,000 of 1,006 entries")
    assert (output.structured["numEntries"], output.structured["totalEntries"], output.structured["truncated"]) == (
        1000,
        1006,
        True,
    )


async def test_names_that_are_no_utf8_or_hold_control_characters_stay_on_their_line(workspace: Workspace, home: Path) -> None:
    (home / os.fsdecode(b"caf\xe9")).touch()
    (home / "two\nlines\x1b[31m").touch()
    (home / "größe ☃").touch()
    text = await text_of("LS", workspace)
    assert text.splitlines()[1:4] == ["caf\\xe9\t0 bytes", "größe ☃\t0 bytes", "two\\nlines\\x1b[31m\t0 bytes"]
    assert "reach them through Bash" in text
    assert shown_name("plain name.txt") == "plain name.txt"


async def test_what_deny_rules_hide_is_neither_shown_nor_counted(workspace: Workspace, home: Path) -> None:
    (home / "sub").mkdir()
    for name in ("secret.env", "open.txt", "sub/secret.env", "sub/open.txt"):
        (home / name).touch()
    context = ToolContext(workspace, hidden=lambda path: path.endswith("secret.env"))
    tool = TOOLS["LS"]
    output = await tool.run(tool.parse({"ignore": ["secret*"]}), context)
    assert output.content == f"{home}\nsub/\t1 entry\nopen.txt\t0 bytes"


async def test_what_cannot_be_listed_is_an_error_that_says_why(workspace: Workspace, home: Path) -> None:
    (home / "file").touch()
    assert "is no folder: LS lists folders" in await error_of("LS", workspace, path="file")
    assert "is no folder" in await error_of("LS", workspace, path="file/x")
    assert "Directory does not exist: missing." in await error_of("LS", workspace, path="missing")
    assert "outside allowed boundaries" in await error_of("LS", workspace, path="..")
    (home / "out").symlink_to("/etc")
    assert "outside allowed boundaries" in await error_of("LS", workspace, path="out")
    (home / "inner").mkdir()
    (home / "inner/x").touch()
    (home / "in").symlink_to("inner")
    assert await text_of("LS", workspace, path="in") == f"{home}/inner\nx\t0 bytes"


@contextmanager
def as_nobody() -> Iterator[None]:
    """In this thread, permissions of files are held against an ordinary user: root passes all of them."""
    library = ctypes.CDLL(None)
    library.setfsuid(65534)
    try:
        yield
    finally:
        library.setfsuid(0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_an_unreadable_folder_inside_is_told_as_such(workspace: Workspace, home: Path) -> None:
    (home / "closed").mkdir(mode=0o700)
    (home / "open").mkdir(mode=0o755)
    descriptor = os.open(home, os.O_RDONLY)
    try:
        with as_nobody():
            listing = FolderScan([], lambda path: False, str(home))(OpenFolder(descriptor, str(home)))
    finally:
        os.close(descriptor)
    assert [(row.entry.name, row.inside) for row in listing.rows] == [("closed", None), ("open", 0)]


async def test_no_descriptor_is_left_open(workspace: Workspace, home: Path) -> None:
    for name in ("a", "b", "c"):
        (home / name).mkdir()
    await text_of("LS", workspace)
    before = open_descriptors()
    await text_of("LS", workspace)
    await error_of("LS", workspace, path="missing")
    assert open_descriptors() == before
