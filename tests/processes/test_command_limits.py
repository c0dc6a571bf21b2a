"""Commands of a session run into their limits: each ends, the limit is named, and the session goes on."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from support_limits import NO_LIMITS, needs_cgroup, needs_memory_group
from support_tools import error_of, make_workspace, text_of
from toolwright.processes.cgroup_location import find_place
from toolwright.processes.command_limits import holds_more
from toolwright.processes.resource_limits import ChildLimits

pytestmark = pytest.mark.anyio

HOGS = [
    ({"cpu_seconds": 1}, "while :; do :; done", "1 seconds of processor time"),
    ({"memory_mb": 300}, f"{sys.executable} -c 'x = bytearray(1 << 30)'", "300 MB of memory"),
    ({"file_size_mb": 1}, "head -c 5000000 /dev/zero > big", "1 MB for one file"),
    ({"open_files": 60}, f"{sys.executable} -c 'x = [open(\"/dev/null\") for _ in range(99)]'", "60 open files"),
]


@pytest.mark.parametrize(("limits", "command", "words"), HOGS, ids=[next(iter(limits)) for limits, *_ in HOGS])
async def test_a_hog_is_stopped_and_named(tmp_path: Path, limits: dict[str, int], command: str, words: str) -> None:
    workspace = make_workspace(tmp_path, limits=ChildLimits(**limits))
    said = await error_of("Bash", workspace, command=command)
    assert words in said
    assert "sandbox.limits." in said
    assert await text_of("Bash", workspace, command="echo still here") == "still here"
    await workspace.close()


GROUP = (
    "$(sed -n 's,^.*:pids:,/sys/fs/cgroup/pids,p' /proc/self/cgroup)"
    if (place := find_place()) is not None and place.version == 1
    else "$(sed -n 's,^0::,/sys/fs/cgroup,p' /proc/self/cgroup)"
)


def groups() -> set[str]:
    place = find_place()
    assert place is not None
    mine = f"-{os.getpid()}-"
    names = (name for path in (place.path, place.memory_path) if path for name in os.listdir(path))
    return {name for name in names if name.startswith("toolwright-") and mine in name}


@needs_cgroup
async def test_a_fork_bomb_is_stopped_and_named(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path, limits=ChildLimits(processes=24))
    check = f'group={GROUP}; [ "$(cat $group/pids.max)" = 24 ] || exit 99'  # nothing forks unless the limit is in force
    bomb = "bomb() { bomb | bomb & }; { bomb; until [ ${n:-0} -gt 0 ]; do read -r _ n < $group/pids.events; done; } 2>/dev/null"
    said = await error_of("Bash", workspace, command=f"{check}; {bomb}; exit 1", timeout=60_000)
    assert "24 processes and threads" in said
    assert await text_of("Bash", workspace, command="echo still here") == "still here"
    await workspace.close()
    assert groups() == set()


@needs_cgroup
async def test_a_process_that_got_away_from_its_parents_and_its_mark_ends_with_the_session(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    flight = "ulimit -S -x unlimited; setsid bash -c 'sleep 600 & echo $! > pid; sleep 600' >/dev/null 2>&1 &"
    away = f"({flight}); until [ -s pid ]; do :; done"
    await text_of("Bash", workspace, command=away)
    pid = int((tmp_path / "ws" / "pid").read_text())
    assert os.path.exists(f"/proc/{pid}")
    await workspace.close()
    assert not is_running(pid)
    assert groups() == set()


# memory of a whole command

TREE = """
import os, time
for _ in range(10):
    if os.fork() == 0:
        kept = bytearray(b"x") * (50 << 20)
        open("taken", "a").write("x")
        time.sleep(20)
        os._exit(0)
for _ in range(10):
    if os.waitstatus_to_exitcode(os.wait()[1]) == -9:
        os._exit(3)
"""
MEMFD = """
import os
file = os.memfd_create("hoard")
for _ in range(1000):
    os.write(file, b"x" * (1 << 20))
print("all of it")
"""
MANY_MEMFDS = """
import os
files = [os.memfd_create("hoard") for _ in range(100)]
for file in files:
    os.write(file, b"x" * (10 << 20))
print("all of it")
"""
SHARED = """
import mmap
kept = [mmap.mmap(-1, 100 << 20) for _ in range(10)]
for each in kept:
    each.write(b"x" * (100 << 20))
print("all of it")
"""
IN_SHM = """
with open("/dev/shm/toolwright-test-hoard", "wb") as file:
    for _ in range(1000):
        file.write(b"x" * (1 << 20))
print("all of it")
"""
LIFTED = "import resource; resource.setrlimit(resource.RLIMIT_DATA, (-1, -1)); kept = b'x' * (1 << 30); print('all of it')"
HOARDS = {"ten processes": TREE, "memfd": MEMFD, "many memfds": MANY_MEMFDS, "shared memory": SHARED, "/dev/shm": IN_SHM}


@needs_memory_group
@pytest.mark.parametrize("program", [*HOARDS.values(), LIFTED], ids=[*HOARDS, "without its rlimit"])
async def test_memory_is_bounded_for_the_whole_command_however_it_is_taken(program: str, tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path, limits=ChildLimits(memory_mb=200))
    (tmp_path / "ws" / "hoard.py").write_text(program)
    try:
        said = await error_of("Bash", workspace, command=f"{sys.executable} hoard.py", timeout=60_000)
        assert "all of it" not in said
        assert "200 MB of memory" in said
        assert await text_of("Bash", workspace, command="echo still here") == "still here"
    finally:
        Path("/dev/shm/toolwright-test-hoard").unlink(missing_ok=True)
        await workspace.close()
    assert groups() == set()


@needs_memory_group
async def test_a_command_may_take_what_its_limit_allows(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path, limits=ChildLimits(memory_mb=1200))
    (tmp_path / "ws" / "hoard.py").write_text(TREE.replace("time.sleep(20)", "time.sleep(0.1)"))
    try:
        await text_of("Bash", workspace, command=f"{sys.executable} hoard.py")
        assert (tmp_path / "ws" / "taken").read_text() == "x" * 10
    finally:
        await workspace.close()


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


@needs_cgroup
async def test_a_session_that_ran_commands_leaves_no_group(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    for _ in range(3):
        await workspace.commands.run("true")
    await workspace.close()
    assert groups() == set()


async def test_a_full_scratch_folder_ends_the_command_that_fills_it(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path, limits=ChildLimits(scratch_mb=2))
    shown = await text_of("Bash", workspace, command="head -c 200000 /dev/zero | tr '\\0' x")
    assert "output shortened" in shown  # now there is a scratch folder
    folder = next(path for path in workspace.roots if "scratch" in path)
    said = await error_of("Bash", workspace, command=f"head -c 4000000 /dev/urandom > {folder}/big; sleep 600")
    assert "2 MB for it" in said
    assert "sandbox.limits.scratchMb" in said
    os.unlink(f"{folder}/big")
    assert await text_of("Bash", workspace, command="echo still here") == "still here"
    await workspace.close()


async def test_no_limits_at_all_are_possible(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path, limits=NO_LIMITS)
    said = await text_of("Bash", workspace, command="ulimit -t; ulimit -d")
    assert said.split() == ["unlimited", "unlimited"]
    await workspace.close()


async def test_background_commands_are_limited_too(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path, limits=ChildLimits(open_files=61))
    shell = await workspace.commands.start("ulimit -n; ulimit -H -n")
    assert await shell.wait(30)
    assert Path(shell.log.path).read_text() == "61\n61\n"
    await workspace.close()


async def test_a_limit_that_a_background_command_ran_into_is_named(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path, limits=ChildLimits(file_size_mb=1))
    shell = await workspace.commands.start("head -c 5000000 /dev/zero > big")
    assert await shell.wait(30)
    assert "1 MB for one file" in shell.notices[0]
    assert "1 MB for one file" in await text_of("BashOutput", workspace, bash_id=shell.id)
    await workspace.close()


async def test_a_full_scratch_folder_ends_background_commands(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path, limits=ChildLimits(scratch_mb=2))
    shell = await workspace.commands.start("head -c 4000000 /dev/urandom | base64 -w 0; sleep 600")
    assert await shell.wait(60)
    assert shell.problem is not None
    assert "sandbox.limits.scratchMb" in shell.problem
    await workspace.close()


async def test_hooks_are_limited_too(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path, limits=ChildLimits(open_files=62))
    answer = await workspace.commands.exchange("cat; ulimit -H -n", stdin=b"asked ", on_output=lambda piece: None)
    assert (answer.text, answer.exit_code) == ("asked 62\n", 0)
    await workspace.close()


def test_what_a_folder_holds_is_counted_without_following_links(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "file").write_bytes(os.urandom(100_000))
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "away").symlink_to("/usr")
    assert holds_more(str(tmp_path), 100_000)
    assert not holds_more(str(tmp_path), 1_000_000)
    assert not holds_more(str(tmp_path / "missing"), 1)


def test_very_many_empty_files_count(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / str(number)).touch()
    assert holds_more(str(tmp_path), 1_000_000)
