"""Descriptors that children keep have high numbers that are no neighbours, so that all others are closed at once."""

import fcntl
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from toolwright.processes.descriptors import DOOR, GATE, MEMORY_DOOR, REPORT, moved_up

ONE_CAGED_COMMAND = """
import asyncio, sys
from toolwright import ClaudeAgentOptions, query
from toolwright.testing import Call, Say, ScriptedModel

async def main():
    model = ScriptedModel([Call("Bash", {"command": "ls"}), Say("ok")])
    own = {"CLAUDE_CONFIG_DIR": sys.argv[1] + "/c"}
    options = ClaudeAgentOptions(model=model, cwd=sys.argv[1], setting_sources=[], env=own)
    print([message async for message in query(prompt="x", options=options)][-1].result)

asyncio.run(main())
"""


@pytest.fixture
def few_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (GATE, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_descriptor_moves_and_is_not_inherited_by_accident(tmp_path: Path) -> None:
    old = os.open(tmp_path, os.O_RDONLY)
    new = moved_up(old, REPORT)
    assert new >= REPORT
    assert fcntl.fcntl(new, fcntl.F_GETFD) & fcntl.FD_CLOEXEC
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(old)
    os.close(new)


@pytest.mark.usefixtures("few_files")
def test_where_only_few_files_may_be_open_it_stays_where_it_is(tmp_path: Path) -> None:
    old = os.open(tmp_path, os.O_RDONLY)
    assert moved_up(old, GATE) == old
    os.close(old)


def test_no_two_of_one_command_are_neighbours() -> None:
    numbers = sorted((REPORT, GATE, DOOR, MEMORY_DOOR))
    assert min(after - before for before, after in pairwise(numbers)) > 1


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_caged_command_does_not_close_every_number_one_by_one(tmp_path: Path) -> None:
    log = tmp_path / "log"
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    limit = 20_000 if hard == resource.RLIM_INFINITY else min(20_000, hard)
    if limit < 10_000:
        pytest.skip(f"only {limit} files may be open here")
    (tmp_path / "ws").mkdir()
    command = ["strace", "-f", "-qq", "-e", "trace=close", "-e", "signal=none", "-o", str(log)]
    program = [sys.executable, "-c", ONE_CAGED_COMMAND, str(tmp_path / "ws")]
    done = subprocess.run(
        ["prlimit", f"--nofile={limit}:{hard if hard > 0 else 'unlimited'}", *command, *program],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "ok\n", json.dumps(done.stderr)
    assert len(log.read_text().splitlines()) < limit // 2
