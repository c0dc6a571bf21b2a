"""The experiments, the same for every contender: each runs in a fresh process and prints one JSON object of numbers.

A contender is a script with `connect()`, an async context manager that gives a function `open_session`. `await open_session()`
gives a `Session`: `ask` sends a prompt and returns the final text, `close` ends it. The tool is always `add`, below. Nothing
here knows a contender.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from itertools import pairwise
from typing import Any, Protocol

from reading import Clock, children_kb, cpu_seconds, peak_kb, resident_kb

CLOSING = "The sum is 42."
WARM_UP = 3


class Session(Protocol):
    async def ask(self, prompt: str) -> str: ...

    async def close(self) -> None: ...


Opener = Callable[[], Awaitable[Session]]
Connect = Callable[[], AbstractAsyncContextManager[Opener]]

called: list[float] = []
"""The CPU clock at every call of the tool, while `growth` listens."""
listening = False
calls = 0


def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    global calls
    calls += 1
    if listening:
        called.append(time.process_time())
    return a + b


def prompt(turns: int) -> str:
    return f"Please add 19 and 23 for me. turns={turns}"


async def ask(session: Session, turns: int) -> None:
    """One prompt with that many tool turns; anything but the expected end stops the benchmark."""
    text = await session.ask(prompt(turns))
    if text != CLOSING:
        raise RuntimeError(f"expected the answer {CLOSING!r}, got {text!r}")


async def start(open_session: Opener, *, repeats: int) -> dict[str, Any]:
    """From nothing to the first result of a session: the first one of the process, then the median of the next ones."""
    walls, cpus = [], []
    for _ in range(repeats + 1):
        before = Clock.now()
        session = await open_session()
        await ask(session, 0)
        spent = Clock.now().since(before)
        walls.append(spent.wall)
        await session.close()
        cpus.append(cpu_seconds() - before.cpu)
    return {
        "start_cold_ms": walls[0] * 1e3,
        "start_warm_ms": statistics.median(walls[1:]) * 1e3,
        "start_warm_cpu_ms": statistics.median(cpus[1:]) * 1e3,
    }


async def turn(open_session: Opener, *, sessions: int, turns: int) -> dict[str, Any]:
    """A tool turn in one session at a time. Each session is fresh, and warmed by one prompt that is not measured."""
    spent = []
    for _ in range(WARM_UP + sessions if sessions > WARM_UP else sessions):
        session = await open_session()
        await ask(session, 1)
        before = Clock.now()
        await ask(session, turns)
        spent.append(Clock.now().since(before))
        await session.close()
    kept = spent[-sessions:]
    return {
        "turn_cpu_ms": statistics.median(one.cpu for one in kept) / turns * 1e3,
        "turn_wall_ms": statistics.median(one.wall for one in kept) / turns * 1e3,
    }


async def idle(open_session: Opener, *, sessions: int, before: int) -> dict[str, Any]:
    """What a live session holds in memory while it waits, after one tool turn: the growth by `sessions` after `before`."""
    live = [await _opened(open_session) for _ in range(before)]
    held = resident_kb() + children_kb()
    live += [await _opened(open_session) for _ in range(sessions)]
    held = resident_kb() + children_kb() - held
    for session in live:
        await session.close()
    return {"idle_kb": held / sessions, "idle_sessions": sessions}


async def _opened(open_session: Opener) -> Session:
    session = await open_session()
    await ask(session, 1)
    return session


async def crowd(open_session: Opener, *, sessions: int, turns: int) -> dict[str, Any]:
    """Many live sessions at work at once: tool turns per CPU second and per second."""
    async with asyncio.TaskGroup() as group:
        opening = [group.create_task(_opened(open_session)) for _ in range(sessions)]
    live = [task.result() for task in opening]
    before = Clock.now()
    async with asyncio.TaskGroup() as group:
        for session in live:
            group.create_task(ask(session, turns))
    spent = Clock.now().since(before)
    for session in live:
        await session.close()
    done = sessions * turns
    return {"crowd_per_cpu_s": done / spent.cpu, "crowd_per_s": done / spent.wall, "crowd_sessions": sessions}


async def thousand(open_session: Opener, *, sessions: int, turns: int) -> dict[str, Any]:
    """Whole sessions, all at once: opened, asked, closed. Counts those that ended as they should."""
    before_calls, before = calls, Clock.now()

    async def whole() -> bool:
        session = await open_session()
        try:
            return await session.ask(prompt(turns)) == CLOSING
        finally:
            await session.close()

    right = sum(await asyncio.gather(*(whole() for _ in range(sessions))))
    spent = Clock.now().since(before)
    return {
        "thousand_right": right,
        "thousand_calls": calls - before_calls,
        "thousand_wall_s": spent.wall,
        "thousand_cpu_s": spent.cpu,
        "thousand_peak_mb": peak_kb() / 1024,
    }


async def growth(open_session: Opener, *, turns: int, window: int) -> dict[str, Any]:
    """One conversation that grows: CPU between two calls of the tool, around the 10th, the 100th, the 1,000th turn."""
    global listening
    session = await open_session()
    await ask(session, 1)
    listening = True
    await ask(session, turns + window)
    listening = False
    await session.close()
    deltas = [later - earlier for earlier, later in pairwise(called)]
    marks = [mark for mark in (10, 100, 1000) if mark <= turns]
    return {"growth": {str(mark): statistics.median(deltas[max(0, mark - window) : mark + window]) * 1e3 for mark in marks}}


async def request(open_session: Opener) -> dict[str, Any]:
    """Only asks once: the server says how many bytes came."""
    session = await open_session()
    await ask(session, 0)
    await session.close()
    return {}


EXPERIMENTS: dict[str, Callable[..., Awaitable[dict[str, Any]]]] = {
    "start": start,
    "turn": turn,
    "idle": idle,
    "crowd": crowd,
    "thousand": thousand,
    "growth": growth,
    "request": request,
}


def main(connect: Connect) -> None:
    """`python contender.py experiment key=number …`"""
    name, *given = sys.argv[1:]
    sizes = {key: int(value) for key, _, value in (item.partition("=") for item in given)}

    async def run() -> dict[str, Any]:
        async with connect() as open_session:
            return await EXPERIMENTS[name](open_session, **sizes)

    print(json.dumps(asyncio.run(run())))
