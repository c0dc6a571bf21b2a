from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import fields, replace

from support_limits import NO_LIMITS, run_bash
from toolwright.processes.limit_notices import GroupEvents, explain_limit, scratch_notice
from toolwright.processes.resource_limits import (
    SETTINGS_KEYS,
    UNSET_EXIT_CODE,
    ChildLimits,
    chosen_limits,
    limit_words,
    lowered,
    machine_threads,
)

FORKER = """
import os, signal, sys, time
made, enough = [], int(sys.argv[1])
try:
    while len(made) < enough:
        pid = os.fork()
        if pid == 0:
            time.sleep(60)
            os._exit(0)
        made.append(pid)
finally:
    print("made", len(made), flush=True)
    for pid in made:
        os.kill(pid, signal.SIGKILL)
"""


def test_a_processor_hog_ends_and_is_named() -> None:
    limits = replace(NO_LIMITS, cpu_seconds=1)
    code, output = run_bash(limit_words(limits) + "while :; do :; done")
    notice = explain_limit(code, output, limits)
    assert code == 152
    assert notice is not None
    assert "1 seconds of processor time" in notice
    assert "sandbox.limits.cpuSeconds" in notice


def test_a_processor_hog_that_ignores_the_warning_ends_too() -> None:
    words = limit_words(replace(NO_LIMITS, cpu_seconds=1)).replace("-t 6", "-t 2")
    code, _ = run_bash(words + "trap '' XCPU; while :; do :; done")
    assert code == 137


def test_a_memory_hog_gets_no_more_and_is_named() -> None:
    limits = replace(NO_LIMITS, memory_mb=300)
    code, output = run_bash(limit_words(limits) + f"exec {sys.executable} -c 'x = bytearray(1 << 30)'")
    notice = explain_limit(code, output, limits)
    assert (code, "MemoryError" in output) == (1, True)
    assert notice is not None
    assert "300 MB of memory" in notice


def test_what_needs_address_space_by_design_can_lift_the_soft_limit_on_memory() -> None:
    words = limit_words(replace(NO_LIMITS, memory_mb=300))
    code, output = run_bash(
        words + f"ulimit -S -d unlimited; exec {sys.executable} -c 'import mmap; mmap.mmap(-1, 1 << 30, 34)'"
    )
    assert (code, output) == (0, "")


def test_a_file_does_not_grow_beyond_its_limit(tmp_path: Path) -> None:
    limits = replace(NO_LIMITS, file_size_mb=1)
    code, output = run_bash(limit_words(limits) + "head -c 9000000 /dev/zero > big", cwd=tmp_path)
    notice = explain_limit(code, output, limits)
    assert (tmp_path / "big").stat().st_size == 1 << 20
    assert notice is not None
    assert "1 MB for one file" in notice


def test_a_hog_of_descriptors_is_stopped_and_named() -> None:
    limits = replace(NO_LIMITS, open_files=64)
    code, output = run_bash(limit_words(limits) + f"exec {sys.executable} -c 'x = [open(\"/dev/null\") for _ in range(100)]'")
    notice = explain_limit(code, output, limits)
    assert code == 1
    assert notice is not None
    assert "64 open files" in notice


@pytest.mark.skipif(sys.platform != "linux", reason="counts by /proc/loadavg")
def test_a_user_who_is_not_root_cannot_fork_without_end() -> None:
    limits = replace(NO_LIMITS, processes=40)
    most = machine_threads() + 300
    guard = f"[ $(ulimit -H -u) -le {most} ] && [ $EUID != 0 ] || exit 99; "  # nothing forks unless the limit is in force
    python = shutil.which("python3", path="/usr/bin:/bin")
    if python is None:
        pytest.skip("no python3 that another user can run")
    code, output = run_bash(limit_words(limits) + guard + f"exec {python} -c {shlex.quote(FORKER)} {most}", as_nobody=True)
    if code == 99:
        pytest.skip("cannot be another user than root here")
    notice = explain_limit(code, output, limits)
    made = int(output.partition("made ")[2].split()[0])
    assert 0 < made < most
    assert notice is not None
    assert "40 processes and threads" in notice


def test_limits_only_tighten() -> None:
    check = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (50, 60))\n"
        "from msgspec.structs import fields, replace\n"
        "from toolwright.processes.resource_limits import ChildLimits, limit_words\n"
        "none = dict(cpu_seconds=0, memory_mb=0, processes=0, file_size_mb=0)\n"
        "print(repr(limit_words(ChildLimits(open_files=100, **none))))\n"
        "print(limit_words(ChildLimits(open_files=55, **none)))\n"
    )
    lines = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[0] == "''"
    assert lines[1].startswith("ulimit -H -n 55 ||")


def test_no_limits_are_no_words() -> None:
    assert limit_words(NO_LIMITS) == ""
    assert " -d " not in limit_words(ChildLimits(), memory_in_group=True)


def test_nothing_runs_where_the_limits_cannot_be_set() -> None:
    script = "ulimit() { return 1; }; " + limit_words(ChildLimits()) + "echo ran"
    code, output = run_bash(script)
    assert (code, "ran\n" in output.replace("was run.", "")) == (UNSET_EXIT_CODE, False)


# what the defaults must let through

MAKEFILE = """
objects := $(addsuffix .o,a b c d e f)
all: program
program: $(objects) ; gcc -o $@ main.c $^
%.o: %.c ; gcc -g -O1 -c -o $@ $<
"""


@pytest.mark.skipif(not (shutil.which("gcc") and shutil.which("make")), reason="gcc and make are not installed")
def test_a_parallel_build_survives_the_defaults(tmp_path: Path) -> None:
    for name in "abcdef":
        (tmp_path / f"{name}.c").write_text(f'#include <stdio.h>\nint {name}(void) {{ return printf("%d", {ord(name)}); }}\n')
    (tmp_path / "main.c").write_text("int a(void); int main(void) { return a() == 0; }\n")
    (tmp_path / "Makefile").write_text(MAKEFILE)
    code, output = run_bash(limit_words(ChildLimits()) + "make -s -j4 && ./program", cwd=tmp_path)
    assert (code, output) == (0, "97")


@pytest.mark.parametrize(
    ("program", "line"),
    [
        ("git", "git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m x && git log --format=%s"),
        ("node", "node -e 'console.log(\"x\")'"),
        ("java", "java -version"),
        (sys.executable, f"{sys.executable} -m compileall -q -j2 . && echo x"),
    ],
)
def test_a_tool_survives_the_defaults(tmp_path: Path, program: str, line: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    (tmp_path / "module.py").write_text("x = 1\n")
    code, output = run_bash(limit_words(ChildLimits()) + line, cwd=tmp_path)
    assert (code, bool(output)) == (0, True), output


# names


@pytest.mark.parametrize(
    ("code", "tail", "words"),
    [
        (1, "bash: fork: retry: Resource temporarily unavailable", "processes and threads"),
        (1, "RuntimeError: can't start new thread", "processes and threads"),
        (1, "OSError: [Errno 24] Too many open files", "open files"),
        (1, "java.lang.OutOfMemoryError: Java heap space", "MB of memory"),
        (153, "", "MB for one file"),
        (152, "", "seconds of processor time"),
    ],
)
def test_how_programs_say_it_is_understood(code: int, tail: str, words: str) -> None:
    notice = explain_limit(code, tail, ChildLimits())
    assert notice is not None
    assert words in notice
    assert explain_limit(code, tail, NO_LIMITS) is None


def test_what_the_kernel_counted_comes_first() -> None:
    notice = explain_limit(137, "Too many open files", ChildLimits(memory_mb=77), events=GroupEvents(killed_for_memory=1))
    assert notice is not None
    assert "77 MB of memory" in notice


@pytest.mark.parametrize(("code", "tail"), [(0, "Too many open files"), (1, "no such file"), (137, "Killed")])
def test_no_limit_is_named_that_was_not_hit(code: int, tail: str) -> None:
    assert explain_limit(code, tail, ChildLimits(), events=GroupEvents()) is None


def test_a_full_scratch_folder_is_named() -> None:
    assert "sandbox.limits.scratchMb" in scratch_notice(ChildLimits(scratch_mb=5))
    assert "5 MB" in scratch_notice(ChildLimits(scratch_mb=5))


# choice


def test_what_is_said_changes_what_it_names() -> None:
    assert chosen_limits({"processes": 7, "memory_mb": 0, "open_files": None}) == replace(
        ChildLimits(), processes=7, memory_mb=0
    )
    assert set(SETTINGS_KEYS.values()) == {each.name for each in fields(ChildLimits)}


def test_caps_only_lower() -> None:
    limits = ChildLimits(processes=100, open_files=50, cpu_seconds=0)
    capped = lowered(limits, {"processes": 7, "open_files": 60, "cpu_seconds": 9, "memory_mb": 0, "scratch_mb": None})
    assert capped == replace(limits, processes=7, cpu_seconds=9)
