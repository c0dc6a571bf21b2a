"""A process that swaps a folder for a link as fast as it can, against the tools. Judged by what happened outside."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support_tools import call, make_workspace
from toolwright.workspace import landlock

pytestmark = pytest.mark.anyio

TRIES = 1500
SECONDS = 2.0
_SWAPPER = """
import os, sys
os.chdir(sys.argv[1])
print("go", flush=True)
while True:
    os.rename("door", "real"); os.rename("link", "door")
    os.rename("door", "link"); os.rename("real", "door")
"""


@pytest.fixture
def swapped(tmp_path: Path) -> Iterator[Path]:
    """ws/door is a folder or a link to outside/, from one moment to the next."""
    (tmp_path / "ws/door").mkdir(parents=True)
    (tmp_path / "ws/door/file").write_text("inside\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_text("SECRET\n")
    (tmp_path / "ws/link").symlink_to(tmp_path / "outside")
    swapper = subprocess.Popen([sys.executable, "-c", _SWAPPER, str(tmp_path / "ws")], stdout=subprocess.PIPE)
    assert swapper.stdout is not None
    assert swapper.stdout.readline() == b"go\n"
    yield tmp_path
    swapper.kill()
    swapper.wait()
    swapper.stdout.close()


def tries() -> Iterator[int]:
    end = time.monotonic() + SECONDS
    for number in range(TRIES):
        if time.monotonic() > end:
            return
        yield number


async def test_read_never_shows_what_lies_behind_the_link(swapped: Path) -> None:
    workspace = make_workspace(swapped)
    seen = [str((await call("Read", workspace, file_path=f"{swapped}/ws/door/file")).content) for _ in tries()]
    assert any("inside" in text for text in seen)
    assert not any("SECRET" in text for text in seen)


async def test_write_never_creates_a_file_behind_the_link(swapped: Path) -> None:
    workspace = make_workspace(swapped)
    for number in tries():
        await call("Write", workspace, file_path=f"{swapped}/ws/door/new{number}/deep", content="x")
        await call("Write", workspace, file_path=f"{swapped}/ws/door/flat{number}", content="x")
    assert [path.name for path in (swapped / "outside").iterdir()] == ["file"]
    assert (swapped / "outside/file").read_text() == "SECRET\n"


async def test_edit_never_changes_the_file_behind_the_link(swapped: Path) -> None:
    workspace = make_workspace(swapped)
    for _ in tries():
        await call("Read", workspace, file_path=f"{swapped}/ws/door/file")
        await call("Edit", workspace, file_path=f"{swapped}/ws/door/file", old_string="i", new_string="ii")
        await call("Edit", workspace, file_path=f"{swapped}/ws/door/file", old_string="SECRET", new_string="changed")
    assert (swapped / "outside/file").read_text() == "SECRET\n"


@pytest.mark.skipif(not landlock.is_available(), reason="this kernel has no Landlock")
async def test_searches_never_look_behind_the_link(swapped: Path) -> None:
    workspace = make_workspace(swapped)
    (swapped / "outside/SECRET-NAME").write_text("SECRET\n")
    seen = []
    for _ in tries():
        seen.append(str((await call("Grep", workspace, pattern="SECRET|inside", output_mode="content")).content))
        seen.append(str((await call("Glob", workspace, pattern="**")).content))
    assert any("inside" in text for text in seen)
    assert not any("SECRET" in text for text in seen)
