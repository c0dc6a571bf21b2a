"""A folder full of programs and files that programs read: nothing of it is run by us, whatever PATH says.

The runtime needs ripgrep, shfmt, bash and perhaps bwrap, and looks at repositories. Each planted thing leaves a canary if it is
run or read.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOLWRIGHT = Path(sys.executable).parent / "toolwright"
PROGRAMS = "git rg shfmt bash sh dash env node npm npx yarn pnpm python python3 bwrap nsenter setpriv unshare socat cat"
READ_BY_PROGRAMS = {
    "sitecustomize.py": "open({canary!r}, 'w')",
    "usercustomize.py": "open({canary!r}, 'w')",
    "conftest.py": "open({canary!r}, 'w')",
    "json.py": "open({canary!r}, 'w')",
    "toolwright/__init__.py": "open({canary!r}, 'w')",
    "plugin.js": "require('fs').writeFileSync({canary!r}, '')",
    ".yarnrc.yml": "yarnPath: ./plugin.js\nplugins: [./plugin.js]\n",
    ".yarnrc": 'yarn-path "./plugin.js"\n',
    ".npmrc": "node-options=--require ./plugin.js\nscript-shell=./sh\n",
    ".ripgreprc": "--pre=./evil\n",
    ".editorconfig": "root = true\n",
    ".git/config": "[core]\n\tfsmonitor = ./evil\n\tpager = ./evil\n[diff]\n\texternal = ./evil\n",
    ".git/HEAD": "ref: refs/heads/main\n",
    "pyvenv.cfg": "home = .\n",
}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder, canary = tmp_path / "work", str(tmp_path / "CANARY")
    for place in ("", ".venv/bin/", "node_modules/.bin/"):
        for name in (*PROGRAMS.split(), "evil"):
            write(folder / place / name, f"#!/bin/sh\n/usr/bin/touch {canary}\n")
    for name, text in READ_BY_PROGRAMS.items():
        write(folder / name, text.replace("{canary!r}", repr(canary)))
    (folder / ".git" / "objects").mkdir()
    (folder / ".git" / "refs").mkdir()
    return folder


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def run(work: Path, *arguments: str, steps: list[dict[str, object]] | None = None) -> subprocess.CompletedProcess[str]:
    """Our command as a person starts it there, with a PATH that begins with the folder's own."""
    if not TOOLWRIGHT.exists():
        pytest.skip("the command is not installed beside this interpreter")
    home = work.parent
    (home / "script.json").write_text(json.dumps({"steps": steps or [{"text": "done"}]}))
    env = {
        "PATH": f".:{work}:node_modules/.bin:{work}/.venv/bin:{os.environ['PATH']}",
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / "config"),
        "TOOLWRIGHT_MODEL": f"scripted:{home / 'script.json'}",
        "RIPGREP_CONFIG_PATH": str(work / ".ripgreprc"),
        "NODE_OPTIONS": f"--require {work}/plugin.js",
        "SHELL": str(work / "bash"),
        "BASH_ENV": str(work / "evil"),
        "PAGER": str(work / "evil"),
        "EDITOR": str(work / "evil"),
        "VIRTUAL_ENV": str(work / ".venv"),
    }
    return subprocess.run([str(TOOLWRIGHT), *arguments], cwd=work, env=env, capture_output=True, text=True, timeout=120)


SEARCHES: list[dict[str, object]] = [
    {"tool": "Grep", "input": {"pattern": "x"}},
    {"tool": "Glob", "input": {"pattern": "**/*.js"}},
    {"tool": "LS", "input": {"path": "."}},
    {"tool": "Read", "input": {"file_path": ".npmrc"}},
    {"tool": "Bash", "input": {"command": "echo \"$(printf 'a b')\" | tr a b"}},
    {"tool": "Bash", "input": {"command": "cat .npmrc"}},
    {"tool": "Bash", "input": {"command": "git status; git log -p"}},
    {"text": "done"},
]


def test_a_session_runs_nothing_that_the_folder_holds(work: Path) -> None:
    done = run(work, "-p", "go", steps=SEARCHES)
    assert done.stdout == "done\n", done.stderr
    assert not (work.parent / "CANARY").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["doctor", "--json"],
        ["permissions", "explain", "Bash", '{"command": "git status && cat $(ls)"}'],
        ["mcp", "list"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_to_look_at_the_machine_runs_nothing_that_the_folder_holds(work: Path, arguments: list[str]) -> None:
    done = run(work, *arguments)
    assert done.stdout
    assert not (work.parent / "CANARY").exists()


def test_the_programs_of_the_folder_would_be_seen(work: Path) -> None:
    """The counter-proof: whoever goes by PATH runs them."""
    subprocess.run(["rg", "x"], cwd=work, env={"PATH": str(work)}, check=True)
    assert (work.parent / "CANARY").exists()
