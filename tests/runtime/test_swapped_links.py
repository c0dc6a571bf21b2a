"""Files and links that change while a call is judged: a refused call, never a dead or a hanging session."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from support_runtime import assert_valid_history, play, results, text_of
from toolwright.models.scripted import Call, Say, ScriptedModel

pytestmark = pytest.mark.anyio

SWAPPER = """
import os, sys
place, spare = sys.argv[1:]
print("ready", flush=True)
while True:
    for target in ("/etc", None, "nowhere/at/all", None, "swapped", None):
        try:
            if target is None:
                os.unlink(place)
                os.rename(spare, place)
            else:
                os.rename(place, spare)
                os.symlink(target, place)
        except OSError:
            pass
"""


@contextmanager
def swapping(place: Path) -> Iterator[None]:
    """Swap the folder for links to here, there and nowhere, as fast as a process can."""
    spare = place.parent.parent / "spare"
    with subprocess.Popen([sys.executable, "-c", SWAPPER, str(place), str(spare)], stdout=subprocess.PIPE) as swapper:
        try:
            assert swapper.stdout is not None
            swapper.stdout.readline()
            yield
        finally:
            swapper.kill()


def workspace_with(folder: Path, name: str) -> Path:
    place = folder / "workspace" / name
    place.mkdir(parents=True)
    (place / "passwd").write_text("ours\n")
    return place


COMMANDS = [
    Call("Bash", {"command": "cat swapped/passwd"}),
    Call("Bash", {"command": "git -C swapped status; ls swapped"}),
    Call("Bash", {"command": "cp swapped/passwd swapped/copy"}),
]
FILE_CALLS = [
    Call("Read", {"file_path": "swapped/passwd"}),
    Call("Grep", {"pattern": "root", "path": "swapped"}),
    Call("LS", {"path": "swapped"}),
    Call("Write", {"file_path": "swapped/new", "content": "x"}),
]


async def test_a_link_swapped_while_a_command_is_judged_never_ends_the_session(tmp_path: Path) -> None:
    place = workspace_with(tmp_path, "swapped")
    model = ScriptedModel([*[list(COMMANDS) for _ in range(100)], Say("done")])
    with swapping(place):
        frames = await play(tmp_path, model, disallowed_tools=["Read(**/passwd)"], permission_mode="acceptEdits")
    assert frames[-1]["result"] == "done"
    assert len(results(frames)) == 100 * len(COMMANDS)
    assert_valid_history(model)


async def test_a_link_swapped_under_a_file_tool_leads_nowhere(tmp_path: Path) -> None:
    place = workspace_with(tmp_path, "swapped")
    model = ScriptedModel([*[list(FILE_CALLS) for _ in range(100)], Say("done")])
    with swapping(place):
        frames = await play(tmp_path, model, permission_mode="acceptEdits")
    assert frames[-1]["result"] == "done"
    assert len(results(frames)) == 100 * len(FILE_CALLS)
    assert not os.path.exists("/etc/new")
    assert not any("root:x:" in text_of(result) for result in results(frames))
    assert_valid_history(model)


@pytest.mark.parametrize("name", [".git", ".git/config", ".git/HEAD", ".git/index", ".git/commondir"])
async def test_a_pipe_where_git_keeps_a_file_does_not_hang_the_judgement(name: str, tmp_path: Path) -> None:
    place = workspace_with(tmp_path, "repository")
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    pipe = place / name
    if pipe.is_dir():
        pipe.rename(tmp_path / "real.git")
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    model = ScriptedModel([Call("Bash", {"command": "cd repository && git status", "timeout": 1000}), Say("done")])
    with anyio.fail_after(20):
        frames = await play(tmp_path, model)
    assert frames[-1]["result"] == "done"
    assert results(frames)[0]["is_error"]  # asked about, or git itself says that this is no repository
