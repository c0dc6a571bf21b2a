"""What commands cost beside a bare spawn of bash: `python benchmarks/shells.py [--quick] [--json FILE]`.

The first row goes through all that a model's call goes through; the others show where its time goes, what very many commands at
once take, and what the sandbox and its self-test cost. Rows and ratios are those of `tools.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path

import anyio
import tool_floors as floors
from report import aligned

from tools import Row, bash_row, pipeline, times
from toolwright.processes.resource_limits import ChildLimits
from toolwright.sandbox.backends.bubblewrap import find_bubblewrap
from toolwright.sandbox.policy import ProtectedNames
from toolwright.sandbox.probes.probes import PROBES
from toolwright.workspace import Workspace

AT_ONCE = 200
UNLIMITED = ChildLimits(cpu_seconds=0, memory_mb=0, processes=0, open_files=0, file_size_mb=0, scratch_mb=0)


@asynccontextmanager
async def workspace(folder: Path, limits: ChildLimits | None = None) -> AsyncIterator[Workspace]:
    made = Workspace(str(folder), env={}, state_dir=str(folder / ".state"), limits=limits)
    try:
        yield made
    finally:
        await made.close()


async def command_row(name: str, folder: Path, repeats: int, *, limits: ChildLimits | None = None) -> Row:
    """A command without the tool around it."""
    async with workspace(folder, limits) as door:

        async def ours() -> None:
            await door.commands.run("true")

        return await times(name, 2, lambda: floors.run(floors.SHELL, folder), ours, repeats=repeats)


# the sandbox


def bare_sandbox(program: str, folder: Path) -> list[str]:
    """bubblewrap and bash with the same namespaces, and nothing that is protected or hidden."""
    alone = ("user", "pid", "net", "ipc", "uts")
    return [
        *(program, *(f"--unshare-{each}" for each in alone), "--unshare-cgroup-try", "--disable-userns", "--die-with-parent"),
        *("--new-session", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *("--ro-bind", "/proc/sys", "/proc/sys", "--tmpfs", "/tmp", "--bind", str(folder), str(folder)),
        *("--chdir", str(folder), "--", *floors.SHELL),
    ]


def covered_sandbox(program: str, folder: Path) -> list[str]:
    """The same, with a cover over each protected name that is not there, as the recipe for a sandbox has it."""
    plain = bare_sandbox(program, folder)
    names = ProtectedNames().of_top(is_home=False)
    for name in names:
        (folder / name).touch()
    covers = [part for name in names for part in ("--ro-bind", "/dev/null", str(folder / name))]
    at = plain.index("--chdir")
    return [*plain[:at], *covers, *plain[at:]]


async def sandbox_rows(folder: Path, repeats: int) -> list[Row]:
    program = find_bubblewrap()
    if program is None:
        return []
    beside = folder / "covered"
    beside.mkdir()
    (folder / "sandboxed").mkdir()
    floor, covered = bare_sandbox(program, folder), covered_sandbox(program, beside)
    async with pipeline(folder / "sandboxed", sandbox={"enabled": True}) as call:

        async def ours() -> None:
            await call("Bash", command="true")

        row = await times("Bash, true, sandboxed", 2, lambda: floors.run(covered, beside), ours, repeats=repeats)
        other = await times("  beside bwrap without covers", 2, lambda: floors.run(floor, folder), ours, repeats=repeats)
        return [row, replace(other, goal="-", met=True)]


async def cage_rows(folder: Path, repeats: int) -> list[Row]:
    """Commands that run unasked, in the cage, beside a bare spawn of bash with the same line."""
    inside = folder / "caged"
    inside.mkdir()
    subprocess.run(["git", "init", "-q", str(inside)], check=True)
    (inside / "a.txt").write_text("needle\n")
    rows = []
    async with pipeline(inside) as call:
        for line in ("true", "ls", "git status", "grep -n needle a.txt"):
            bare = [*floors.SHELL[:-1], line]

            async def ours(line: str = line) -> None:
                await call("Bash", command=line)

            def floor(bare: list[str] = bare) -> None:
                floors.run(bare, inside)

            rows.append(await times(f"Bash, {line}, unasked in the cage", 2, floor, ours, repeats=repeats))
    async with workspace(inside) as door:

        async def uncaged() -> None:
            await door.commands.run("git status")

        floor_line = [*floors.SHELL[:-1], "git status"]
        rows.append(await times("  git status, not caged", 2, lambda: floors.run(floor_line, inside), uncaged, repeats=repeats))
    return [replace(row, goal="-", met=True) for row in rows]


async def self_test_row(folder: Path) -> Row:
    """The start of a session with a sandbox, without and with `selfTest`."""

    async def start(**more: bool) -> float:
        started = time.perf_counter()
        async with pipeline(folder, sandbox={"enabled": True, **more}):
            return time.perf_counter() - started

    await start()
    without, with_test = await start(), min([await start(selfTest=True) for _ in range(3)])
    return Row("start of a session, with selfTest", without, with_test, "-", True, f"{len(PROBES)} probes")


async def background_row(folder: Path, repeats: int) -> Row:
    """Very many commands in the background, until the last of them has ended."""

    def bare() -> None:
        started = [subprocess.Popen(floors.SHELL, cwd=folder, stdout=subprocess.DEVNULL) for _ in range(AT_ONCE)]
        for process in started:
            process.wait()

    async def ours() -> None:
        async with workspace(folder) as door:
            shells = [await door.commands.start("true") for _ in range(AT_ONCE)]
            for shell in shells:
                if not await shell.wait(60) or shell.exit_code != 0:
                    raise SystemExit(f"A background command ended with {shell.exit_code}: {shell.problem}")

    return await times(f"{AT_ONCE} background shells at once, true", 2, bare, ours, repeats=repeats)


async def run(quick: bool) -> list[Row]:
    repeats = 40 if quick else 200
    with tempfile.TemporaryDirectory(prefix="toolwright-shells-") as name:
        folder = Path(name).resolve()
        return [
            await bash_row(folder, repeats),
            await command_row("commands.run, true", folder, repeats),
            await command_row("commands.run, true, no limits", folder, repeats, limits=UNLIMITED),
            await background_row(folder, 3 if quick else 10),
            *await cage_rows(folder, repeats),
            *await sandbox_rows(folder, repeats),
            *([await self_test_row(folder / "sandboxed")] if find_bubblewrap() else []),
        ]


def main() -> int:
    parser = argparse.ArgumentParser(description="Commands beside a bare spawn of bash.")
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to this file too")
    options = parser.parse_args()
    started = time.monotonic()
    rows = anyio.run(run, options.quick)
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"medians; {time.monotonic() - started:.0f} s; load at the end {load}, {os.cpu_count()} cores\n")
    heads = ["", "floor ms", "ours ms", "ratio", "CPU ratio", "goal", "", ""]
    print(aligned([heads, *(row.cells() for row in rows)]))
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
