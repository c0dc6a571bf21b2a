"""Background commands of the `toolwright` command itself: whichever way it ends, they end with it."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support_tools import running

TREE = "sleep {m} & setsid sleep {m} & (setsid nohup sh -c 'trap \"\" TERM; sleep {m}; true' >/dev/null 2>&1 &) ; wait"
MESSAGE = {"type": "user", "message": {"role": "user", "content": "go"}}


def program(folder: Path, *arguments: str) -> tuple[list[str], dict[str, str], str]:
    """The command with a model that starts a tree of processes in the background; its environment; what marks the tree."""
    marker = str(secrets.randbelow(10**6) + 10**6)
    call = {"tool": "Bash", "input": {"command": TREE.format(m=marker), "run_in_background": True}}
    script = folder / "script.json"
    script.write_text(json.dumps({"steps": [call, {"text": "started it"}, {"text": "never"}]}))
    toolwright = str(Path(sys.executable).with_name("toolwright"))
    line = [toolwright, "--model", f"scripted:{script}", "--allowedTools", "Bash", *arguments]
    return line, {**os.environ, "CLAUDE_CONFIG_DIR": str(folder / "config")}, marker


def wait_until_running(marker: str) -> None:
    deadline = time.monotonic() + 30
    while not running(f"sleep {marker}"):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_until_gone(marker: str) -> None:
    deadline = time.monotonic() + 30
    while running(f"sleep {marker}") and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not running(f"sleep {marker}")


def test_one_prompt_does_not_wait_for_them(tmp_path: Path) -> None:
    line, environment, marker = program(tmp_path, "-p", "go")
    done = subprocess.run(line, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "started it\n"
    assert not running(f"sleep {marker}")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_they_end_with_a_command_that_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    streams = ("--output-format", "stream-json", "--input-format", "stream-json", "--verbose")
    line, environment, marker = program(tmp_path, "-p", *streams)
    line = ["env", "--default-signal=HUP", *line]  # whoever runs the tests may ignore it
    with subprocess.Popen(line, env=environment, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(MESSAGE).encode() + b"\n")
            process.stdin.flush()
            seen = next(frame for frame in map(json.loads, process.stdout) if frame["type"] == "result")
            assert seen["result"] == "started it"
            wait_until_running(marker)
            process.send_signal(number)
            process.wait(60)
        finally:
            process.kill()
    wait_until_gone(marker)
