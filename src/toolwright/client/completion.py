"""When a run is over: the rule that says how long a session's input must stay open after the last message.

A session that may still ask its host something needs its input. Its run is over when it says that it is idle after a result;
that of one that never tells its state, after the last result with no agent of its own at work. Messages may be answered
together, so fewer results than messages can also be the end: then a short silence decides. Pure: sees frames, does nothing.
"""

from __future__ import annotations

from typing import Any

from toolwright.protocol.lines import Frame
from toolwright.types import TERMINAL_TASK_STATUSES

QUIET_SECONDS = 2.0
CEILING_SECONDS = 600.0
"""How long agents in the background are waited for without any sign of them."""

_AGENTS = ("local_agent", "local_workflow")


class RunEnd:
    """What has been asked and answered so far."""

    __slots__ = ("_agents", "_asked", "_resting", "_results", "_state", "last_result", "unanswered")

    def __init__(self) -> None:
        self._asked = 0
        self._results = 0
        self._resting = False
        self._state: str | None = None
        self._agents: set[Any] = set()
        self.last_result: Frame | None = None
        self.unanswered = False
        """Whether a message was sent after the last result."""

    def sent(self, frame: Frame) -> None:
        if frame.get("shouldQuery") is not False:
            self._asked += 1
            self.unanswered = True

    def saw(self, frame: Frame) -> None:
        kind, subtype = frame.get("type"), frame.get("subtype")
        if kind == "result":
            self._results += 1
            self.last_result = frame
            self.unanswered = False
        elif kind == "system" and subtype == "session_state_changed":
            self._state = str(frame.get("state"))
            return
        elif kind == "system":
            self._watch_agents(subtype, frame)
        self._resting = kind == "result"

    def patience(self) -> float | None:
        """After how many seconds of silence the input may be closed; None when there is work to wait for."""
        if self._asked == 0:
            return 0.0
        if self.unanswered or not self._is_resting():
            return None
        if self._state is None and self._agents:
            return CEILING_SECONDS
        return 0.0 if self._results >= self._asked else QUIET_SECONDS

    def _is_resting(self) -> bool:
        return self._resting if self._state is None else self._state == "idle"

    def _watch_agents(self, subtype: object, frame: Frame) -> None:
        task_id = str(frame.get("task_id"))
        patch = frame.get("patch")
        status = patch.get("status") if isinstance(patch, dict) else None
        if subtype == "task_started" and frame.get("task_type") in _AGENTS:
            self._agents.add(task_id)
        elif subtype == "task_notification" or (subtype == "task_updated" and status in TERMINAL_TASK_STATUSES):
            self._agents.discard(task_id)
