"""Every program of the tutorial runs as it stands there; a script speaks in the model's place."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TUTORIAL = (Path(__file__).parent.parent / "docs" / "tutorial.md").read_text()
PROGRAMS = {name: text for text, name in re.findall(r"```python\n(# (\w+\.py)\n.*?)```", TUTORIAL, re.DOTALL)}
NOTE = {"tool": "Write", "input": {"file_path": "$HERE/poem.txt", "content": "Rain."}}
HELLO = {"tool": "Write", "input": {"file_path": "$HERE/a.txt", "content": "hello"}}

STEPS: dict[str, list[dict[str, Any]]] = {
    "ask.py": [{"tool": "Glob", "input": {"pattern": "**/*.py"}}, {"text": "One."}],
    "umbrella.py": [{"tool": "weather", "input": {"city": "Oslo"}}, {"text": "Yes: it rains."}],
    "decide.py": [NOTE, {"tool": "Bash", "input": {"command": "rm poem.txt"}}, {"text": "It is written."}],
    "conversation.py": [
        HELLO,
        {"text": "Written."},
        {"tool": "Read", "input": {"file_path": "$HERE/a.txt"}},
        {"text": "hello"},
    ],
    "sandboxed.py": [{"tool": "Bash", "input": {"command": "touch inside; touch /usr/outside"}}, {"text": "Done."}],
    "test_umbrella.py": [],
}
PROMISED = {
    "ask.py": ["One.\n", "2 turns, $0.0000\n"],
    "umbrella.py": ["Yes: it rains.\n"],
    "decide.py": ["asked: Write ", "+ Rain.\n", "asked: Run rm poem.txt\n", "It is written.\n"],
    "conversation.py": ["Written. ", "\nhello "],
    "sandboxed.py": ["Done.\n"],
    "test_umbrella.py": ["passed\n"],
}
MADE = {"decide.py": "poem.txt", "conversation.py": "a.txt", "sandboxed.py": "inside"}


def test_every_program_is_run_here() -> None:
    assert list(PROGRAMS) == list(STEPS) == list(PROMISED)


@pytest.mark.parametrize("name", PROMISED)
def test_a_program_does_what_the_tutorial_says(name: str, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / name).write_text(PROGRAMS[name])
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"steps": STEPS[name]}).replace("$HERE", str(here)))
    env = {**os.environ, "TOOLWRIGHT_MODEL": f"scripted:{script}", "CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    run = subprocess.run([sys.executable, name], cwd=here, env=env, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
    for text in PROMISED[name]:
        assert text in run.stdout
    assert (here / MADE.get(name, name)).exists()
