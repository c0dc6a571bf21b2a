"""Every example runs as it stands, without a key, and says what it promises."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support_sandbox import need

EXAMPLES = Path(__file__).parent.parent / "examples"

PROMISED = {
    "calculator": ["[call] mcp__calc__multiply", "12.5 × 4 = 50"],
    "conversation": [
        "[asked] Write",
        "The note is written.",
        "list.txt is outside the working folders.",
        "[error_during_execution]",
        "I have stopped counting.",
    ],
    "external_server": ["I have asked it.\nI have asked it.", "who is connected; one process for both: True"],
    "hooks": ["[Bash] nothing was removed", "denied: ['rm -rf build']"],
    "hooks_in_settings": ["error Lock files are made by the release script.", "logged: ['Write']\nfiles: ['notes']"],
    "plain_functions": ["Left in stock: {'apple': 9, 'pear': 0}"],
    "plan_and_questions": ["  - Italian: Ciao", "Carry out this plan?\n1.", "files: ['greeting.txt']"],
    "rewind": ["Rewound (2 files, +1 -2 lines):\n  greeting.txt: Hello, world.\nAnd", "notes/todo.txt: Translate"],
    "sandbox": ["build/out\nbuilt\n", "Permission denied: '.env'", "cannot touch"],
    "weather_and_images": ["Rome is warmer"],
}


def test_every_example_is_run_here() -> None:
    assert sorted(path.stem for path in EXAMPLES.glob("*.py")) == sorted(PROMISED)


@pytest.mark.parametrize("name", PROMISED)
def test_an_example_runs_and_says_what_it_promises(name: str, tmp_path: Path) -> None:
    done = run(name, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for text in PROMISED[name]:
        assert text in done.stdout


def run(name: str, state: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if key != "TOOLWRIGHT_MODEL"}
    env |= {"CLAUDE_CONFIG_DIR": str(state), **variables}
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=env, check=False)


@pytest.mark.parametrize(("name", "said"), [("bubblewrap", "Read-only file system"), ("Landlock", "Permission denied")])
def test_the_sandbox_works_with_either_mechanism(name: str, said: str, tmp_path: Path) -> None:
    need(name)
    done = run("sandbox", tmp_path, TOOLWRIGHT_SANDBOX=name.lower())
    assert (done.returncode, done.stderr) == (0, "")
    assert f"planted': {said}" in done.stdout
    for text in PROMISED["sandbox"]:
        assert text in done.stdout


def test_the_sandbox_explains_itself_where_there_is_none(tmp_path: Path) -> None:
    done = run("sandbox", tmp_path, TOOLWRIGHT_SANDBOX="another")
    assert done.returncode == 1
    assert done.stderr.startswith("sandbox: TOOLWRIGHT_SANDBOX is 'another', but")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "said"),
    [("cat no-such-file", "The build failed"), ("echo built > out", "The build failed"), ("echo hunter2", "not hold")],
)
def test_the_sandbox_ends_with_an_error_when_its_command_failed(command: str, said: str, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"steps": [{"tool": "Bash", "input": {"command": command}}, {"text": "done"}]}))
    done = run("sandbox", tmp_path, TOOLWRIGHT_MODEL=f"scripted:{script}")
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
