"""Commands that are told something and answer: with real processes, and judged by what is left of them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from toolwright.processes.hook_process import MAX_BYTES, HookOutput
from toolwright.workspace import Workspace

pytestmark = pytest.mark.anyio


@pytest.fixture
async def workspace(tmp_path: Path) -> AsyncIterator[Workspace]:
    (tmp_path / "work").mkdir()
    made = Workspace(str(tmp_path / "work"), env={"EXPLICIT": "yes"}, state_dir=str(tmp_path / "state"))
    yield made
    await made.close()


async def ask(workspace: Workspace, command: str, *args: str, stdin: bytes = b"") -> HookOutput:
    with anyio.fail_after(60):
        return await workspace.commands.exchange(command, args or None, stdin=stdin, on_output=lambda piece: None)


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def pid_in(path: Path) -> int:
    with anyio.fail_after(30):
        while not path.exists() or not path.read_text().strip():
            await anyio.sleep(0.01)
    return int(path.read_text())


async def gone(pid: int) -> None:
    with anyio.fail_after(30):
        while is_alive(pid):
            await anyio.sleep(0.01)


async def test_it_reads_stdin_and_answers_on_both_outputs(workspace: Workspace) -> None:
    answer = await ask(workspace, "cat; echo problem >&2; exit 3", stdin=b"x" * 300_000)
    assert (answer.exit_code, answer.text, answer.errors) == (3, "x" * 300_000, "problem\n")


async def test_who_does_not_read_does_not_break(workspace: Workspace) -> None:
    assert (await ask(workspace, "exec <&-; exit 0", stdin=b"x" * 1_000_000)).exit_code == 0


async def test_a_program_with_arguments_is_run_without_a_shell(workspace: Workspace) -> None:
    answer = await ask(workspace, "printf", "%s|", "$HOME", "a b; c")
    assert answer.text == "$HOME|a b; c|"


@pytest.mark.parametrize(("command", "code"), [("kill -SEGV $$", 139), ("no-such-command-here", 127), ("exit 255", 255)])
async def test_exit_codes_are_those_of_a_shell(workspace: Workspace, command: str, code: int) -> None:
    assert (await ask(workspace, command)).exit_code == code


async def test_a_flood_is_read_counted_and_not_kept(workspace: Workspace) -> None:
    answer = await ask(workspace, "head -c 100000000 /dev/zero; head -c 1000000 /dev/zero >&2")
    assert (answer.total_bytes, len(answer.output)) == (100_000_000, MAX_BYTES)
    assert answer.text.endswith("[cut: the first 1,048,576 of 100,000,000 bytes]")
    assert len(answer.errors) < 10_000
    assert "[cut:" in answer.errors


async def test_it_stands_in_the_sessions_folder_with_a_filtered_environment(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "AWS_SECRET_ACCESS_KEY": "planted",
        "github_token": "planted",
        "FOO": "ghp_" + "a" * 36,
        "LC_NAME": "ghp_" + "b" * 36,
        "ANTHROPIC_API_KEY": "planted",
        "BASH_ENV": "/nonexistent",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SHELL", "/nonexistent")
    answer = await ask(workspace, "pwd; env")
    folder, *lines = answer.text.splitlines()
    seen = dict(line.partition("=")[::2] for line in lines)
    assert folder == seen["PWD"] == seen["CLAUDE_PROJECT_DIR"] == workspace.home
    assert seen["EXPLICIT"] == "yes"
    assert not {"AWS_SECRET_ACCESS_KEY", "github_token", "FOO", "LC_NAME", "ANTHROPIC_API_KEY", "BASH_ENV"} & set(seen)


async def test_a_bash_in_the_folder_is_not_the_one_that_runs(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Path(workspace.home, "bash")
    fake.write_text("#!/bin/sh\ntouch taken-over\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{workspace.home}:{os.environ['PATH']}")
    assert (await ask(workspace, "echo fine")).text == "fine\n"
    assert not Path(workspace.home, "taken-over").exists()


async def test_being_cancelled_ends_the_whole_tree(workspace: Workspace) -> None:
    pids = [Path(workspace.home, name) for name in ("child", "own-session")]
    command = "(echo $BASHPID > child; exec sleep 1000) & setsid bash -c 'echo $$ > own-session; exec sleep 1000' & wait"
    async with anyio.create_task_group() as group:
        group.start_soon(ask, workspace, command)
        found = [await pid_in(path) for path in pids]
        group.cancel_scope.cancel()
    assert not any(is_alive(pid) for pid in found)


async def test_a_daemon_that_holds_the_output_holds_nobody_up_and_ends_with_the_session(workspace: Workspace) -> None:
    answer = await ask(
        workspace, "setsid bash -c 'echo $$ > daemon; exec sleep 1000' & while [ ! -s daemon ]; do :; done; echo done"
    )
    assert answer.text == "done\n"
    pid = await pid_in(Path(workspace.home, "daemon"))
    assert is_alive(pid)
    await workspace.close()
    await gone(pid)
