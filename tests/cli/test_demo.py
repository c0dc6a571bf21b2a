"""The demo: which model it takes, and the whole showing as a process."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support_cli import bare_environment, command
from toolwright.cli.demo import choose_model, without_delays


@pytest.mark.parametrize(
    ("named", "environment", "name", "scripted"),
    [
        (None, {}, None, True),
        ("claude-x", {}, "claude-x", False),
        (None, {"TOOLWRIGHT_MODEL": "openai:q@http://127.0.0.1/v1"}, "openai:q@http://127.0.0.1/v1", False),
        (None, {"ANTHROPIC_API_KEY": "k"}, None, False),
        (None, {"ANTHROPIC_API_KEY": ""}, None, True),
        (None, {"OPENAI_API_KEY": "k"}, None, True),
        (None, {"OPENAI_BASE_URL": "http://127.0.0.1/v1", "OPENAI_MODEL": "q"}, "openai:q", False),
    ],
)
def test_a_configured_model_is_used_and_a_script_only_without_one(
    named: str | None, environment: dict[str, str], name: str | None, scripted: bool
) -> None:
    chosen = choose_model(named, environment)
    assert (chosen.name, chosen.scripted) == (name, scripted)


def test_a_key_without_a_model_name_is_not_passed_over_in_silence() -> None:
    assert "--model openai:NAME" in choose_model(None, {"OPENAI_API_KEY": "k"}).shown


def test_pauses_can_be_taken_out_of_a_script() -> None:
    script = {"pace": 1, "steps": [{"delay": 2, "text": "a", "content": [{"tool": "T", "input": {}}]}]}
    assert without_delays(script) == {"steps": [{"text": "a", "content": [{"tool": "T", "input": {}}]}]}


def test_the_demo_repairs_the_project_and_shows_how(tmp_path: Path) -> None:
    done = command("demo", env={"TMPDIR": str(tmp_path)})
    shown = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    for part in (
        "the words are scripted, every tool call is real",
        "◆ Glob  **/*.py",
        "FAILED (failures=1)",
        "◆ Edit  bookshelf/pages.py",
        "-    return total // page_size + 1",
        "The tests pass now",
        'toolwright -p "What does this project do?"',
    ):
        assert part in shown
    assert "\x1b" not in shown
    assert not list(tmp_path.glob("toolwright-demo-*"))


def test_kept_folders_hold_the_repaired_project_and_the_transcript(tmp_path: Path) -> None:
    done = command("demo", "--keep", env={"TMPDIR": str(tmp_path)})
    assert done.returncode == 0
    (folder,) = tmp_path.glob("toolwright-demo-*")
    assert "divmod" in (folder / "bookshelf" / "bookshelf" / "pages.py").read_text()
    assert list((folder / "state").rglob("*.jsonl"))


def test_an_agent_that_repairs_nothing_fails_the_demo(tmp_path: Path) -> None:
    script = tmp_path / "lazy.json"
    script.write_text(json.dumps({"steps": [{"text": "All is well."}]}))
    done = command("demo", "--model", f"scripted:{script}", env={"TMPDIR": str(tmp_path)})
    assert done.returncode == 1
    assert "The tests still fail" in done.stdout.decode()


def test_a_model_that_cannot_be_had_is_one_line() -> None:
    done = command("demo", "--model", "nonsense")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr.decode()
    assert "nonsense" in done.stderr.decode()


def test_ctrl_c_restores_the_terminal_and_removes_the_folder(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    environment = {**bare_environment(), "TMPDIR": str(tmp_path), "TERM": "xterm"}
    arguments = [sys.executable, "-m", "toolwright.cli", "demo"]
    with subprocess.Popen(arguments, stdin=slave, stdout=slave, stderr=slave, env=environment) as process:
        os.close(slave)
        shown = b""
        while b"thinking" not in shown and b"starting" not in shown:
            shown += os.read(master, 1000)
        process.send_signal(signal.SIGINT)
        shown += drained(master)
        assert process.wait(timeout=60) == 130
    os.close(master)
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l")
    assert b"Stopped." in shown
    assert not list(tmp_path.glob("toolwright-demo-*"))


def drained(descriptor: int) -> bytes:
    """Everything until the other end of a pseudo-terminal is closed, which Linux reports as an error."""
    received = b""
    try:
        while chunk := os.read(descriptor, 10_000):
            received += chunk
    except OSError:
        pass
    return received
