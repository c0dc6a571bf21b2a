"""Whole programs of the kind that people have, run as they are: Python, the published SDK, our command."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from published import Place, bash, call, say

PROGRAMS = Path(__file__).parent / "programs"


def run(program: str, place: Place, *steps: dict[str, Any]) -> str:
    env = {
        **os.environ,
        "AGENT_COMMAND": str(place.command),
        "AGENT_MODEL": place.script(*steps),
        "HOME": str(place.home),
        "CLAUDE_CONFIG_DIR": str(place.config),
    }
    finished = subprocess.run(
        [sys.executable, PROGRAMS / program],
        cwd=place.workspace,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (finished.returncode, finished.stderr) == (0, "")
    return finished.stdout


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_first_steps(place: Place) -> None:
    step = {"text": "I write it.", **call("Write", file_path="hello.txt", content="Hello, world!")}
    printed = run("first_steps.py", place, step, say("Done."))
    assert printed == "Claude: I write it.\nTool: Write\nClaude: Done.\nTurns: 2 error: False\n"
    assert (place.workspace / "hello.txt").read_text() == "Hello, world!"


def test_pocket_calculator(place: Place) -> None:
    steps = call("mcp__calc__root", n=2025), say("It is 45."), call("mcp__calc__times", a=45, b=2), say("90.")
    assert run("pocket_calculator.py", place, *steps) == "It is 45.\n90.\n"


def test_guarded(place: Place) -> None:
    steps = bash("make deploy"), call("Write", file_path="x.txt", content="hi"), bash("touch y"), say("Well.")
    printed = run("guarded.py", place, *steps)
    assert printed == "asked about Write with 1 suggestion\nasked about Bash with 2 suggestions\ndenied: ['Bash', 'Bash']\n"
    assert place.names() == ["safe-x.txt"]


def test_live_text(place: Place) -> None:
    story = "Once upon a time there was a small agent that told the truth."
    assert run("live_text.py", place, say(story)) == f"{story}\n[success]\n"
