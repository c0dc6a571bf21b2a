"""A cover that falls off is noticed at once: the command is stopped, and it is said."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from support_sandbox import mechanism_named, visible_folder
from support_tools import open_descriptors
from toolwright.processes.background import BackgroundShell
from toolwright.sandbox import cover_watch
from toolwright.sandbox.cover_watch import end_watching, watching
from toolwright.sandbox.errors import SandboxRefused
from toolwright.sandbox.policy import FilesystemWishes, NetworkWishes, PermissionPaths, sandbox_rules
from toolwright.workspace import Workspace


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def watchers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "toolwright-covers"]


def replaced(path: Path, text: str = "new") -> None:
    new = path.with_name(f"{path.name}.tmp-{os.getpid()}")
    new.write_text(text)
    os.rename(new, path)


class Stopping:
    """Stands for ending a command: says when it could, and counts."""

    def __init__(self, *answers: bool) -> None:
        self._answers = list(answers)
        self.times = 0

    def __call__(self) -> bool:
        self.times += 1
        return self._answers.pop(0) if self._answers else True


# the watch by itself


@pytest.mark.parametrize("way", ["rename", "remove", "move away"])
def test_a_name_that_is_replaced_or_removed_stops_the_command(tmp_path: Path, way: str) -> None:
    covered, stops = tmp_path / ".envrc", Stopping()
    covered.write_text("old")
    with watching([str(covered)], [str(tmp_path)], stop=stops) as watch:
        (tmp_path / "other").write_text("x")
        covered.write_text("changed in place")
        if way == "rename":
            replaced(covered)
        elif way == "remove":
            covered.unlink()
        else:
            covered.rename(tmp_path / "elsewhere")
        until(lambda: stops.times)
        assert watch.lost == str(covered)
        assert "replaced" in watch.in_words()[0]


def test_a_folder_on_the_way_counts_too(tmp_path: Path) -> None:
    covered, stops = tmp_path / "a/b/.git", Stopping()
    covered.mkdir(parents=True)
    with watching([str(covered)], [str(tmp_path)], stop=stops):
        (tmp_path / "a").rename(tmp_path / "c")
        until(lambda: stops.times)


def test_what_else_happens_in_the_folder_is_nobodys_business(tmp_path: Path) -> None:
    (tmp_path / ".envrc").write_text("old")
    with watching([str(tmp_path / ".envrc")], [str(tmp_path)], stop=lambda: True) as watch:
        for number in range(2000):
            (tmp_path / f"{number}").touch()
        (tmp_path / ".envrc").write_text("in place")
        time.sleep(0.2)
        assert watch.in_words() == []


def test_a_command_that_has_hardly_begun_is_stopped_as_soon_as_it_can_be(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("old")
    stops = Stopping(False, False, True)
    with watching([str(tmp_path / "x")], [], stop=stops):
        replaced(tmp_path / "x")
        until(lambda: stops.times == 3)
        time.sleep(0.1)
    assert stops.times == 3


def test_lost_events_are_made_up_for_by_looking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").write_text("old")
    stops = Stopping()
    with watching([str(tmp_path / "x")], [], stop=stops):
        with cover_watch._guard:
            watcher = cover_watch._watcher
            assert watcher is not None
            watcher._names.clear()  # as if the event had never come
            replaced(tmp_path / "x")
            watcher._happened(-1, 0x4000, "")
        (tmp_path / "wake").touch()
        until(lambda: stops.times)


def test_no_thread_and_no_descriptor_stays_behind(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    end_watching()
    before = open_descriptors()
    with watching([str(tmp_path / "x")], [str(tmp_path)], stop=lambda: True):
        with watching([str(tmp_path / "x")], [str(tmp_path)], stop=lambda: True):
            assert len(watchers()) == 1
        assert len(watchers()) == 1
        stops = Stopping()
        with watching([str(tmp_path / "x")], [], stop=stops):
            replaced(tmp_path / "x")
            until(lambda: stops.times)
        end_watching()
        assert len(watchers()) == 1  # it is needed
    end_watching()
    assert watchers() == []
    assert open_descriptors() == before


def test_without_commands_it_ends_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cover_watch, "LINGER_SECONDS", 0.05)
    (tmp_path / "x").touch()
    end_watching()
    before = open_descriptors()
    for _ in range(2):
        with watching([str(tmp_path / "x")], [str(tmp_path)], stop=lambda: True):
            time.sleep(0.2)
            assert len(watchers()) == 1
        until(lambda: watchers() == [])
        assert open_descriptors() == before


def test_where_it_cannot_be_watched_nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    end_watching()
    monkeypatch.setattr(cover_watch, "c_function", lambda *_: None)
    with pytest.raises(SandboxRefused, match="cannot be watched"), watching([str(tmp_path)], [], stop=lambda: True):
        pass
    assert watchers() == []


def test_a_protected_name_that_comes_to_be_is_told(tmp_path: Path) -> None:
    with watching([], [str(tmp_path)], stop=lambda: True, is_protected=lambda name: name == ".gdbinit") as watch:
        (tmp_path / ".gdbinit").touch()
        (tmp_path / "other").touch()
        until(lambda: watch.made)
        assert ".gdbinit came to be" in watch.in_words()[0]
        (tmp_path / ".gdbinit").unlink()
        assert watch.in_words() == []


# in a sandbox


@pytest.fixture
def folder() -> Iterator[Path]:
    with visible_folder() as path:
        (path / "ws/work").mkdir(parents=True)
        yield path


def enclosed(
    folder: Path, *, is_hidden: Callable[[str], bool] = lambda path: False, secrets: tuple[str, ...] = ()
) -> Workspace:
    workspace = Workspace(str(folder / "ws"), env={}, state_dir=str(folder / "state"))
    rules = sandbox_rules(
        str(folder / "ws"),
        [],
        home=str(folder / "home"),
        secrets=(),
        filesystem=FilesystemWishes(),
        network=NetworkWishes(),
        permissions=PermissionPaths(is_hidden=is_hidden),
    )
    workspace.commands.enclose(mechanism_named("bubblewrap", folder / "register"), lambda: rules)
    return workspace


async def replace_when_ready(folder: Path, name: str) -> None:
    with anyio.fail_after(60):
        while not (folder / "ws/work/ready").exists():
            await anyio.sleep(0.01)
    replaced(folder / "ws" / name, "hunter2")


HOLD = "touch work/ready; until [ -e work/never ]; do sleep 0.05; done"


@pytest.mark.anyio
@pytest.mark.parametrize("name", [".envrc", ".mcp.json", "CLAUDE.md", "work/AGENTS.md"])
async def test_a_command_is_stopped_when_a_program_replaces_a_protected_file(folder: Path, name: str) -> None:
    (folder / "ws" / name).write_text("old")
    workspace = enclosed(folder)
    async with anyio.create_task_group() as group:
        group.start_soon(replace_when_ready, folder, name)
        result = await workspace.commands.run(HOLD, timeout=60)
    assert not result.timed_out
    assert result.exit_code == 137
    assert f"The command was stopped: a program outside the sandbox replaced {folder}/ws/{name}" in result.notices[0]
    await workspace.close()
    assert watchers() == []


@pytest.mark.anyio
async def test_a_denied_file_that_is_replaced_is_not_read_for_long(folder: Path) -> None:
    (folder / "ws/.env").write_text("old")
    workspace = enclosed(folder, is_hidden=lambda path: path.endswith("/.env"))
    async with anyio.create_task_group() as group:
        group.start_soon(replace_when_ready, folder, ".env")
        result = await workspace.commands.run(HOLD, timeout=60)
    assert f"replaced {folder}/ws/.env" in result.notices[0]
    await workspace.close()


@pytest.mark.anyio
async def test_a_background_command_is_stopped_too_and_the_next_one_runs(folder: Path) -> None:
    (folder / "ws/.envrc").write_text("old")
    workspace = enclosed(folder)
    shell: BackgroundShell = await workspace.commands.start(HOLD)
    await replace_when_ready(folder, ".envrc")
    assert await shell.wait(60)
    assert any("The command was stopped" in notice for notice in shell.notices)
    fine = await workspace.commands.run("cat .envrc; echo x >> .envrc", timeout=60)
    assert fine.output.text.startswith("hunter2")
    assert (folder / "ws/.envrc").read_text() == "hunter2"
    await workspace.close()
    assert watchers() == []


@pytest.mark.anyio
async def test_a_stand_in_that_gives_way_to_a_real_file_stops_the_command(folder: Path) -> None:
    workspace = enclosed(folder)
    async with anyio.create_task_group() as group:
        group.start_soon(replace_when_ready, folder, ".mcp.json")
        result = await workspace.commands.run(HOLD, timeout=60)
    assert "replaced" in result.notices[0]
    assert (folder / "ws/.mcp.json").read_text() == "hunter2"
    await workspace.close()
    assert sorted(os.listdir(folder / "ws")) == [".mcp.json", "work"]


@pytest.mark.anyio
async def test_our_own_write_of_a_name_that_only_stands_there_goes_through(folder: Path) -> None:
    workspace = enclosed(folder)
    shell = await workspace.commands.start(HOLD)
    with anyio.fail_after(60):
        while not (folder / "ws/work/ready").exists():
            await anyio.sleep(0.01)
    await workspace.replace_file("CLAUDE.md", lambda before: b"hello" if before is None else b"?")
    await workspace.replace_file(".vscode/tasks.json", lambda before: b"{}" if before is None else b"?")
    assert await shell.wait(60)
    assert any("The command was stopped" in notice for notice in shell.notices)
    await workspace.close()
    assert (folder / "ws/CLAUDE.md").read_text() == "hello"
    assert (folder / "ws/.vscode/tasks.json").read_text() == "{}"
    assert sorted(os.listdir(folder / "ws")) == [".vscode", "CLAUDE.md", "work"]


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["CLAUDE.md", "AGENTS.md", "CLAUDE.local.md", "GEMINI.md", ".cursorrules"])
async def test_memory_files_are_protected_whether_they_are_there_or_not(folder: Path, name: str) -> None:
    (folder / "ws/work" / name).write_text("nested")
    workspace = enclosed(folder)
    await workspace.commands.run(f"echo x > {name}; rm -f {name}; mv work {name}; echo x >> work/{name}; rm -f work/{name}")
    assert not (folder / "ws" / name).exists()
    assert (folder / "ws/work" / name).read_text() == "nested"
    (folder / "ws" / name).write_text("mine")
    await workspace.commands.run(f"echo x >> {name}; rm -f {name}; echo x > new; mv new {name}; chmod 777 {name}")
    assert (folder / "ws" / name).read_text() == "mine"
    await workspace.close()
