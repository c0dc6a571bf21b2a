"""Checks that a release works: builds wheel and sdist, looks into them, installs the wheel everywhere, runs the demo.

    make release-check

Every Python from 3.11 on that is found gets a fresh environment with nothing but the wheel and its dependencies.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).parent.parent
OLDEST, NEWEST = 11, 16
KEPT_BY_OTHERS = (".pyenv/versions/*", ".local/share/uv/python/*")
NEEDED = {
    "wheel": (
        "toolwright/__init__.py",
        "toolwright/py.typed",
        "toolwright/cli/demo_script.json",
        "toolwright/models/prices.json",
    ),
    "sdist": ("pyproject.toml", "README.md", "LICENSE", "src/toolwright/__init__.py", "tests/test_public_names.py"),
}
STRAY = re.compile(r"__pycache__|\.pyc$|\.venv|/\.git/|\.env$")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="toolwright-release-") as scratch:
        wheel, sdist = built(Path(scratch) / "dist")
        check_contents("wheel", zipfile.ZipFile(wheel).namelist())
        with tarfile.open(sdist) as archive:
            check_contents("sdist", [name.partition("/")[2] for name in archive.getnames()])
        check_metadata(wheel)
        found = list(pythons())
        if not found:
            sys.exit(f"There is no Python 3.{OLDEST} or later on PATH.")
        for python in found:
            try_out(python, wheel, Path(scratch) / Path(python).name)
    print(f"Ready: {wheel.name} and {sdist.name}, tried with {', '.join(Path(python).name for python in found)}.")


def built(folder: Path) -> tuple[Path, Path]:
    """The wheel is built from the sdist, as an index would."""
    run(sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT))
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, folder.iterdir()))
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def check_contents(kind: str, names: list[str]) -> None:
    missing = [name for name in NEEDED[kind] if name not in names]
    stray = [name for name in names if STRAY.search(name)]
    if missing or stray:
        sys.exit(f"The {kind} is wrong: missing {missing}, not to be there {stray[:5]}.")


def check_metadata(wheel: Path) -> None:
    """The version of the wheel is that of the code, and the changelog knows about it."""
    archive = zipfile.ZipFile(wheel)
    name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    version = Parser().parsestr(archive.read(name).decode())["Version"]
    if f'"{version}"' not in (ROOT / "src/toolwright/_version.py").read_text():
        sys.exit(f"The wheel says {version}, the code says something else.")
    if not re.search(rf"^## \[({re.escape(version)}|Unreleased)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE):
        sys.exit(f"CHANGELOG.md has no section for {version}.")


def pythons() -> Iterator[str]:
    """One of each version that can make environments: from PATH, or where pyenv and uv keep theirs."""
    for minor in range(OLDEST, NEWEST):
        name = f"python3.{minor}"
        kept = (path for folder in KEPT_BY_OTHERS for path in sorted(Path.home().glob(f"{folder}/bin/{name}")))
        found = (str(path) for path in (shutil.which(name), *kept) if path)
        yield from [path for path in found if _makes_environments(path)][:1]


def _makes_environments(python: str) -> bool:
    return subprocess.run([python, "-c", "import ensurepip, sysconfig"], capture_output=True).returncode == 0


def try_out(python: str, wheel: Path, environment: Path) -> None:
    print(f"== {python}")
    run(python, "-m", "venv", str(environment))
    programs = environment / "bin"
    run(str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
    run(str(programs / "python"), "-c", "import toolwright; [getattr(toolwright, name) for name in toolwright.__all__]")
    run(str(programs / "toolwright"), "--version")
    run(str(programs / "toolwright"), "demo", quiet=True)


def run(*command: str, quiet: bool = False) -> None:
    done = subprocess.run(command, cwd=tempfile.gettempdir(), stdin=subprocess.DEVNULL, capture_output=quiet)
    if done.returncode != 0:
        sys.stderr.buffer.write((done.stdout or b"") + (done.stderr or b""))
        sys.exit(f"failed with exit code {done.returncode}: {' '.join(command)}")


if __name__ == "__main__":
    main()
