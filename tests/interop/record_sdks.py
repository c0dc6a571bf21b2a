"""Records how published releases of the two SDKs start a command: arguments, environment, control requests.

usage: make recordings [RELEASES="npm:VERSION python:VERSION …"]. Without releases, all of `RELEASES` (ten minutes). Each is
installed into a temporary folder and driven with every option set (`recording/every_option.*`) against a program that writes
down what it is given. The recordings are test data: `tests/cli/sdk_recordings`, read by `tests/cli/test_sdk_recordings.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RECORDINGS = HERE.parent / "cli" / "sdk_recordings"
PROGRAM = HERE / "recording" / "recording_cli.py"
NPM_PACKAGE, PYTHON_PACKAGE = "@anthropic-ai/claude-agent-sdk", "claude-agent-sdk"
FURTHER_NPM = ("zod@4", "@modelcontextprotocol/sdk@1", "@anthropic-ai/sdk")
"""What releases expect to find beside them."""

RELEASES = {
    "npm": (
        *("0.1.55", "0.1.77", "0.2.26", "0.2.54", "0.2.90", "0.2.123", "0.3.158", "0.3.197", "0.3.220"),
        *("0.3.239", "0.3.286", "0.3.316", "0.3.325"),
    ),
    "python": (
        *("0.1.7", "0.1.19", "0.1.33", "0.1.44", "0.1.51", "0.1.64", "0.1.81", "0.2.95", "0.2.115", "0.2.135"),
        *("0.2.150", "0.2.165", "0.2.182"),
    ),
}
"""About one for each month from November 2025 to November 2026."""
OF_THE_SHELL = ("_", "PWD", "OLDPWD", "SHLVL", "PYENV_DIR", "RECORDING_FILE")
KEPT_FROM_US = ("CLAUDE", "ANTHROPIC")
"""Variables of whoever records do not belong into a recording."""


def main(wanted: list[str]) -> None:
    releases = [tuple(name.split(":", 1)) for name in wanted] or [(kind, v) for kind, all_ in RELEASES.items() for v in all_]
    RECORDINGS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        for kind, version in releases:
            record(kind, version, Path(temporary))


def record(kind: str, version: str, temporary: Path) -> None:
    folder = temporary / f"{kind}-{version}"
    runs = folder / "runs"
    runs.mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(KEPT_FROM_US)}
    command = npm_command(version, folder) if kind == "npm" else python_command(version, folder, environment)
    subprocess.run([*command, str(PROGRAM), str(runs)], env=environment, cwd=folder, check=True, timeout=600)
    before = started_by_us(environment, folder)
    recording = {
        "package": NPM_PACKAGE if kind == "npm" else PYTHON_PACKAGE,
        "version": version,
        "runs": {path.stem: cleaned(json.loads(path.read_text()), before, runs) for path in sorted(runs.glob("*.json"))},
    }
    target = RECORDINGS / f"{kind}-{version}.json"
    target.write_text(json.dumps(recording, indent=1, sort_keys=True) + "\n")
    sys.stdout.write(f"{target.name}: {', '.join(recording['runs'])}\n")


def started_by_us(environment: dict[str, str], folder: Path) -> dict[str, str]:
    """The environment that the recording program has without an SDK."""
    target = folder / "before.json"
    hello = '{"type": "user"}\n'
    subprocess.run(
        [PROGRAM],
        input=hello,
        text=True,
        env={**environment, "RECORDING_FILE": str(target)},
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    before: dict[str, str] = json.loads(target.read_text())["env"]
    return before


def npm_command(version: str, folder: Path) -> list[str]:
    """The package alone: the runtime that it would bring along is not needed."""
    beside = folder.parent / "node_modules"
    if not beside.exists():
        (folder.parent / "package.json").write_text('{"private": true}')
        run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--omit=optional", *FURTHER_NPM], folder.parent)
    run(["npm", "pack", "--silent", f"{NPM_PACKAGE}@{version}"], folder)
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    target = folder / "node_modules" / NPM_PACKAGE
    target.parent.mkdir(parents=True)
    (folder / "package").rename(target)
    program = shutil.copy(HERE / "recording" / "every_option.mjs", folder)
    return [shutil.which("node") or "node", str(program)]


def python_command(version: str, folder: Path, environment: dict[str, str]) -> list[str]:
    """From source: the wheels bring a whole runtime along. What the package needs is there already (`make interop`)."""
    install = ["install", "--quiet", "--no-deps", "--no-binary", PYTHON_PACKAGE, "--target", str(folder / "package")]
    run([sys.executable, "-m", "pip", *install, f"{PYTHON_PACKAGE}=={version}"], folder)
    environment["PYTHONPATH"] = str(folder / "package")
    return [sys.executable, str(HERE / "recording" / "every_option.py")]


def run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, timeout=600, stdout=subprocess.DEVNULL)


def cleaned(recorded: dict[str, Any], before: dict[str, str], folder: Path) -> dict[str, Any]:
    """Without what belongs to this machine: only variables that the SDK added or changed, its folder as FOLDER."""
    added = {name: value for name, value in recorded["env"].items() if before.get(name) != value}
    kept = {name: value for name, value in added.items() if name not in OF_THE_SHELL}
    whole = json.dumps({"argv": recorded["argv"], "env": kept, "requests": recorded["requests"]})
    cleaned: dict[str, Any] = json.loads(whole.replace(str(folder.resolve()), "FOLDER").replace(str(folder), "FOLDER"))
    return cleaned


if __name__ == "__main__":
    main(sys.argv[1:])
