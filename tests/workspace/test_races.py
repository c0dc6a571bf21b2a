"""A process that swaps a folder for a link as fast as it can, against every tool. Judged by what happened outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support_boundary import NOTEBOOK, SECRET, PathField, path_fields, snapshot
from support_tools import TOOLS, call, make_workspace
from toolwright.base import landlock
from toolwright.tools.base import ToolContext
from toolwright.workspace import Workspace

pytestmark = pytest.mark.anyio

TRIES = {"Grep": 150, "Glob": 150, "Bash": 100}
"""How often each tool tries; those that start no process 1,400 times: more than 10,000 in all."""
MAX_LENGTH = float(os.environ.get("RACE_SECONDS", "0.7"))
"""Seconds per tool after which a slow machine stops trying."""
_SWAPPER = """
import ctypes, os, sys
os.chdir(sys.argv[1])
rename = ctypes.CDLL(None).renameat2
print("go", flush=True)
while True:
    rename(-100, b"door", -100, b"link", 2)  # they trade names, in one step
"""


@pytest.fixture
def anyio_backend() -> str:
    """The file system does not know which event loop runs the tools."""
    return "asyncio"


@pytest.fixture
def swapped() -> Iterator[Path]:
    """ws/door is a folder or a link to outside/, from one moment to the next. In memory, to be fast."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as name:
        ground = Path(name)
        for folder, word in (("ws/door", "inside"), ("outside", SECRET)):
            (ground / folder).mkdir(parents=True)
            (ground / folder / "file").write_text(f"{word}\n")
            (ground / folder / "file.ipynb").write_text(json.dumps(NOTEBOOK).replace(SECRET, word))
        (ground / f"outside/{SECRET}-name").write_text(f"{SECRET}\n")
        (ground / "ws/link").symlink_to(ground / "outside")
        swapper = subprocess.Popen([sys.executable, "-c", _SWAPPER, str(ground / "ws")], stdout=subprocess.PIPE)
        assert swapper.stdout is not None
        assert swapper.stdout.readline() == b"go\n"
        yield ground
        swapper.kill()
        swapper.wait()
        swapper.stdout.close()


def attacks(field: PathField, number: int) -> list[tuple[str, dict[str, Any]]]:
    """What to call this time: the tool itself, and what must come before it."""
    file = "ws/door/file.ipynb" if "otebook" in field.name else "ws/door/file"
    match field.tool:
        case "Write":
            target = f"ws/door/new{number}/deep" if number % 2 else f"ws/door/flat{number}"
            return [("Write", {field.name: target, "content": "planted"})]
        case "Edit":
            edit = {field.name: file, "old_string": "in", "new_string": "inn"}
            return [("Read", {"file_path": file}), ("Edit", edit), ("Edit", {**edit, "old_string": SECRET})]
        case "MultiEdit":
            edits = [{"old_string": "in", "new_string": "inn"}]
            return [("Read", {"file_path": file}), ("MultiEdit", {field.name: file, "edits": edits})]
        case "NotebookEdit":
            return [("Read", {"file_path": file}), ("NotebookEdit", {**field.input(file), "new_source": f"inside {number}"})]
        case "Bash":
            return [("Bash", {"command": "cat ./*; ls; echo planted > planted", field.name: "ws/door"})]
        case "Read" | "NotebookRead":
            return [(field.tool, field.input(file))]
        case _:
            return [(field.tool, field.input("ws/door" if number % 2 else "ws"))]


FILE_FIELDS = [field for field in path_fields() if field.tool != "Bash"]


@pytest.mark.parametrize("field", FILE_FIELDS, ids=str)
async def test_a_yes_reaches_nothing_behind_a_link_that_comes_after_it(field: PathField, swapped: Path) -> None:
    """ws/ lies outside here. The person says yes whenever the question shows a path in ws/door, and only then."""
    if field.tool in ("Glob", "Grep") and not landlock.is_available():
        pytest.skip("this kernel has no Landlock")
    (swapped / "work").mkdir()
    workspace = Workspace(str(swapped / "work"), env={}, state_dir=str(swapped / "state"))
    before = snapshot(swapped / "outside")
    asked = worked = 0
    end = time.monotonic() + MAX_LENGTH
    for number in range(TRIES.get(field.tool, 1400)):
        for name, fields in attacks(field, number):
            given = {key: f"{swapped}/{value}" if str(value).startswith("ws") else value for key, value in fields.items()}
            tool = TOOLS[name]
            parsed = tool.parse(given)
            leads = tuple(tool.effects(parsed, workspace).opens.values())
            if any(path.startswith(f"{swapped}/outside") for path in leads):
                continue
            asked += 1
            output = await tool.run(parsed, ToolContext(workspace, granted=leads))
            shown = f"{output.content} {output.structured}"
            assert SECRET not in shown.replace(str(given.get("old_string")), ""), shown
            worked += not output.is_error
        if time.monotonic() > end:
            break
    assert snapshot(swapped / "outside") == before
    assert asked
    assert worked or field.tool in ("Edit", "MultiEdit", "NotebookEdit")


@pytest.mark.parametrize("field", path_fields(), ids=str)
async def test_no_tool_reaches_what_lies_behind_the_link(field: PathField, swapped: Path) -> None:
    if field.tool in ("Glob", "Grep") and not landlock.is_available():
        pytest.skip("this kernel has no Landlock")
    workspace = make_workspace(swapped)
    before = snapshot(swapped / "outside")
    worked = failed = 0
    end = time.monotonic() + MAX_LENGTH
    for number in range(TRIES.get(field.tool, 1400)):
        for tool, fields in attacks(field, number):
            given = {name: f"{swapped}/{value}" if str(value).startswith("ws") else value for name, value in fields.items()}
            output = await call(tool, workspace, **given)
            shown = f"{output.content} {output.structured}"
            assert SECRET not in shown.replace(str(given.get("old_string")), ""), shown
            failed += bool(output.is_error)
            worked += not output.is_error
        if time.monotonic() > end:
            break
    assert snapshot(swapped / "outside") == before
    assert worked
    assert failed or field.tool in ("Glob", "Grep", "LS")
