"""The cage, tried on this machine: five things it must stop, each judged by what happened on the host."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import ExitStack

from msgspec import Struct

from toolwright.processes.process_tree import find_tree
from toolwright.sandbox.cage.cage import CageRules
from toolwright.sandbox.system_places import system_places
from toolwright.workspace.workspace import Workspace

_SECRET = "a secret that only this probe knows"


class CageProbe(Struct, frozen=True):
    """One attempt, and whether it was stopped."""

    title: str
    held: bool


class _ProbeTarget(Struct, frozen=True):
    """What the attempts are about."""

    workspace: Workspace
    secret: str
    ear: socket.socket
    sleeper: subprocess.Popen[bytes]


async def probe_cage() -> list[CageProbe]:
    """Try it, in a folder and on a process of our own."""
    with ExitStack() as stack:
        stage = _set_up(stack)
        try:
            return await _tried(stage)
        finally:
            await stage.workspace.close()


def _set_up(stack: ExitStack) -> _ProbeTarget:
    base = os.path.realpath(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolwright-doctor-")))
    folder, secret = os.path.join(base, "work"), os.path.join(base, "secret")
    os.mkdir(folder)
    with open(secret, "w") as file:
        file.write(_SECRET)
    ear = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    ear.setblocking(False)
    sleeper = stack.enter_context(subprocess.Popen(["/bin/sleep", "60"], stdin=subprocess.DEVNULL))
    stack.callback(sleeper.kill)
    workspace = Workspace(folder, env={}, state_dir=os.path.join(base, "state"))
    rules = CageRules((folder,), system_places(base, os.environ), base)
    workspace.commands.cage_by(lambda: rules)
    return _ProbeTarget(workspace, secret, ear, sleeper)


async def _tried(stage: _ProbeTarget) -> list[CageProbe]:
    workspace, ear, sleeper = stage.workspace, stage.ear, stage.sleeper
    canary = os.path.join(workspace.home, "canary")

    async def run(command: str) -> str:
        return (await workspace.commands.run(command, timeout=20, caged=True)).output.text

    attempts: list[tuple[str, str, Callable[[str], bool]]] = [
        ("write a file in the working folder", "echo x > canary", lambda _: not os.path.lexists(canary)),
        ("read a file outside of it", f"cat {stage.secret}", lambda output: _SECRET not in output),
        ("reach a port of this machine", f"echo x > /dev/tcp/127.0.0.1/{ear.getsockname()[1]}", lambda _: not _is_dialed(ear)),
        ("end a process of this user", f"kill -9 {sleeper.pid}", lambda _: sleeper.poll() is None),
        ("leave a process running", "setsid -f sleep 60 >/dev/null 2>&1", lambda _: not find_tree(workspace.commands.mark)),
    ]
    return [CageProbe(title, held(await run(command))) for title, command, held in attempts]


def _is_dialed(ear: socket.socket) -> bool:
    try:
        ear.accept()[0].close()
    except BlockingIOError:
        return False
    return True
