"""Several who change one file at once: agents in threads, a formatter in a process of its own. No change is lost unseen."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from support_tools import call, make_workspace
from toolwright.files.boundary import Boundary
from toolwright.files.write import replace
from toolwright.workspace import FileChanged, FileContent, Workspace

ROUNDS = 300
_FORMATTER = """
import os, sys, time
path, own = sys.argv[1], 0

def read():
    with open(path) as file:
        return file.read().split()

print("go", flush=True)
while not os.path.exists(path + ".stop"):
    ours, theirs = read()
    end = time.monotonic() + 1.0
    while int(theirs) != own and time.monotonic() < end:  # while names are traded back, ours can be seen
        ours, theirs = read()
    if int(theirs) != own:
        sys.exit(f"the change to {own} was lost: the file says {theirs}")
    own += 1
    with open(path + ".new", "w") as file:
        file.write(f"{ours} {own}")
    os.rename(path + ".new", path)
print(own)
"""


@pytest.fixture
def fast() -> Iterator[Path]:
    """A folder in memory: the more rounds in a second, the more chances to go wrong."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as name:
        yield Path(name)


def test_two_agents_that_edit_one_file_lose_no_edit(fast: Path) -> None:
    file = fast / "ws/file.txt"
    file.parent.mkdir()
    file.write_text("left: 0.\nright: 0.\n")
    barrier = threading.Barrier(2)

    async def work(workspace: Workspace, word: str) -> None:
        await call("Read", workspace, file_path=str(file))
        for number in range(ROUNDS):
            barrier.wait()
            edit = {"old_string": f"{word}: {number}.", "new_string": f"{word}: {number + 1}."}
            output = await call("Edit", workspace, file_path=str(file), **edit)
            assert output.is_error is None, output.text

    agents = [threading.Thread(target=anyio.run, args=(work, make_workspace(fast), word)) for word in ("left", "right")]
    for agent in agents:
        agent.start()
    for agent in agents:
        agent.join()
    assert file.read_text() == f"left: {ROUNDS}.\nright: {ROUNDS}.\n"


def test_of_two_agents_that_overwrite_a_file_only_the_first_does(fast: Path) -> None:
    file = fast / "ws/file.txt"
    file.parent.mkdir()
    barrier = threading.Barrier(2)
    told: list[list[str]] = [[], []]

    async def work(workspace: Workspace, number: int) -> None:
        for round_ in range(ROUNDS // 3):
            if number == 0:
                file.write_text(f"start {round_}\n")
            barrier.wait()
            await call("Read", workspace, file_path=str(file))
            barrier.wait()
            output = await call("Write", workspace, file_path=str(file), content=f"{number} in {round_}\n")
            told[number].append("refused" if output.is_error else "written")
            barrier.wait()
            assert file.read_text() == f"{0 if told[0][-1] == 'written' else 1} in {round_}\n"
            barrier.wait()

    agents = [threading.Thread(target=anyio.run, args=(work, make_workspace(fast), number)) for number in (0, 1)]
    for agent in agents:
        agent.start()
    for agent in agents:
        agent.join()
    assert [sorted(pair) for pair in zip(*told, strict=True)] == [["refused", "written"]] * (ROUNDS // 3)


def test_a_formatter_of_another_process_loses_nothing_to_us(fast: Path) -> None:
    file = fast / "file"
    file.write_text("0 0")
    boundary = Boundary([str(fast)])
    formatter = subprocess.Popen([sys.executable, "-c", _FORMATTER, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert formatter.stdout is not None
    assert formatter.stdout.readline() == b"go\n"

    def add(before: FileContent | None) -> bytes:
        assert before is not None
        ours, theirs = before.data.split()
        return b"%d %s" % (int(ours) + 1, theirs)

    changed = noticed = 0
    while changed + noticed < ROUNDS * 10 and formatter.poll() is None:
        try:
            replace(boundary, str(file), add, limit=100)
            changed += 1
        except FileChanged:
            noticed += 1
    Path(f"{file}.stop").touch()
    output, errors = formatter.communicate()
    assert errors == b""
    assert file.read_text().split()[1] == output.decode().strip()
    assert changed
    assert noticed
