"""A native `Task.cancel()` at any await of connect, turn and close leaves nothing behind, and close can be called again.

Every task of the loop is stepped through; at the chosen step of any of them the caller's own task is cancelled. That is where
`asyncio.timeout`, `wait_for` and `TaskGroup` cancel: no scope of anyio's knows about it. `TOOLWRIGHT_EVERY_PLACE=1` tries all
places; otherwise some of each phase are.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Generator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support_client import children, living_tasks, open_descriptors
from support_contract import Conversation, Setting, in_this_process, our_command
from toolwright.client import ClaudeSDKClient, query
from toolwright.types import ClaudeAgentOptions

PHASES = ("connect", "turn", "close")
TRIES = 4
"""How many places of each phase are tried, unless all are."""
SHELL = "exec sleep 98765"
WORK = Conversation(
    "both kinds of commands",
    (
        {"tool": "Bash", "input": {"command": SHELL, "run_in_background": True}},
        {"tool": "Bash", "input": {"command": "sleep 0.05"}},
        {"text": "done"},
    ),
    (),
    (),
    {"allowed_tools": ["Bash"]},
)


class Places:
    """Counts the awaits of all tasks, phase by phase, and cancels `victim` at one of them."""

    def __init__(self, chosen: tuple[str, int] | None = None) -> None:
        self.counts = dict.fromkeys(PHASES, 0)
        self.phase = ""
        self.victim: asyncio.Task[Any] | None = None
        self.was_hit = False
        self._chosen = chosen

    def make_task(
        self, loop: asyncio.AbstractEventLoop, work: Generator[Any, None, Any] | Coroutine[Any, Any, Any], **how: Any
    ) -> asyncio.Task[Any]:
        return asyncio.Task(self._run(work), loop=loop, **how)

    async def _run(self, work: Any) -> Any:
        return await _Stepped(work, self._count)

    def _count(self) -> None:
        if self.phase:
            self.counts[self.phase] += 1
            if self._chosen == (self.phase, self.counts[self.phase]) and self.victim is not None:
                self.was_hit = self.victim.cancel()


class _Stepped:
    """Awaits a coroutine, telling of each of its awaits."""

    def __init__(self, work: Coroutine[Any, Any, Any], on_await: Any) -> None:
        self._work = work
        self._on_await = on_await

    def __await__(self) -> Generator[Any, Any, Any]:
        step: Any = partial(self._work.send, None)
        while True:
            try:
                waited_for = step()
            except StopIteration as end:
                return end.value
            self._on_await()
            try:
                given = yield waited_for
                step = partial(self._work.send, given)
            except BaseException as error:  # noqa: BLE001 — thrown on into the coroutine
                step = partial(self._work.throw, error)


async def hold(client: ClaudeSDKClient, places: Places) -> None:
    places.phase = "connect"
    async with client:
        places.phase = "turn"
        await client.query("go")
        async for _ in client.receive_response():
            pass
        places.phase = "close"


async def ask_once(options: ClaudeAgentOptions, places: Places) -> None:
    places.phase = "connect"
    async for message in query(prompt="go", options=options):
        places.phase = "turn" if type(message).__name__ != "ResultMessage" else "close"


async def attempt(setting: Setting, folder: Path, chosen: tuple[str, int] | None, *, once: bool) -> Places:
    folder.mkdir()
    places = Places(chosen)
    loop = asyncio.get_running_loop()
    async with setting(WORK, folder) as (options, _):
        before = (living_tasks(), open_descriptors(), children())
        client = ClaudeSDKClient(options)
        loop.set_task_factory(places.make_task)
        try:
            work = ask_once(options, places) if once else hold(client, places)
            places.victim = asyncio.create_task(work)
            with suppress(asyncio.CancelledError):
                await places.victim
        finally:
            places.phase = ""
            loop.set_task_factory(None)
        if places.was_hit:
            assert places.victim.cancelled(), "a cancel was swallowed"
        await client.disconnect()
        await assert_nothing_left(before, f"{setting.__name__}, cancelled at {chosen}")
    return places


async def assert_nothing_left(before: tuple[int, set[str], set[int]], where: str) -> None:
    left: list[object] = []
    for _ in range(50):
        left = [living_tasks() - before[0], open_descriptors() - before[1], children() - before[2], shells()]
        if left[0] == 0 and not any(left[1:]):
            return
        await asyncio.sleep(0.02)
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    raise AssertionError(f"{where}: left are tasks, descriptors, children, shells {left}, {tasks}")


def shells() -> list[str]:
    """The background commands of this test that run, whoever their parent is; the zombies of others do not count."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            if Path(f"/proc/{name}/cmdline").read_bytes() == b"sleep\0" + SHELL.split()[-1].encode() + b"\0":
                found.append(name)
    return found


def chosen_places(counts: dict[str, int]) -> list[tuple[str, int]]:
    every = os.environ.get("TOOLWRIGHT_EVERY_PLACE") == "1"
    return [
        (phase, place)
        for phase, count in counts.items()
        for place in range(1, count + 1, 1 if every else max(1, count // TRIES))
    ]


@pytest.mark.parametrize("once", [False, True], ids=["client", "query"])
@pytest.mark.parametrize("setting", [in_this_process, our_command], ids=["in this process", "our command"])
def test_a_native_cancel_at_any_await_leaves_nothing(setting: Setting, tmp_path: Path, *, once: bool) -> None:
    async def all_of_them() -> tuple[int, int]:
        counted = await attempt(setting, tmp_path / "counted", None, once=once)
        chosen = chosen_places(counted.counts)
        hits = 0
        for number, place in enumerate(chosen):
            hits += (await attempt(setting, tmp_path / str(number), place, once=once)).was_hit
        print(f"{sum(counted.counts.values())} places {counted.counts}, {len(chosen)} tries, {hits} cancels: nothing left")
        return len(chosen), hits

    tries, hits = asyncio.run(all_of_them())
    assert hits > tries / 2  # the length of a run varies a little, so that some come too late


@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.01])
def test_a_timeout_on_disconnect_ends_everything_first(tmp_path: Path, seconds: float) -> None:
    async def disconnect_in_a_hurry() -> None:
        async with in_this_process(WORK, tmp_path) as (options, _):
            before = (living_tasks(), open_descriptors(), children())
            client = ClaudeSDKClient(options)
            await client.connect("go")
            _ = [message async for message in client.receive_response()]
            assert shells()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(seconds):
                    await client.disconnect()
            await client.disconnect()
            await assert_nothing_left(before, f"timeout after {seconds}")

    asyncio.run(disconnect_in_a_hurry())
