"""Stand-ins of the sandbox never stay and never bother anybody: two sessions, a person's git, and kill -9 in one folder."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support_runtime import play, results
from support_sandbox import need
from toolwright.base.placeholder_files import stands_in
from toolwright.config.session_config import ground_of
from toolwright.models.scripted import Call, Say, ScriptedModel
from toolwright.settings.locations import read_text
from toolwright.settings.memory import MemoryPlaces, candidates
from toolwright.types import ClaudeAgentOptions, PermissionResultAllow

_SESSION = """
import sys
from pathlib import Path
import anyio
from support_runtime import play, results
from toolwright.models.scripted import Call, Say, ScriptedModel

from toolwright.types import PermissionResultAllow

async def allow(*_):
    return PermissionResultAllow()

async def main() -> None:
    model = ScriptedModel([Call("Bash", {"command": sys.argv[2]}), Say("ok")])
    env = {"CLAUDE_CONFIG_DIR": sys.argv[3]}
    frames = await play(Path(sys.argv[1]), model, sandbox={"enabled": True}, env=env, can_use_tool=allow)
    print("said:", results(frames)[0]["content"], flush=True)

anyio.run(main)
"""
HOLD = "touch {name}; until [ -e go ]; do sleep 0.02; done; echo x > .mcp.json; echo x > CLAUDE.md; mkdir .claude; echo done"


async def allow(*_: object) -> PermissionResultAllow:
    return PermissionResultAllow()


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def session(folder: Path, name: str, state: str = "state") -> Iterator[subprocess.Popen[str]]:
    """A session in another process that runs a sandboxed command until there is a file `go`."""
    need("bubblewrap")
    environment = {
        **{each: os.environ[each] for each in ("PATH", "HOME") if each in os.environ},
        "PYTHONPATH": ":".join(sys.path),
    }
    argv = [sys.executable, "-c", _SESSION, str(folder), HOLD.format(name=name), str(folder / state)]
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            until(lambda: (folder / "workspace" / name).exists() or process.poll() is not None)
            yield process
        finally:
            process.kill()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "workspace").iterdir())


def git(folder: Path, *arguments: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *who, *arguments],
        cwd=folder / "workspace",
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    return tmp_path


@pytest.mark.parametrize("state", ["state", "another"])
def test_two_sessions_work_in_one_folder_at_the_same_time(folder: Path, state: str) -> None:
    with session(folder, "one") as first, session(folder, "two", state) as second:
        assert {"one", "two"} <= set(names(folder))
        assert stands_in(str(folder / "workspace/.mcp.json"))
        (folder / "workspace/go").touch()
        assert "done" in first.communicate(timeout=240)[0]
        assert "done" in second.communicate(timeout=240)[0]
    assert names(folder) == ["go", "one", "two"]


def test_a_session_that_ends_first_leaves_the_others_covers_alone(folder: Path) -> None:
    with session(folder, "one") as first:
        (folder / "workspace/go").touch()
        with session(folder, "two") as second:
            second.communicate(timeout=240)
        first.communicate(timeout=240)
    assert names(folder) == ["go", "one", "two"]


@pytest.mark.parametrize("state", ["state", "another"])
def test_after_a_kill_the_next_start_is_clean(folder: Path, state: str) -> None:
    with session(folder, "one") as process:
        process.kill()
        process.wait()
    assert stands_in(str(folder / "workspace/.mcp.json"))
    ground_of(ClaudeAgentOptions(cwd=folder / "workspace", env={"CLAUDE_CONFIG_DIR": str(folder / state)}))
    assert names(folder) == ["one"]


@pytest.mark.anyio
async def test_after_a_kill_a_sandboxed_session_works_as_ever(folder: Path) -> None:
    with session(folder, "one", "another") as process:
        process.kill()
        process.wait()
    (folder / "workspace/go").touch()
    model = ScriptedModel([Call("Bash", {"command": HOLD.format(name="two")}), Say("ok")])
    frames = await play(folder, model, sandbox={"enabled": True}, can_use_tool=allow)
    assert "done" in str(results(frames)[0]["content"])
    assert names(folder) == ["go", "one", "two"]


def test_nothing_is_to_be_seen_of_them_in_git_also_after_a_kill(folder: Path) -> None:
    git(folder, "init", "-q")
    (folder / "workspace/file").write_text("x")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    with session(folder, "one") as process:
        assert stands_in(str(folder / "workspace/.envrc"))
        for options in ((), ("-uall",), ("-uall", "--ignored"), ("--ignored=matching",)):
            assert git(folder, "status", "--porcelain", *options).split() == ["??", "one"]
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "second")
        assert git(folder, "ls-files").split() == ["file", "one"]
        (folder / "workspace/file").write_text("y")
        git(folder, "stash")
        git(folder, "stash", "pop", "-q")
        git(folder, "checkout", "-q", "-b", "other", "HEAD~1", "--force")
        git(folder, "submodule", "status")
        assert stands_in(str(folder / "workspace/.envrc"))
        assert process.poll() is None  # nothing of this took a cover away
        process.kill()
        process.wait()
    assert git(folder, "status", "--porcelain", "-uall", "--ignored") == ""


def test_a_checkout_fills_a_folder_that_only_stood_there(folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    git(folder, "checkout", "-q", "-b", "other")
    (folder / "workspace/.claude").mkdir()
    (folder / "workspace/.claude/settings.json").write_text("{}")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "second")
    git(folder, "checkout", "-q", "-")
    with session(folder, "one") as process:
        assert stands_in(str(folder / "workspace/.claude"))
        git(folder, "checkout", "-q", "other")
        (folder / "workspace/go").touch()
        assert "done" in process.communicate(timeout=240)[0]
    assert (folder / "workspace/.claude/settings.json").read_text() == "{}"
    assert names(folder) == [".claude", ".git", "go", "one"]


def test_a_person_who_cleans_the_folder_stops_the_command_and_nothing_is_left(folder: Path) -> None:
    git(folder, "init", "-q")
    with session(folder, "one") as process:
        git(folder, "clean", "-fdxq")
        assert "The command was stopped: a program outside the sandbox replaced" in process.communicate(timeout=240)[0]
    assert names(folder) == [".git"]


def test_a_person_can_make_a_repository_meanwhile(folder: Path) -> None:
    with session(folder, "one") as process:
        git(folder, "init", "-q")
        git(folder, "add", "one")
        git(folder, "commit", "-qm", "first")
        (folder / "workspace/go").touch()
        assert "done" in process.communicate(timeout=240)[0]
    assert names(folder) == [".git", "go", "one"]
    assert git(folder, "log", "--format=%s") == "first\n"


def test_a_stand_in_reads_as_absent_everywhere(folder: Path) -> None:
    with session(folder, "one"):
        ws = folder / "workspace"
        stood = [path for path in ws.iterdir() if stands_in(str(path))]
        assert len(stood) > 30
        assert [read_text(str(path)) for path in stood if not path.is_dir()] == [None] * len(
            [p for p in stood if not p.is_dir()]
        )
        places = MemoryPlaces(str(ws), (str(folder / "config"),), managed=())
        assert [each.path for each in candidates(places) if each.path.startswith(str(ws))] == []
        ground_of(ClaudeAgentOptions(cwd=ws, env={"CLAUDE_CONFIG_DIR": str(folder / "state")}))


def test_the_command_line_reads_and_writes_settings_beside_them(folder: Path) -> None:
    environment = {**os.environ, "CLAUDE_CONFIG_DIR": str(folder / "config"), "HOME": str(folder)}
    with session(folder, "one"):
        for arguments in (
            ("mcp", "list"),
            ("trust", "--show"),
            ("mcp", "add", "--scope", "project", "x", "--", "/bin/true"),
        ):
            done = subprocess.run(
                [sys.executable, "-m", "toolwright.cli", *arguments],
                cwd=folder / "workspace",
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            assert "cannot read" not in done.stderr
            assert "Traceback" not in done.stderr
        assert "/bin/true" in (folder / "workspace/.mcp.json").read_text()
