from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from support_limits import NO_LIMITS, needs_cgroup, needs_memory_group, run_bash
from toolwright.processes.cgroup_location import CgroupLocation, choose_place, find_place
from toolwright.processes.cgroups import CommandGroup, CommandGroups, make_group, sweep
from toolwright.processes.limit_notices import explain_limit
from toolwright.processes.resource_limits import UNSET_EXIT_CODE
from toolwright.processes.temp_files import Owner

FEW = replace(NO_LIMITS, processes=32)
IN_FORCE = 'grep -q "$(basename {path})" /proc/self/cgroup && [ "$(cat {path}/pids.max)" = 32 ] || exit 99; '


def few() -> CommandGroup:
    group = make_group(FEW)
    assert group is not None
    return group


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@needs_cgroup
@pytest.mark.parametrize("as_nobody", [False, True])
def test_a_fork_bomb_stays_within_its_group_and_is_ended_with_it(as_nobody: bool) -> None:
    group = few()
    try:
        # bash itself starts the bomb and then waits, without a fork, until the kernel has refused one
        bomb = "bomb() { bomb | bomb & }; sleep 600 & bomb"
        wait = f"until [ ${{refused:-0}} -gt 0 ]; do read -r _ refused < {group.path}/pids.events; done; exit 1"
        script = f"{group.words}{IN_FORCE.format(path=group.path)} {{ {bomb}; {wait}; }} >/dev/null 2>&1"
        code, output = run_bash(script, keep=group.doors, as_nobody=as_nobody, timeout=20)
        assert code != 99, output
        assert 0 < len(group.members()) <= 32
        notice = explain_limit(code or 1, output, FEW, events=group.events())
        assert notice is not None
        assert "32 processes and threads" in notice
        group.kill()
        wait_until(lambda: not group.members())
    finally:
        group.kill()
        group.shut()
        wait_until(group.remove)


@needs_cgroup
def test_the_door_is_shut_before_the_command_runs() -> None:
    with CommandGroups(FEW).one() as group:
        assert group is not None
        code, output = run_bash(group.words + f"echo $$ >&{group.door}", keep=[group.door])
    assert (code, "Bad file descriptor" in output) == (1, True)
    wait_until(group.remove)


@needs_cgroup
def test_nothing_runs_outside_a_group_that_cannot_be_entered() -> None:
    with CommandGroups(FEW).one() as group:
        assert group is not None
        code, output = run_bash(group.words + "echo in", keep=[])  # the door was not handed over
    assert code == UNSET_EXIT_CODE
    assert "nothing was run" in output


@needs_cgroup
def test_a_group_stays_as_long_as_something_runs_in_it() -> None:
    groups = CommandGroups(FEW)
    with groups.one() as group:
        assert group is not None
        run_bash(group.words + "setsid sleep 600 >/dev/null 2>&1 &", keep=[group.door])
    assert len(group.members()) == 1
    groups.close()
    wait_until(group.remove)


LEAVE = """
import os, subprocess
from toolwright.processes.cgroups import make_group
from toolwright.processes.resource_limits import ChildLimits
group = make_group(ChildLimits())
subprocess.run(["/bin/bash", "-c", group.words + "setsid sleep 600 >/dev/null 2>&1 & exit"], pass_fds=group.doors)
print(group.path, group.memory_path, flush=True)
os.kill(os.getpid(), 9)
"""


@needs_cgroup
def test_what_a_killed_process_left_is_ended_by_the_next() -> None:
    left = subprocess.run([sys.executable, "-c", LEAVE], capture_output=True, text=True, check=False).stdout.split()
    assert all(len(Path(path, "cgroup.procs").read_text().split()) == 1 for path in left)

    def swept() -> bool:
        for path in left:
            sweep(os.path.dirname(path))
        return not any(os.path.exists(path) for path in left)

    wait_until(swept)


def test_only_groups_of_ours_whose_owner_is_gone_are_swept(tmp_path: Path) -> None:
    gone = f"toolwright-{Owner.this_process().namespace}-{2**22 + 1}-1-00"
    names = (Owner.this_process().new_name("toolwright"), "user.slice", "other-1-2-3-00", gone)
    for name in names:
        (tmp_path / name).mkdir()
    sweep(str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == set(names) - {gone}


def test_nothing_to_limit_needs_no_group() -> None:
    assert make_group(NO_LIMITS) is None


def test_a_place_that_turns_out_not_to_be_one_gives_no_group(tmp_path: Path) -> None:
    assert make_group(FEW, CgroupLocation(str(tmp_path), 1, False)) is None
    assert list(tmp_path.iterdir()) == []


@needs_memory_group
def test_without_a_twin_for_memory_the_group_bounds_processes_all_the_same(tmp_path: Path) -> None:
    place = find_place()
    if place is None or not place.memory_path:
        pytest.skip("one tree for all controllers")
    group = make_group(replace(FEW, memory_mb=100), replace(place, memory_path=str(tmp_path)))
    assert group is not None
    assert not group.limits_memory
    group.shut()
    assert group.remove()


# finding the place


def unified(folder: Path, group: str, controllers: str) -> tuple[str, str]:
    """A tree that looks like version 2 below `folder`, with this process in `group`."""
    own = folder / group.lstrip("/")
    own.mkdir(parents=True, exist_ok=True)
    (own / "cgroup.procs").touch()
    (own / "cgroup.subtree_control").write_text(controllers)
    return f"30 23 0:26 / {folder} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n", f"0::{group}\n"


def test_a_group_that_hands_its_controllers_on_is_the_place(tmp_path: Path) -> None:
    texts = unified(tmp_path, "/service", "cpu memory pids\n")
    assert choose_place(*texts) == CgroupLocation(f"{tmp_path}/service", 2, True)
    assert choose_place(*unified(tmp_path, "/other", "pids")) == CgroupLocation(f"{tmp_path}/other", 2, False)


def test_a_group_that_hands_nothing_on_is_none(tmp_path: Path) -> None:
    assert choose_place(*unified(tmp_path, "/service", "cpu\n")) is None


def test_the_group_above_is_the_place_only_if_it_was_handed_to_us(tmp_path: Path) -> None:
    unified(tmp_path, "/service", "memory pids")
    texts = unified(tmp_path, "/service/main", "")
    assert choose_place(*texts) is None
    try:
        os.setxattr(tmp_path / "service", "user.delegate", b"1")
    except OSError:
        pytest.skip("no extended attributes here")
    assert choose_place(*texts) == CgroupLocation(f"{tmp_path}/service", 2, True)


def test_of_version_1_the_memory_tree_is_used_beside_the_one_for_pids(tmp_path: Path) -> None:
    for name in ("pids/own", "memory/z", "both/own"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "cgroup.procs").touch()
    trees = {kind: f"31 23 0:27 / {tmp_path}/{kind} rw - cgroup cgroup rw,{kind}\n" for kind in ("pids", "memory")}
    memberships = "5:memory:/z\n4:pids:/own\n0::/\n"
    found = CgroupLocation(f"{tmp_path}/pids/own", 1, True, f"{tmp_path}/memory/z")
    assert choose_place(trees["pids"] + trees["memory"], memberships) == found
    assert choose_place(trees["memory"], memberships) is None
    together = f"31 23 0:27 / {tmp_path}/both rw - cgroup cgroup rw,memory,pids\n"
    assert choose_place(together, "4:memory,pids:/own\n") == CgroupLocation(f"{tmp_path}/both/own", 1, True)


def test_of_version_1_the_pids_hierarchy_is_used(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "cgroup.procs").touch()
    mounts = f"31 23 0:27 /docker/x {tmp_path} rw - cgroup cgroup rw,pids\n32 23 0:28 / /nowhere rw - cgroup cgroup rw,memory\n"
    assert choose_place(mounts, "5:memory:/z\n4:pids:/docker/x/own\n0::/\n") == CgroupLocation(f"{tmp_path}/own", 1, False)
    assert choose_place(mounts, "4:pids:/docker/y\n") is None  # the mount does not show it
    assert choose_place(mounts, "4:pids:/docker/x/../own\n") is None


@pytest.mark.parametrize("texts", [("", ""), ("x - y", "z"), ("a b c d e - cgroup2 x y", "0::/")])
def test_texts_that_tell_nothing_give_no_place(texts: tuple[str, str]) -> None:
    assert choose_place(*texts) is None


def test_the_place_is_looked_for_once() -> None:
    assert find_place() is find_place()
