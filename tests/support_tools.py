"""For the tests of workspace and tools: a workspace in a temporary folder, and calls the way the runtime makes them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio

from toolwright.tools.base import ToolContext, ToolOutput
from toolwright.tools.registry import builtin_tools
from toolwright.workspace import Workspace

TOOLS = {tool.name: tool for tool in builtin_tools()}


def make_workspace(folder: Path, **options: Any) -> Workspace:
    """A workspace on `folder`/ws; its state goes to `folder`/state."""
    root = folder / "ws"
    root.mkdir(exist_ok=True)
    options = {"env": {}, "state_dir": str(folder / "state")} | options
    return Workspace(str(root), **options)


async def call(name: str, workspace: Workspace, /, **fields: Any) -> ToolOutput:
    """Parse, ask for the effects, run."""
    tool = TOOLS[name]
    parsed = tool.parse(fields)
    tool.effects(parsed, workspace)
    return await tool.run(parsed, ToolContext(workspace))


async def text_of(name: str, workspace: Workspace, /, **fields: Any) -> str:
    """The text of a call that must succeed."""
    output = await call(name, workspace, **fields)
    assert isinstance(output.content, str)
    assert output.is_error is None, output.content
    return output.content


async def error_of(name: str, workspace: Workspace, /, **fields: Any) -> str:
    """The text of a call that must fail."""
    output = await call(name, workspace, **fields)
    assert isinstance(output.content, str)
    assert output.is_error, output.content
    return output.content


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def watchdog_gone() -> None:
    """Wait until we have no child any more: after the last command the watchdog stays for a moment."""
    with anyio.fail_after(30):
        while True:
            try:
                os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            await anyio.sleep(0.02)


def running(marker: str) -> list[str]:
    """The command lines of processes that hold `marker`; zombies have none."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if marker in line and int(pid) != os.getpid():
            found.append(line)
    return found
