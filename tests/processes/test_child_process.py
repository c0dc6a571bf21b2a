"""One child process, read without threads."""

import os
import time
from pathlib import Path

import anyio
import pytest

from toolwright.base.workspace_errors import CommandNotStarted
from toolwright.processes.child_process import find_account, launch, start
from toolwright.processes.worker_process import root_folder

pytestmark = pytest.mark.anyio


async def test_what_a_process_wrote_is_read_however_late_that_is(tmp_path: Path) -> None:
    directory = os.open(tmp_path, os.O_RDONLY)
    child = start(["/bin/sh", "-c", "head -c 60000 /dev/zero"], directory=directory, environment={"PATH": os.environ["PATH"]})
    try:
        first = await child.read()
        while not child.exited:
            await child._wait()  # the exit is noticed …
        time.sleep(0.3)  # … and then the event loop is busy for longer than any grace
        size = len(first)
        while piece := await child.read():
            size += len(piece)
    finally:
        child.close()
        os.close(directory)
    assert size == 60000


async def test_a_grandchild_that_writes_for_ever_does_not_keep_the_reader(tmp_path: Path) -> None:
    directory = os.open(tmp_path, os.O_RDONLY)
    command = "yes & echo $! > pid; echo done"
    child = start(["/bin/sh", "-c", command], directory=directory, environment={"PATH": os.environ["PATH"]})
    try:
        with anyio.fail_after(20):
            while await child.read():
                pass
    finally:
        child.close()
        os.close(directory)
        os.kill(int((tmp_path / "pid").read_text()), 9)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_program_that_its_user_cannot_reach_is_named_with_the_closed_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with root_folder() as folder, pytest.raises(CommandNotStarted, match=r"user 'nobody' may not enter /.*chmod o\+x /"):
        launch([str(program)], directory=folder, environment={}, account=find_account("nobody"))
