"""A session's background tasks as its user and its model hear of them: frames when one starts or ends, and news for the model.

News goes with the next request. If none is due, it is a reason for a turn of its own (`wake`), unless a person ended the task
or the model has seen its end itself. What a task is and does is the workspace's business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolwright.protocol import frames
from toolwright.workspace import UnknownShell, Workspace

if TYPE_CHECKING:
    from toolwright.processes.background import BackgroundShell

TASK_TYPE = "local_bash"
MAX_NAME_LENGTH = 200
_NOTIFIED = {"completed": "completed", "failed": "failed", "killed": "stopped"}


class BackgroundTasks:
    """What runs beside the conversation. `send` gives out a frame without waiting; `wake` asks for a turn."""

    __slots__ = ("_send", "_session_id", "_untold", "_wake", "_workspace")

    def __init__(
        self, workspace: Workspace, session_id: str, *, send: Callable[[frames.Frame], None], wake: Callable[[], None]
    ) -> None:
        self._workspace = workspace
        self._session_id = session_id
        self._send = send
        self._wake = wake
        self._untold: tuple[BackgroundShell, ...] = ()
        workspace.commands.on_change = self._changed

    def take_news(self) -> list[str]:
        """What the model has not been told yet: one text for each task that has ended since."""
        untold, self._untold = self._untold, ()
        news = [in_words(shell) for shell in untold if not shell.told]
        for shell in untold:
            shell.told = True
        return news

    @property
    def wants_turn(self) -> bool:
        """Whether there is news that the model should hear without being asked anything."""
        return any(is_worth_a_turn(shell) for shell in self._untold)

    def summaries(self) -> list[dict[str, Any]]:
        """The running tasks, as Stop hooks are told of them."""
        return [
            {
                "id": shell.id,
                "type": "shell",
                "status": shell.status,
                "description": shell.description,
                "command": shell.command,
            }
            for shell in self._running()
        ]

    async def stop(self, task_id: str) -> None:
        """A person ends a task. The model hears of it with the next request. An unknown id is no error."""
        try:
            shell = self._workspace.commands.shell(task_id)
        except UnknownShell:
            return
        if shell.running:
            await self._workspace.commands.end(shell)

    def _changed(self, shell: BackgroundShell) -> None:
        if shell.running:
            self._started(shell)
        else:
            self._ended(shell)

    def _started(self, shell: BackgroundShell) -> None:
        self._send(
            frames.task_started(
                shell.id, self._session_id, description=shell.description, task_type=TASK_TYPE, tool_use_id=shell.call
            )
        )
        self._tell_running()

    def _ended(self, shell: BackgroundShell) -> None:
        end_time = int(shell.ended_at * 1000)
        self._send(frames.task_updated(shell.id, self._session_id, status=shell.status, end_time=end_time))
        self._tell_running()
        self._send(
            frames.task_notification(
                shell.id,
                self._session_id,
                status=_NOTIFIED[shell.status],
                summary=summary(shell),
                output_file=shell.log.path,
                tool_use_id=shell.call,
            )
        )
        if not shell.told:
            self._untold = (*self._untold, shell)
            if is_worth_a_turn(shell):
                self._wake()

    def _tell_running(self) -> None:
        tasks = [{"task_id": shell.id, "task_type": TASK_TYPE, "description": shell.description} for shell in self._running()]
        self._send(frames.background_tasks_changed(tasks, self._session_id))

    def _running(self) -> list[BackgroundShell]:
        return [shell for shell in self._workspace.commands.shells if shell.running]


def is_worth_a_turn(shell: BackgroundShell) -> bool:
    """Not if the model knows it already, and not if a person stopped it: that person is there and goes on when they like."""
    return not shell.told and (shell.status != "killed" or shell.problem is not None)


def summary(shell: BackgroundShell) -> str:
    """One sentence on how a task ended."""
    name = shell.description if len(shell.description) <= MAX_NAME_LENGTH else f"{shell.description[:MAX_NAME_LENGTH]}…"
    if shell.problem is not None:
        return f'Background command "{name}" was ended: {shell.problem}.'
    if shell.status == "killed":
        return f'Background command "{name}" was stopped.'
    # Lists are left to BashOutput: the hosts in them are words of the command's choice.
    told = "".join(f" {notice[:1].upper()}{notice[1:].rstrip('.')}." for notice in shell.notices if "\n" not in notice)
    return f'Background command "{name}" {shell.status} with exit code {shell.exit_code}.{told}'


def in_words(shell: BackgroundShell) -> str:
    """What the model is told. Nothing of the output is in it: that stays what a tool shows, never what a user says."""
    return (
        f"[Not from the user: {summary(shell)} Its ID is {shell.id}; its output ({shell.log.size:,} bytes) is in "
        f"{shell.log.path}: BashOutput shows what is new in it.]"
    )
