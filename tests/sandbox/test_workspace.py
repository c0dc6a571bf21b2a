"""Commands of a workspace in their sandbox: in the foreground, in the background, by the file tools' side."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest

from support_sandbox import NOBODY, mechanism_named, visible_folder
from support_tools import open_descriptors
from toolwright.processes.temp_files import Owner
from toolwright.sandbox.backends.bubblewrap import Bubblewrap, find_bubblewrap
from toolwright.sandbox.backends.landlock import Landlocked
from toolwright.sandbox.errors import SandboxRefused, SandboxUnavailable
from toolwright.sandbox.launch import Inside, Launch, PrivateFolder, sweep_foreign
from toolwright.sandbox.policy import (
    FilesystemWishes,
    NetworkWishes,
    PermissionPaths,
    SandboxPolicy,
    SandboxRules,
    sandbox_rules,
)
from toolwright.workspace import PathNotAllowed, Workspace

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder() -> Iterator[Path]:
    with visible_folder() as path:
        (path / "ws/work").mkdir(parents=True)
        (path / "outside").mkdir()
        yield path


def enclosed(folder: Path, name: str, *, user: str | None = None, env: dict[str, str] | None = None) -> Workspace:
    workspace = Workspace(str(folder / "ws"), env=env or {}, user=user, state_dir=str(folder / "state"))

    def rules() -> SandboxRules:
        return sandbox_rules(
            str(folder / "ws"),
            [],
            home=str(folder / "home"),
            secrets=(str(folder / "state"),),
            filesystem=FilesystemWishes(),
            network=NetworkWishes(),
            permissions=PermissionPaths(is_hidden=lambda path: path.endswith("/.env")),
        )

    workspace.commands.enclose(mechanism_named(name, folder / "register"), rules)
    return workspace


@pytest.mark.parametrize("name", ["bubblewrap", "Landlock"])
async def test_a_command_reports_its_output_code_and_folder(folder: Path, name: str) -> None:
    workspace = enclosed(folder, name)
    result = await workspace.commands.run(f"echo x > {folder}/outside/x; cd work; echo out; exit 3", timeout=60)
    assert (result.exit_code, result.last_directory) == (3, f"{folder}/ws/work")
    assert result.output.text.endswith("out\n")
    assert list((folder / "outside").iterdir()) == []
    before = open_descriptors()
    await workspace.commands.run("true", timeout=60)
    assert open_descriptors() == before
    await workspace.close()
    assert os.listdir(folder / "ws") == ["work"]


@pytest.mark.parametrize("name", ["bubblewrap", "Landlock"])
async def test_a_background_command_is_held_as_well_and_its_stubs_go_when_it_ends(folder: Path, name: str) -> None:
    (folder / "ws/.env").write_text("hunter2")
    workspace = enclosed(folder, name)
    shell = await workspace.commands.start(f"cat .env; echo x > {folder}/outside/x; echo x > .mcp.json; echo done; sleep 600")
    await _until(lambda: b"done" in Path(shell.log.path).read_bytes())
    await workspace.commands.run("echo y > .envrc", timeout=60)  # a second command must not take the first one's covers away
    await workspace.commands.end(shell)
    assert b"hunter2" not in Path(shell.log.path).read_bytes()
    assert list((folder / "outside").iterdir()) == []
    assert sorted(os.listdir(folder / "ws")) == [".env", "work"]
    await workspace.close()


async def test_a_command_is_not_started_where_its_sandbox_is_refused(folder: Path) -> None:
    (folder / "ws/.git").symlink_to("nowhere")
    workspace = enclosed(folder, "bubblewrap")
    with pytest.raises(SandboxRefused):
        await workspace.commands.run("echo x > work/x", timeout=60)
    with pytest.raises(SandboxRefused):
        await workspace.commands.start("echo x > work/x")
    assert os.listdir(folder / "ws/work") == []
    await workspace.commands.run("echo x > work/x", timeout=60, unsandboxed=True)
    assert os.listdir(folder / "ws/work") == ["x"]
    await workspace.close()


async def test_a_timeout_ends_a_sandboxed_tree_and_leaves_nothing(folder: Path) -> None:
    workspace = enclosed(folder, "bubblewrap")
    result = await workspace.commands.run("trap '' TERM; (setsid sleep 600 &) ; sleep 600", timeout=1)
    assert result.timed_out
    assert os.listdir(folder / "ws") == ["work"]
    await workspace.close()


GOODBYE = "trap 'echo bye; touch work/tidied; exit 7' TERM; echo ready; while :; do sleep 0.05; done"


@pytest.mark.parametrize("name", ["bubblewrap", "Landlock"])
async def test_a_timeout_lets_a_sandboxed_command_clean_up(folder: Path, name: str) -> None:
    workspace = enclosed(folder, name)
    result = await workspace.commands.run(GOODBYE, timeout=3)
    if "ready" not in result.output.text:
        pytest.skip("this machine is too slow to start a command in three seconds")
    assert result.timed_out
    assert result.output.text.endswith("bye\n")
    assert os.listdir(folder / "ws/work") == ["tidied"]
    await workspace.close()
    assert os.listdir(folder / "ws") == ["work"]


@pytest.mark.parametrize("name", ["bubblewrap", "Landlock"])
async def test_a_background_command_that_is_ended_may_clean_up_and_leaves_nothing(folder: Path, name: str) -> None:
    workspace = enclosed(folder, name)
    shell = await workspace.commands.start(f"(setsid sleep 600 &); {GOODBYE}")
    await _until(lambda: b"ready" in Path(shell.log.path).read_bytes())
    assert await workspace.commands.end(shell) >= 2
    assert Path(shell.log.path).read_text().endswith("bye\n")
    assert (shell.status, os.listdir(folder / "ws/work")) == ("killed", ["tidied"])
    await workspace.close()
    assert os.listdir(folder / "ws") == ["work"]


async def test_what_the_sandbox_kept_a_command_from_is_told_of_both_kinds(folder: Path) -> None:
    workspace = enclosed(folder, "bubblewrap")
    command = f"echo x > {folder}/outside/x"
    result = await workspace.commands.run(command, timeout=60)
    shell = await workspace.commands.start(command)
    assert await shell.wait(60)
    assert result.notices == shell.notices
    assert "ran in a sandbox (bubblewrap)" in shell.notices[0]
    fine = await workspace.commands.start("echo Permission denied")
    assert await fine.wait(60)
    assert fine.notices == ()
    await workspace.close()


async def test_a_link_planted_by_a_command_is_not_followed_by_a_write(folder: Path) -> None:
    workspace = enclosed(folder, "bubblewrap")
    await workspace.commands.run(f"ln -s {folder}/outside l", timeout=60)
    with pytest.raises(PathNotAllowed):
        await workspace.replace_file("l/x", lambda _: b"x")
    assert list((folder / "outside").iterdir()) == []
    await workspace.close()


async def test_kept_output_can_be_read_by_the_next_command_and_the_rest_of_the_state_cannot(folder: Path) -> None:
    workspace = enclosed(folder, "bubblewrap")
    (folder / "state").mkdir(exist_ok=True)
    (folder / "state/secret").write_text("hunter2")
    first = await workspace.commands.run("seq 100000", timeout=60, output_limit=1000)
    assert first.output.saved_to is not None
    second = await workspace.commands.run(f"tail -n 1 {first.output.saved_to}; cat {folder}/state/secret", timeout=60)
    assert second.output.text.startswith("100000\n")
    assert "hunter2" not in second.output.text
    await workspace.close()


only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can start commands as another user")


def anothers(folder: Path, name: str, *, env: dict[str, str] | None = None) -> Workspace:
    """A workspace whose commands run as somebody who owns nothing but its folder `work`."""
    os.chown(folder / "ws/work", NOBODY, NOBODY)
    os.chmod(folder / "outside", 0o777)
    return enclosed(folder, name, user=pwd.getpwuid(NOBODY).pw_name, env=env)


@only_root
@pytest.mark.parametrize("name", ["bubblewrap", "Landlock"])
async def test_commands_of_another_user_are_held_too(folder: Path, name: str) -> None:
    workspace = anothers(folder, name)
    ids = "grep -E '^(Uid|Gid|Groups|CapEff):' /proc/self/status | tr -s '[:space:]' ' '"
    command = f"{ids}; echo x > work/x; echo x > {folder}/outside/x; echo t > /tmp/t; echo t > $TMPDIR/t && echo kept"
    result = await workspace.commands.run(command, timeout=60)
    assert result.output.text.startswith(
        f"Uid: {' '.join([str(NOBODY)] * 4)} Gid: {' '.join([str(NOBODY)] * 4)} Groups: {NOBODY} CapEff: 0000000000000000 "
    )
    assert result.output.text.endswith("kept\n")
    assert os.listdir(folder / "ws/work") == ["x"]
    assert os.stat(folder / "ws/work/x").st_uid == NOBODY
    assert os.listdir(folder / "outside") == []
    await workspace.close()


@only_root
async def test_landlock_holds_another_user_who_cannot_reach_our_python(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    python = closed / "python"
    shutil.copy2(os.path.realpath(sys.executable), python)
    if subprocess.run([python, "-I", "-S", "-c", "import ctypes, json"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("this Python does not run from another folder")
    workspace = anothers(folder, "Landlock")
    workspace.commands.enclosure.mechanism = Landlocked(interpreter=str(python))  # type: ignore[union-attr]
    result = await workspace.commands.run(f"id -u; echo x > work/x; echo x > {folder}/outside/x", timeout=60)
    assert result.output.text.startswith(f"{NOBODY}\n")
    assert os.listdir(folder / "ws/work") == ["x"]
    assert os.listdir(folder / "outside") == []
    await workspace.close()


@only_root
async def test_no_variable_of_a_command_reaches_what_sets_its_sandbox_up_as_root(folder: Path) -> None:
    workspace = anothers(folder, "Landlock", env={"LD_PRELOAD": "/nowhere/of-the-command.so"})
    result = await workspace.commands.run("printf '%s\\n' \"$LD_PRELOAD\"", timeout=60)
    assert result.output.text.count("/nowhere/of-the-command.so") == 2  # the loader of bash complains, then bash says it
    await workspace.close()


@only_root
async def test_a_bubblewrap_that_another_user_cannot_reach_is_refused_in_words(folder: Path) -> None:
    workspace = anothers(folder, "bubblewrap")
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    shutil.copy2(os.path.realpath(find_bubblewrap() or ""), closed / "bwrap")
    workspace.commands.enclosure.mechanism = Bubblewrap(f"{closed}/bwrap", f"{folder}/register")  # type: ignore[union-attr]
    with pytest.raises(SandboxUnavailable, match=f"may not enter {closed}.*chmod o\\+x {closed}"):
        await workspace.commands.run("id -u", timeout=60)
    await workspace.close()


KILLED = """
import os, signal, sys
from toolwright.sandbox.launch import PrivateFolder
print(PrivateFolder.for_another((int(sys.argv[1]), int(sys.argv[1]))).path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_folder_of_another_user_goes_with_the_next_session_if_the_runtime_was_killed(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a folder for another user")
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", KILLED, "65534"], env=env, capture_output=True, text=True, check=False)
    left = done.stdout.strip()
    assert os.stat(f"{left}/tmp").st_uid == 65534
    (tmp_path / "toolwright-1-2-3-somebody-elses").write_text("a file")
    os.chown(tmp_path, 65534, 65534)
    living = PrivateFolder(str(tmp_path / Owner.this_process().new_name("toolwright")))
    os.mkdir(living.path)
    sweep_foreign(str(tmp_path), 65534)
    assert sorted(os.listdir(tmp_path)) == sorted(["toolwright-1-2-3-somebody-elses", os.path.basename(living.path)])


class _Slow:
    """A mechanism that runs the command as it is, and whose sandbox ends only when the event loop has gone on."""

    name = "slow"

    def __init__(self) -> None:
        self.looks = 0
        self.may_end = threading.Event()

    def launch(self, policy: SandboxPolicy, inside: Inside, *, private: PrivateFolder, stack: ExitStack) -> Launch:
        stack.callback(self.may_end.wait, 60)
        return Launch(tuple(inside.argv), dict(inside.environment), (), is_over=self._is_over)

    def _is_over(self) -> bool:
        self.looks += 1
        if self.looks == 3:
            self.may_end.set()
        return self.may_end.is_set()


def _enclosed_slowly(folder: Path) -> tuple[Workspace, _Slow]:
    slow = _Slow()
    workspace = Workspace(str(folder / "ws"), env={}, state_dir=str(folder / "state"))
    rules = SandboxRules((str(folder / "ws"),), str(folder))
    workspace.commands.enclose(slow, lambda: rules)
    return workspace, slow


async def test_a_sandbox_that_takes_its_time_to_end_does_not_stop_the_event_loop(folder: Path) -> None:
    workspace, slow = _enclosed_slowly(folder)
    async with anyio.create_task_group() as group:
        group.start_soon(workspace.commands.run, "true")
        await _until(lambda: slow.looks)
        slow.may_end.set()
    await workspace.close()


async def test_nor_does_that_of_a_background_command(folder: Path) -> None:
    workspace, slow = _enclosed_slowly(folder)
    shell = await workspace.commands.start("true")
    assert await shell.wait(60)
    assert slow.looks >= 3
    await workspace.close()


async def _until(condition: object) -> None:
    with anyio.fail_after(60):
        while not condition():  # type: ignore[operator]  # a function without arguments
            await anyio.sleep(0.02)
