"""Background tasks: shells and subagents that run beside the conversation, and the messages about them."""

from dataclasses import dataclass
from typing import Any, Final, Literal, TypedDict

from toolwright.types.system import SystemMessage

TaskUpdatedStatus = Literal["pending", "running", "paused", "completed", "failed", "killed"]
TaskNotificationStatus = Literal["completed", "failed", "stopped"]

TERMINAL_TASK_STATUSES: Final[frozenset[str]] = frozenset({"completed", "failed", "stopped", "killed"})
"""A task in one of these states will not change again."""


class TaskUsage(TypedDict):
    """What a task has used up so far."""

    total_tokens: int
    tool_uses: int
    duration_ms: int


@dataclass
class TaskStartedMessage(SystemMessage):
    """A task began; `task_type` is local_bash, local_agent, …"""

    task_id: str
    description: str
    uuid: str
    session_id: str
    tool_use_id: str | None = None
    task_type: str | None = None


@dataclass
class TaskProgressMessage(SystemMessage):
    """A task is at work."""

    task_id: str
    description: str
    usage: TaskUsage
    uuid: str
    session_id: str
    tool_use_id: str | None = None
    last_tool_name: str | None = None


@dataclass
class TaskUpdatedMessage(SystemMessage):
    """Something about a task changed. `patch` holds only what changed; `status` is the new state, if that is part of it."""

    task_id: str
    patch: dict[str, Any]
    status: TaskUpdatedStatus | None = None
    session_id: str | None = None
    uuid: str | None = None


@dataclass
class TaskNotificationMessage(SystemMessage):
    """A task ended; the model is told the summary, the whole output is in `output_file`."""

    task_id: str
    status: TaskNotificationStatus
    output_file: str
    summary: str
    uuid: str
    session_id: str
    tool_use_id: str | None = None
    usage: TaskUsage | None = None
