from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from toolwright.base.placeholder_files import stands_in
from toolwright.sandbox.errors import SandboxRefused
from toolwright.sandbox.placeholders import standing, sweep

_HOLD = """
import sys
from toolwright.sandbox.placeholders import standing
with standing(sys.argv[1], sys.argv[3:], register=sys.argv[2]):
    print("standing", flush=True)
    sys.stdin.read()
"""


def hold(root: Path, register: Path, *names: str) -> subprocess.Popen[str]:
    """Another process in which stubs stand until it is told to end, or killed."""
    argv = [sys.executable, "-c", _HOLD, str(root), str(register), *names]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "standing\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.communicate(timeout=60)


def test_stubs_stand_as_long_as_they_are_needed(tmp_path: Path) -> None:
    ws, names = tmp_path / "ws", [str(tmp_path / "ws" / name) for name in (".git", ".mcp.json")]
    ws.mkdir()
    with standing(str(ws), names, register=str(tmp_path / "register")):
        with standing(str(ws), names, register=str(tmp_path / "register")):
            assert all(stands_in(name) for name in names)
        assert all(stands_in(name) for name in names)
    assert list(ws.iterdir()) == []
    assert list((tmp_path / "register").iterdir()) == []


def test_what_was_there_or_was_written_since_stays(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    names = [str(tmp_path / name) for name in ("empty", "written", "touched", "replaced")]
    with standing(str(tmp_path), names, register=str(tmp_path / "register")):
        os.unlink(tmp_path / "written")
        (tmp_path / "written").write_text("x")
        os.unlink(tmp_path / "touched")
        (tmp_path / "touched").touch()
        os.unlink(tmp_path / "replaced")
        (tmp_path / "replaced").mkdir()
    assert {path.name for path in tmp_path.iterdir()} == {"empty", "written", "touched", "replaced", "register"}


def test_the_last_process_tidies_up(tmp_path: Path) -> None:
    ws, register = tmp_path / "ws", tmp_path / "register"
    ws.mkdir()
    with standing(str(ws), [str(ws / ".git")], register=str(register)):
        other = hold(ws, register, str(ws / ".git"))
    assert stands_in(str(ws / ".git"))  # the other one needs it
    end(other)
    assert list(ws.iterdir()) == []


def test_a_killed_process_leaves_stubs_that_the_next_sweep_removes(tmp_path: Path) -> None:
    ws, register = tmp_path / "ws", tmp_path / "register"
    ws.mkdir()
    process = hold(ws, register, str(ws / ".git"), str(ws / ".envrc"))
    sweep(str(register))
    assert stands_in(str(ws / ".git"))  # still in use
    process.send_signal(signal.SIGKILL)
    end(process)
    assert stands_in(str(ws / ".git"))
    sweep(str(register))
    assert list(ws.iterdir()) == []
    assert list(register.iterdir()) == []


def test_a_register_of_a_folder_that_is_gone_goes_too(tmp_path: Path) -> None:
    ws, register = tmp_path / "ws", tmp_path / "register"
    ws.mkdir()
    process = hold(ws, register, str(ws / ".git"))
    process.kill()
    end(process)
    (ws / ".git").rmdir()
    ws.rmdir()
    sweep(str(register))
    assert list(register.iterdir()) == []


def test_a_link_in_the_place_of_a_stub_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/nowhere")
    with (
        pytest.raises(SandboxRefused, match="must not be one"),
        standing(str(tmp_path), [str(tmp_path / "link"), str(tmp_path / "x")], register=str(tmp_path / "register")),
    ):
        pass
