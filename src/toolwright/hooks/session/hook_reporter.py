"""What is told of hooks besides what they decide: failures, frames about each run, words that came late."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolwright.hooks import HookFailure, HookListener, HookOutcome, HookReply, HookRun, RunOutcome
from toolwright.protocol import frames

if TYPE_CHECKING:
    from toolwright.runtime.session import LocalSession


class HookReporter(HookListener):
    """Tells frames to the session's user, lines to the diagnostics, texts to the model."""

    __slots__ = ("_session", "_session_id", "_shows_all", "diagnose")

    def __init__(self, session: LocalSession, session_id: str, diagnose: Callable[[str], None], shows_all: bool) -> None:
        """`shows_all`: every run of a hook of the settings gives frames, not only those at the start."""
        self._session = session
        self._session_id = session_id
        self.diagnose = diagnose
        self._shows_all = shows_all

    def failed(self, failure: HookFailure) -> None:
        self.diagnose(f"toolwright: {failure}")

    def started(self, run: HookRun) -> None:
        if self._shows_all or run.event == "SessionStart":
            self._session.put_now(frames.hook_started(run.id, run.name, run.event, session_id=self._session_id))

    def ended(self, run: HookRun, reply: HookReply, outcome: RunOutcome) -> None:
        if not (self._shows_all or run.event == "SessionStart"):
            return
        hidden = isinstance(reply.output, dict) and reply.output.get("suppressOutput") is True
        stdout, stderr = ("", "") if hidden else (reply.stdout, reply.stderr)
        told: dict[str, Any] = {"output": stdout + stderr, "stdout": stdout, "stderr": stderr, "outcome": outcome}
        if reply.exit_code is not None:
            told |= {"exit_code": reply.exit_code}
        self._session.put_now(frames.hook_response(run.id, run.name, run.event, session_id=self._session_id, **told))

    def came_late(self, event: str, outcome: HookOutcome) -> None:
        for text in outcome.system_messages:
            self._session.put_now(frames.system("informational", self._session_id, content=text, level="info"))
        if event == "PreModelSwitch" and (outcome.block or outcome.decision in ("deny", "ask")):
            # Whoever wrote this hook meant it to guard something.
            self.diagnose("toolwright: a PreModelSwitch hook refused a fallback, which cannot wait: the model was changed.")
        self._session.started.conversation.contexts.extend(outcome.additional_context)
