"""The demo's project: a copy of the bundled one in a temporary folder, and whether its tests pass.

The verdict is ours, not the agent's: the bundled tests are run against the copy as the agent left it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
from msgspec import Struct

SAMPLE = Path(__file__).parent / "sample_project"
SCRIPT = Path(__file__).parent / "demo_script.json"
TEST_COMMAND = ("-m", "unittest")
TEST_SECONDS = 60.0


class DemoFolder(Struct, frozen=True):
    """`project` is what the agent works on; `state` keeps its transcript; `checked` is where we look ourselves."""

    root: Path

    @property
    def project(self) -> Path:
        return self.root / "bookshelf"

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def checked(self) -> Path:
        return self.root / "checked"


class TestVerdict(Struct, frozen=True):
    passed: bool
    summary: str
    """The test run's last words, such as "Ran 5 tests in 0.001s, OK"."""


@contextmanager
def demo_folder(keep: bool) -> Iterator[DemoFolder]:
    """A fresh copy of the sample; removed in the end unless it is to be kept."""
    folder = DemoFolder(Path(tempfile.mkdtemp(prefix="toolwright-demo-")).resolve())
    try:
        _copy(SAMPLE, folder.project)
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder.root, ignore_errors=True)


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))


def child_environment() -> dict[str, str]:
    """For every child of the demo: this interpreter is `python3`, and no stale bytecode stands between edit and test."""
    search = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)))
    return {"PATH": search, "PYTHONDONTWRITEBYTECODE": "1"}


async def check(folder: DemoFolder) -> TestVerdict:
    """Run the bundled tests on what the agent made, apart from its folder: changed tests would not help it."""
    shutil.rmtree(folder.checked, ignore_errors=True)
    _copy(folder.project, folder.checked)
    shutil.rmtree(folder.checked / "tests", ignore_errors=True)
    _copy(SAMPLE / "tests", folder.checked / "tests")
    try:
        with anyio.fail_after(TEST_SECONDS):
            return await _run_tests(folder.checked)
    except TimeoutError:
        return TestVerdict(False, f"the tests did not end within {TEST_SECONDS:.0f} s")


async def _run_tests(folder: Path) -> TestVerdict:
    finished = await anyio.run_process(
        [sys.executable, *TEST_COMMAND],
        cwd=folder,
        env={**os.environ, **child_environment()},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        check=False,
    )
    lines = [line for line in finished.stdout.decode("utf-8", "replace").splitlines() if line.strip()]
    return TestVerdict(finished.returncode == 0, ", ".join(line for line in lines[-2:] if not line.startswith("-")))
