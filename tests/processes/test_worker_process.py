from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from support_tools import open_descriptors, running
from toolwright.processes.worker_process import run_program

pytestmark = pytest.mark.anyio


def program(folder: Path, text: str) -> str:
    path = folder / "program.py"
    path.write_text("import os, sys\nanswer = int(sys.argv[1])\n" + text)
    return str(path)


async def test_data_goes_in_and_the_answer_comes_back_whole(tmp_path: Path) -> None:
    path = program(tmp_path, "os.write(answer, os.pread(0, 1 << 24, 0)[::-1] + sys.argv[2].encode())")
    end = await run_program(path, ["!"], data=b"ab" * 500_000, timeout=30)
    assert end.answer == b"ba" * 500_000 + b"!"
    assert (end.exit_code, end.timed_out, end.message) == (0, False, "")


async def test_what_was_answered_before_the_end_is_kept(tmp_path: Path) -> None:
    crashed = await run_program(
        program(tmp_path, "os.write(answer, b'half'); raise SystemExit('sorry')"), [], data=b"", timeout=30
    )
    assert (crashed.answer, crashed.exit_code, crashed.message) == (b"half", 1, "sorry")
    path = program(tmp_path, "os.write(answer, b'half'); import time; time.sleep(600)")
    stopped = await run_program(path, [], data=b"", timeout=1)
    assert (stopped.answer, stopped.timed_out) == (b"half", True)


async def test_the_child_sees_neither_our_environment_nor_our_packages(tmp_path: Path) -> None:
    text = "os.write(answer, repr((sorted(os.environ), os.getcwd(), any('site-packages' in p for p in sys.path))).encode())"
    end = await run_program(program(tmp_path, text), [], data=b"", timeout=30)
    assert end.answer == b"(['LC_ALL'], '/', False)"


async def test_cancelling_leaves_no_process_and_no_descriptor(tmp_path: Path) -> None:
    path = program(tmp_path, "import time; time.sleep(600)")
    await run_program(program(tmp_path, ""), [], data=b"", timeout=30)
    program(tmp_path, "import time; time.sleep(600)")
    before = open_descriptors()
    with anyio.move_on_after(0.3):
        await run_program(path, [], data=b"x", timeout=30)
    assert not running(path)
    assert open_descriptors() == before
