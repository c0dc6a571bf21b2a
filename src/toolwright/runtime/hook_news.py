"""What is told of hooks besides what they decide: failures, frames about each run, words that came late."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from toolwright.hooks import HookOutcome, HookRun, Listeners, Reply, RunOutcome
from toolwright.protocol import frames


@dataclass(frozen=True, slots=True)
class HookNews:
    """Where it is told: frames to the session's user, lines to the diagnostics, texts to the model."""

    send: Callable[[frames.Frame], None]
    session_id: Callable[[], str]
    diagnose: Callable[[str], None]
    hear: Callable[[Sequence[str]], None]
    """Takes texts that the model is to read with the next prompt."""

    shows_all: bool
    """Whether every run of a hook of the settings gives frames (`include_hook_events`), or only those at the start."""

    def listeners(self) -> Listeners:
        return Listeners(
            on_error=lambda failure: self.diagnose(f"toolwright: {failure}"),
            on_start=self.started,
            on_end=self.ended,
            on_late=self.came_late,
        )

    def started(self, run: HookRun) -> None:
        if self.shows_all or run.event == "SessionStart":
            self.send(frames.hook_started(run.id, run.name, run.event, session_id=self.session_id()))

    def ended(self, run: HookRun, reply: Reply, outcome: RunOutcome) -> None:
        if not (self.shows_all or run.event == "SessionStart"):
            return
        hidden = isinstance(reply.output, dict) and reply.output.get("suppressOutput") is True
        stdout, stderr = ("", "") if hidden else (reply.stdout, reply.stderr)
        told: dict[str, Any] = {"output": stdout + stderr, "stdout": stdout, "stderr": stderr, "outcome": outcome}
        if reply.exit_code is not None:
            told |= {"exit_code": reply.exit_code}
        self.send(frames.hook_response(run.id, run.name, run.event, session_id=self.session_id(), **told))

    def came_late(self, event: str, outcome: HookOutcome) -> None:
        for text in outcome.system_messages:
            self.send(frames.system("informational", self.session_id(), content=text, level="info"))
        if event == "PreModelSwitch" and (outcome.block or outcome.decision in ("deny", "ask")):
            # Whoever wrote this hook meant it to guard something.
            self.diagnose("toolwright: a PreModelSwitch hook refused; nobody waits for these hooks, so the model was changed.")
        self.hear(outcome.additional_context)
