"""When the runtime is killed, the command it was waiting for ends as well: enclosed or not, and also what left its session."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from support_sandbox import need, visible_folder
from support_tools import running

pytestmark = pytest.mark.anyio

KILLS = int(os.environ.get("TOOLWRIGHT_KILLS", "2"))
"""For each way to run a command."""
PROGRAM = """
import anyio, os, sys
sys.path.insert(0, os.path.dirname(sys.argv[5]))
from toolwright.workspace import Workspace

folder, command, way, backend = sys.argv[1:5]

async def main():
    workspace = Workspace(folder + "/ws", env={}, state_dir=folder + "/state")
    if way.startswith("sandboxed"):
        from support_sandbox import mechanism_named
        from toolwright.sandbox.policy import FilesystemWishes, NetworkWishes, PermissionPaths, sandbox_rules
        rules = sandbox_rules(folder + "/ws", [], home=folder + "/home", secrets=(), filesystem=FilesystemWishes(),
                              network=NetworkWishes(), permissions=PermissionPaths())
        workspace.commands.enclose(mechanism_named(way.split()[1], folder + "/register"), lambda: rules)
    if way.startswith("caged"):
        from toolwright.sandbox.readable_places import readable_places
        from toolwright.sandbox.cage.cage import CageRules
        os.environ["TOOLWRIGHT_CAGE"] = way.split()[1]
        rules = CageRules((folder + "/ws",), tuple(readable_places(os.environ, folder + "/home")), folder + "/home")
        workspace.commands.cage_by(lambda: rules)
    print("ready", flush=True)
    if way == "hook":
        await workspace.commands.exchange(command, stdin=b"", on_output=lambda piece: None)
    else:
        result = await workspace.commands.run(command, caged=way.startswith("caged"))
        print(result.output.text, flush=True)

anyio.run(main, backend=backend)
"""
WAYS = ("plain", "hook", "sandboxed bubblewrap", "sandboxed Landlock", "caged bubblewrap", "caged Landlock")


async def gone_within(marker: str, seconds: float) -> list[str]:
    deadline = time.monotonic() + seconds
    while (left := running(marker)) and time.monotonic() < deadline:
        await anyio.sleep(0.02)
    return left


def started(folder: Path, way: str, backend: str, marker: str) -> subprocess.Popen[bytes]:
    command = f"(setsid sleep {marker} &) ; trap '' TERM; sleep {marker}; true"
    program = [sys.executable, "-c", PROGRAM, str(folder), command, way, backend, str(Path(__file__).parent)]
    return subprocess.Popen(program, stdout=subprocess.PIPE)


@pytest.mark.parametrize("way", WAYS)
async def test_a_killed_runtime_leaves_no_command_running(way: str, anyio_backend_name: str) -> None:
    if " " in way:
        need(way.split()[1])
    longest = 0.0
    with visible_folder() as folder:
        (folder / "ws").mkdir()
        for number in range(KILLS):
            marker = f"{random.randrange(10**6, 10**7)}.{random.randrange(10**6)}"
            with started(folder, way, anyio_backend_name, marker) as process:
                assert process.stdout is not None
                assert process.stdout.readline() == b"ready\n"
                try:
                    if number % 2:  # in the middle of starting it
                        await anyio.sleep(random.uniform(0, 0.2))
                    else:
                        await stands(process, marker)
                finally:
                    killed = time.monotonic()
                    process.kill()
            assert await gone_within(marker, 10) == [], f"kill {number}"
            longest = max(longest, time.monotonic() - killed)
    print(f"{way}, {anyio_backend_name}: {KILLS} kills, nothing left after {longest:.2f} s at the latest")


async def stands(process: subprocess.Popen[bytes], marker: str) -> None:
    """Wait until both of its processes run."""
    with anyio.fail_after(60):
        while sum(line.startswith(f"sleep {marker}") for line in running(marker)) < 2:
            assert process.poll() is None
            await anyio.sleep(0.02)
