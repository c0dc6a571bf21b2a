"""The wheel that users install: everything the package needs at run time, and nothing else."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NEEDED = (
    "toolwright/py.typed",
    "toolwright/models/prices.json",
    "toolwright/cli/demo_script.json",
    "toolwright/cli/sample_project/README.md",
    "toolwright/cli/sample_project/bookshelf/pages.py",
    "toolwright/cli/sample_project/tests/__init__.py",
    "toolwright/cli/sample_project/tests/test_catalogue.py",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    build = ["wheel", str(ROOT), "--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", *build], check=True, timeout=120)
    (built,) = folder.glob("toolwright-*-py3-none-any.whl")
    return zipfile.ZipFile(built)


def test_data_files_travel_with_the_code(wheel: zipfile.ZipFile) -> None:
    assert set(NEEDED) <= set(wheel.namelist())


def test_nothing_else_travels(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"toolwright"}
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests/")]


def test_the_command_and_the_licence_are_declared(wheel: zipfile.ZipFile) -> None:
    (entry_points,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "toolwright = toolwright.cli.main:main" in wheel.read(entry_points).decode()
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())


def test_the_unpacked_wheel_runs(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path)
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from toolwright.cli.main import main; main(['--version'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("toolwright ")
