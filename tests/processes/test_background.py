"""Commands in the background: what they write, how they end, and that nothing of them is left."""

from __future__ import annotations

import os
import resource
import secrets
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from support_limits import NOBODY
from support_tools import make_workspace, open_descriptors, running, watchdog_gone
from toolwright.processes.background import MAX_RUNNING, BackgroundShell, BackgroundShells
from toolwright.processes.process_tree import Mark
from toolwright.processes.shell import CommandContext
from toolwright.workspace import CommandNotStarted, FileChanged, PathNotAllowed, UnknownShell, Workspace

pytestmark = pytest.mark.anyio

TIMEOUT = 30.0
TREE = """
sleep {m} & nohup sleep {m} >/dev/null 2>&1 &
setsid sleep {m} & (setsid sh -c 'trap "" TERM HUP; sleep {m}; sleep {m}' >/dev/null 2>&1 &)
(env -i setsid sh -c 'trap "" TERM; (sleep {m} &) ; sleep {m}; sleep {m}' </dev/null >/dev/null 2>&1 &)
trap '' TERM
echo started; sleep {m}; sleep {m}
"""
TREE_SIZE = 7


@asynccontextmanager
async def workspace_in(folder: Path) -> AsyncIterator[Workspace]:
    workspace = make_workspace(folder)
    try:
        yield workspace
    finally:
        await workspace.close()


def new_marker() -> str:
    return str(secrets.randbelow(10**6) + 10**6)


async def ended(shell: BackgroundShell) -> BackgroundShell:
    assert await shell.wait(TIMEOUT)
    return shell


async def tree_stands(marker: str) -> None:
    with anyio.fail_after(TIMEOUT):
        while sum(line.strip() == f"sleep {marker}" for line in running(marker)) < TREE_SIZE:
            await anyio.sleep(0.01)


async def no_more(marker: str) -> None:
    with anyio.fail_after(TIMEOUT):
        while running(marker):
            await anyio.sleep(0.01)


@pytest.mark.parametrize(
    ("command", "status", "code", "text"),
    [
        ("echo out; echo err >&2", "completed", 0, "out\nerr\n"),
        ("echo no; exit 3", "failed", 3, "no\n"),
        ("kill -9 $$", "failed", 137, ""),
        ("cat; read x || echo none", "completed", 0, "none\n"),
        ("echo one; exec 1>&- 2>&-; exit 4", "failed", 4, "one\n"),
        ("echo one; echo two > /dev/stderr; echo three > /dev/stdout", "completed", 0, "one\ntwo\nthree\n"),
        ("echo a > >(sleep 0.02; cat)", "completed", 0, "a\n"),
        ("printf 'a\\0\\xff\\x01z'", "completed", 0, "a\\x00\\xff\\x01z"),
        ("head -c 60000 /dev/zero | tr '\\0' x", "completed", 0, "x" * 60000),
    ],
)
async def test_each_way_to_end_is_reported(tmp_path: Path, command: str, status: str, code: int, text: str) -> None:
    async with workspace_in(tmp_path) as workspace:
        shell = await ended(await workspace.commands.start(command))
        assert (shell.status, shell.exit_code, shell.log.read_new(100_000).text) == (status, code, text)


async def test_starts_and_ends_are_told_and_shells_are_listed(tmp_path: Path) -> None:
    async with workspace_in(tmp_path) as workspace:
        told: list[tuple[str, str]] = []
        workspace.commands.on_change = lambda shell: told.append((shell.id, shell.status))
        one = await workspace.commands.start("exit 0", description="nothing", call="toolu_1")
        two = await workspace.commands.start("exec sleep 100")
        await ended(one)
        assert told == [(one.id, "running"), (two.id, "running"), (one.id, "completed")]
        assert (one.description, one.call, two.description) == ("nothing", "toolu_1", "exec sleep 100")
        assert workspace.commands.shells == (one, two)
        assert workspace.commands.shell(two.id) is two
        with pytest.raises(UnknownShell, match=rf"'x'.*{one.id} \(completed\), {two.id} \(running\)"):
            workspace.commands.shell("x")


async def test_the_log_is_private_and_can_be_read_like_any_file(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        async with workspace_in(tmp_path) as workspace:
            shell = await ended(await workspace.commands.start("echo hello"))
            path = shell.log.path
            assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
            assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
            assert await workspace.with_file(path, lambda file: file.read_all(100)) == b"hello\n"
        assert not os.path.exists(path)
    finally:
        os.umask(old)


async def test_a_log_that_was_replaced_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("SECRET")
    async with workspace_in(tmp_path) as workspace:
        for replace in (os.link, os.symlink):
            shell = await ended(await workspace.commands.start("echo hello"))
            os.unlink(shell.log.path)
            replace(secret, shell.log.path)
            with pytest.raises((FileChanged, OSError)):
                shell.log.read_new(100)


async def test_a_folder_outside_is_no_place_to_start_in(tmp_path: Path) -> None:
    async with workspace_in(tmp_path) as workspace:
        for folder in ("/", "..", str(tmp_path)):
            with pytest.raises(PathNotAllowed):
                await workspace.commands.start("true", cwd=folder)


async def test_ending_a_shell_leaves_no_descendant(tmp_path: Path) -> None:
    marker = new_marker()
    async with workspace_in(tmp_path) as workspace:
        other = await workspace.commands.start("exec sleep 100")
        shell = await workspace.commands.start(TREE.format(m=marker))
        await tree_stands(marker)
        assert await workspace.commands.end(shell) >= TREE_SIZE
        assert (shell.status, shell.log.read_new(100).text[:8]) == ("killed", "started\n")
        assert not running(marker)
        assert other.running


async def test_closing_leaves_no_descendant_no_descriptor_and_no_watchdog(tmp_path: Path) -> None:
    marker = new_marker()
    async with workspace_in(tmp_path) as workspace:
        await workspace.commands.run("true")
    before = open_descriptors()
    async with workspace_in(tmp_path) as workspace:
        shell = await workspace.commands.start(TREE.format(m=marker))
        await tree_stands(marker)
    assert not running(marker)
    assert (shell.status, open_descriptors()) == ("killed", before)
    assert not os.listdir(tmp_path / "state/toolwright-temporary")
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


async def test_cancelling_whoever_ends_a_shell_does_not_save_it(tmp_path: Path) -> None:
    marker = new_marker()
    async with workspace_in(tmp_path) as workspace:
        shell = await workspace.commands.start(TREE.format(m=marker))
        await tree_stands(marker)
        async with anyio.create_task_group() as group:
            group.start_soon(workspace.commands.end, shell)
            await anyio.sleep(0.01)
            group.cancel_scope.cancel()
        assert not running(marker)
        assert shell.status == "killed"


async def test_what_a_command_left_behind_does_not_delay_its_end_and_can_be_ended_later(tmp_path: Path) -> None:
    marker = new_marker()
    async with workspace_in(tmp_path) as workspace:
        shell = await ended(await workspace.commands.start(f"echo hi; (setsid sleep {marker} &)"))
        assert (shell.status, shell.log.read_new(100).text) == ("completed", "hi\n")
        assert running(f"sleep {marker}")
        assert await workspace.commands.end(shell) == 1
        assert not running(marker)
        assert shell.status == "completed"


async def test_a_left_behind_flood_does_not_delay_the_end(tmp_path: Path) -> None:
    async with workspace_in(tmp_path) as workspace:
        shell = await ended(await workspace.commands.start("yes & echo done"))
        assert shell.status == "completed"


async def test_after_the_last_shell_an_idle_session_holds_nothing(tmp_path: Path) -> None:
    async with workspace_in(tmp_path) as workspace:
        await workspace.commands.run("true")
        await watchdog_gone()
        before = open_descriptors()
        for _ in range(3):
            await ended(await workspace.commands.start("true"))
        with anyio.fail_after(TIMEOUT):
            while open_descriptors() != before:  # the watchdog stays for a moment
                await anyio.sleep(0.01)
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)


async def test_very_many_run_at_once_without_threads_up_to_a_limit(tmp_path: Path) -> None:
    async with workspace_in(tmp_path) as workspace:
        threads, descriptors = threading.active_count(), open_descriptors()
        shells = [await workspace.commands.start(f"echo {number}; exec sleep 1000") for number in range(MAX_RUNNING)]
        with pytest.raises(CommandNotStarted, match=rf"{MAX_RUNNING} commands.*KillShell"):
            await workspace.commands.start("true")
        for number, shell in enumerate(shells):
            with anyio.fail_after(TIMEOUT):
                while not shell.log.size:
                    await anyio.sleep(0.01)
            assert shell.log.read_new(100).text == f"{number}\n"
        assert threading.active_count() <= threads + 1  # the one that measures the scratch folder
        assert open_descriptors() - descriptors <= 3 * MAX_RUNNING + 5
        await workspace.commands.end(shells[0])
        await ended(await workspace.commands.start("true"))


async def test_a_flood_keeps_memory_flat(tmp_path: Path) -> None:
    size = 128 << 20
    async with workspace_in(tmp_path) as workspace:
        await ended(await workspace.commands.start("true"))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        shell = await workspace.commands.start(f"echo begin; head -c {size} /dev/zero | tr '\\0' x; echo; echo end")
        await ended(shell)
        news = shell.log.read_new(30_000)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 * 1024  # KiB
    assert news.text.startswith("begin\nx")
    assert news.ending.endswith("x\nend\n")
    assert news.left_out == size + 11 - 30_000


async def test_who_writes_too_much_is_ended(tmp_path: Path) -> None:
    marker = new_marker()
    (tmp_path / "log").mkdir()

    def open_log() -> tuple[int, str]:
        path = str(tmp_path / "log/1")
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), path

    session = Mark.new_session()
    shells = BackgroundShells(session, open_log, most_bytes=1_000_000)
    directory = os.open(tmp_path, os.O_RDONLY)
    environment = {"PATH": os.environ["PATH"]}
    command = f"(setsid sleep {marker} &); trap '' PIPE; yes"
    shell = await shells.start(
        command, CommandContext(directory, environment, Mark(session.session, 1)), description="", call=""
    )
    os.close(directory)
    await ended(shell)
    assert (shell.status, shell.log.size, os.stat(shell.log.path).st_size) == ("killed", 1_000_000, 1_000_000)
    assert "wrote too much (no more is kept than 1,000,000 bytes" in str(shell.problem)
    assert not running(marker)


DISK_FULL = """
import anyio, resource, signal, sys
from toolwright.workspace import Workspace

async def main():
    workspace = Workspace(sys.argv[1] + "/ws", env={}, state_dir=sys.argv[1] + "/state")
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))  # larger files fail like on a full disk
    shell = await workspace.commands.start("ulimit -S -f unlimited; yes")
    await shell.wait(30)
    print(shell.status, shell.log.size, shell.problem)
    await workspace.close()

anyio.run(main)
"""


def test_a_full_disk_ends_the_command_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    done = subprocess.run([sys.executable, "-c", DISK_FULL, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "killed 50000 its output could not be written: File too large\n"


NO_DESCRIPTORS = """
import anyio, os, resource, sys
from toolwright.workspace import CommandNotStarted, Workspace

async def attempt(work):
    try:
        await work
    except (CommandNotStarted, OSError) as error:
        return f"{type(error).__name__}: {error}"

async def until_given_back(used):
    with anyio.fail_after(30):
        while len(os.listdir("/proc/self/fd")) != used:
            await anyio.sleep(0.01)

async def main():
    workspace = Workspace(sys.argv[1] + "/ws", env={}, state_dir=sys.argv[1] + "/state")
    await workspace.commands.run("true")
    await anyio.sleep(1)  # until the watchdog is gone
    used = len(os.listdir("/proc/self/fd"))
    await (await workspace.commands.start("true")).wait(30)
    await until_given_back(used)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for room in (1, 4, 6, 8):
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + room - 1, hard))
        print(await attempt(workspace.commands.run("true")), await attempt(workspace.commands.start("exit")), sep="\\n")
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for shell in workspace.commands.shells:
            await shell.wait(30)
        await until_given_back(used)
    assert (await workspace.commands.run("echo fine")).output.text == "fine\\n"
    await workspace.close()

anyio.run(main, backend=sys.argv[2])
"""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_without_descriptors_an_error_comes_back_nothing_leaks_and_it_works_again(tmp_path: Path, backend: str) -> None:
    (tmp_path / "ws").mkdir()
    program = [sys.executable, "-c", NO_DESCRIPTORS, str(tmp_path), backend]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = set(done.stdout.splitlines()) - {"None"}
    assert lines
    assert all("Too many open files" in line for line in lines), lines


# Once with processes, so that everything is loaded; then as a user for whom the limit holds, who need not be able to read our
# modules. A thread is a process too.
NO_PROCESSES = """
import anyio, os, random, resource, sys
from toolwright.workspace import Workspace, WorkspaceError

async def main(base, processes):
    workspace = Workspace(base + "/ws", env={}, state_dir=base + "/state")
    ways = {
        "command": lambda: workspace.commands.run("true"),
        "background": lambda: workspace.commands.start("true"),
        "hook": lambda: workspace.commands.exchange("true", stdin=b"", on_output=len),
        "look": lambda: workspace.with_folder(".", lambda folder: None),
    }
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    resource.setrlimit(resource.RLIMIT_NPROC, (processes, hard))
    for name, way in ways.items():
        try:
            await way()
            print(name, "worked")
        except (OSError, WorkspaceError) as error:
            print(name, error)
    resource.setrlimit(resource.RLIMIT_NPROC, (soft, hard))
    for way in ways.values():
        await way()
    print((await workspace.commands.run("echo fine")).output.text)
    await workspace.close()

first, second, user, backend = sys.argv[1:]
anyio.run(main, first, resource.getrlimit(resource.RLIMIT_NPROC)[0], backend=backend)
if user:
    os.setgroups([]); os.setgid(int(user)); os.setuid(int(user))
anyio.run(main, second, 0, backend=backend)
"""


def test_without_processes_an_error_comes_back_and_it_works_again(tmp_path: Path, anyio_backend_name: str) -> None:
    (tmp_path / "ws").mkdir()
    user = NOBODY if os.geteuid() == 0 else None  # the limit does not hold for root
    with tempfile.TemporaryDirectory() as second:  # others can get there
        os.mkdir(f"{second}/ws")
        for folder in (second, f"{second}/ws") if user else ():
            os.chown(folder, NOBODY, NOBODY)
        argv = [sys.executable, "-c", NO_PROCESSES, str(tmp_path), second, str(user or ""), anyio_backend_name]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded, limited = done.stdout.split("fine\n\n")[:2]
    assert loaded.count("worked") == 4, loaded
    lines = dict(line.split(" ", 1) for line in limited.splitlines())
    assert lines.keys() == {"command", "background", "hook", "look"}
    if anyio_backend_name == "trio" and lines["look"] == "worked":
        del lines["look"]  # trio keeps threads, so one of the first round may have done it
    assert all("Resource temporarily unavailable" in line for line in lines.values()), lines
    assert all(lines[name].startswith("The command could not be started: ") for name in ("command", "background", "hook")), (
        lines
    )
    assert done.stdout.endswith("fine\n\n")


KILLED = """
import anyio, os, sys
from toolwright.workspace import Workspace

async def main():
    workspace = Workspace(sys.argv[1] + "/ws", env={}, state_dir=sys.argv[1] + "/state")
    if sys.argv[2] == "background":
        await workspace.commands.start(sys.argv[3])
    else:
        await workspace.commands.run(sys.argv[3])
        await anyio.sleep(1)  # until the watchdog is gone
    print("ready", flush=True)
    await anyio.sleep_forever()

anyio.run(main, backend=sys.argv[4])
"""


async def test_when_the_runtime_is_killed_its_background_commands_end_at_once(tmp_path: Path, anyio_backend_name: str) -> None:
    marker = new_marker()
    (tmp_path / "ws").mkdir()
    program = [sys.executable, "-c", KILLED, str(tmp_path), "background", TREE.format(m=marker), anyio_backend_name]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            await tree_stands(marker)
        finally:
            process.kill()
    await no_more(marker)


async def test_what_other_commands_of_a_killed_runtime_left_ends_when_the_next_session_starts(tmp_path: Path) -> None:
    marker = new_marker()
    (tmp_path / "ws").mkdir()
    left = f"(env -i setsid sh -c 'trap \"\" TERM; sleep {marker}; true' </dev/null >/dev/null 2>&1 &)"
    program = [sys.executable, "-c", KILLED, str(tmp_path), "foreground", left, "asyncio"]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.kill()
    assert running(marker)
    make_workspace(tmp_path)
    await no_more(marker)
    assert not os.listdir(tmp_path / "state/toolwright-temporary")


async def test_a_sweep_leaves_the_commands_of_living_sessions_alone(tmp_path: Path) -> None:
    async with workspace_in(tmp_path) as workspace:
        shell = await workspace.commands.start("exec sleep 1000")
        workspace.temporaries.sweep()
        assert not await shell.wait(0.1)
