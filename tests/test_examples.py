"""Every example runs as it stands, without a key, and says what it promises."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"

PROMISED = {
    "calculator": ["[call] mcp__calc__multiply", "12.5 × 4 = 50"],
    "conversation": ["[asked] Write", "The note is written.", "[error_during_execution]", "I have stopped counting."],
    "external_server": ["I have asked it.\nI have asked it.", "who is connected; one process for both: True"],
    "hooks": ["[Bash] nothing was removed", "denied: ['rm -rf build']"],
    "hooks_in_settings": ["error Lock files are made by the release script.", "logged: ['Write']\nfiles: ['notes']"],
    "plain_functions": ["Left in stock: {'apple': 9, 'pear': 0}"],
    "plan_and_questions": ["  - Italian: Ciao", "Carry out this plan?\n1.", "files: ['greeting.txt']"],
    "rewind": ["Rewound (2 files, +1 -2 lines):\n  greeting.txt: Hello, world.\nAnd", "notes/todo.txt: Translate"],
    "sandbox": ["build/out\nbuilt\n", "Permission denied: '.env'", "planted': Read-only file system"],
    "weather_and_images": ["Rome is warmer"],
}


def test_every_example_is_run_here() -> None:
    assert sorted(path.stem for path in EXAMPLES.glob("*.py")) == sorted(PROMISED)


@pytest.mark.parametrize("name", PROMISED)
def test_an_example_runs_and_says_what_it_promises(name: str, tmp_path: Path) -> None:
    env = {key: value for key, value in os.environ.items() if key != "TOOLWRIGHT_MODEL"}
    env["CLAUDE_CONFIG_DIR"] = str(tmp_path)
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, env=env, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    for text in PROMISED[name]:
        assert text in run.stdout
