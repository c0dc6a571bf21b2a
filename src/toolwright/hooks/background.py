"""Hooks that nobody waits for: each a task that belongs to the session and ends with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from toolwright.base.concurrency import OwnedTask, spawn


class Background:
    """The tasks of a session's hooks. Holds none until one is started."""

    __slots__ = ("_tasks",)

    def __init__(self) -> None:
        self._tasks: list[OwnedTask] = []

    def start(self, work: Callable[[], Awaitable[None]]) -> OwnedTask:
        self._tasks = [task for task in self._tasks if not task.done]
        task = spawn(work, name="toolwright hook")
        self._tasks.append(task)
        return task

    async def close(self) -> None:
        """End them all, and wait until they have ended. May be called more than once."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        with anyio.CancelScope(shield=True):
            for task in tasks:
                await task.wait()
