"""What tests of the client share: the fake program as a file, the fake session behind a memory transport, and leak checks."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.lowlevel import current_token

import support_fake_cli
from support_fake_cli import FakeSession
from toolwright.protocol.memory import MemoryPeer, MemoryTransport, memory_transport_pair
from toolwright.types import AssistantMessage, Message, ResultMessage, SystemMessage, TextBlock


def write_program(folder: Path, source: str, *, name: str = "program") -> Path:
    """An executable Python script."""
    path = folder / name
    path.write_text(f"#!{sys.executable} -IS\n{source}")
    path.chmod(0o755)
    return path


def fake_cli(folder: Path) -> Path:
    return write_program(folder, Path(support_fake_cli.__file__).read_text(), name="fake-cli")


@asynccontextmanager
async def fake_transport(session: FakeSession | None = None) -> AsyncIterator[MemoryTransport]:
    """A memory transport with the fake session at its other end."""
    transport, peer = memory_transport_pair()
    async with anyio.create_task_group() as group:
        group.start_soon(_speak, session or FakeSession(), peer)
        try:
            yield transport
        finally:
            group.cancel_scope.cancel()


async def _speak(session: FakeSession, peer: MemoryPeer) -> None:
    async for frame in peer.frames():
        for answer in session.receive(frame):
            await peer.write(answer)
    peer.end()


def texts(messages: list[Message]) -> list[str]:
    """The words of a conversation: assistant texts, and results in brackets."""
    return [word for message in messages for word in _words(message)]


def _words(message: Message) -> list[str]:
    match message:
        case AssistantMessage(content=blocks):
            return [block.text for block in blocks if isinstance(block, TextBlock)]
        case ResultMessage():
            return [f"[{message.subtype}]"]
        case SystemMessage(subtype=subtype):
            return [f"<{subtype}>"]
    return []


# leaks


def open_descriptors() -> set[str]:
    gc.collect()
    return {f"{name} {_target(name)}" for name in os.listdir("/proc/self/fd") if _target(name)}


def _target(name: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{name}")
    except OSError:
        return ""


def children() -> set[int]:
    found: set[int] = set()
    for thread in os.listdir("/proc/self/task"):
        try:
            found.update(int(pid) for pid in Path(f"/proc/self/task/{thread}/children").read_text().split())
        except FileNotFoundError:
            continue  # the thread has ended meanwhile
    return found


def living_tasks() -> int:
    """How many tasks the event loop has, those of no task group included."""
    if type(current_token().native_token).__module__.startswith("trio"):
        import trio

        root = trio.lowlevel.current_root_task()
        return 0 if root is None else _count(root)
    import asyncio

    return len([task for task in asyncio.all_tasks() if not task.done()])


def _count(task: object) -> int:
    import trio

    assert isinstance(task, trio.lowlevel.Task)
    return 1 + sum(_count(child) for nursery in task.child_nurseries for child in nursery.child_tasks)


@asynccontextmanager
async def nothing_left() -> AsyncIterator[None]:
    """No task, descriptor or child more than before; a few steps of the loop are given to settle."""
    before = (living_tasks(), open_descriptors(), children())
    yield
    after = before
    for _ in range(100):
        await anyio.lowlevel.checkpoint()
        after = (living_tasks(), open_descriptors(), children())
        if after[0] <= before[0] and after[1] <= before[1] and after[2] <= before[2]:
            return
        await anyio.sleep(0.02)
    raise AssertionError(
        f"left behind: tasks {before[0]} → {after[0]}, {after[1] - before[1]}, children {after[2] - before[2]}"
    )
