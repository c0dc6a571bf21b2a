"""A session behind a wire: the order in which frames and questions go out."""

import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from toolwright.base.concurrency import Channel
from toolwright.runtime.pacing import PAUSE_VARIABLE as PAUSE
from toolwright.runtime.pacing import callback_pause
from toolwright.runtime.wire_session import serve
from toolwright.types import ClaudeAgentOptions

pytestmark = pytest.mark.anyio

Frame = dict[str, Any]
ANSWERS: dict[str, Frame | None] = {"can_use_tool": {"behavior": "allow"}, "hook_callback": {}}


class Wire:
    """The other side: writes down what comes, answers questions (None: not at all), and ends its input after the result."""

    def __init__(self, *frames: Frame, **answers: Frame | None) -> None:
        self.said: list[str] = []
        self._answers = {**ANSWERS, **answers}
        self._to_session: Channel[Frame] = Channel()
        for frame in frames:
            self._to_session.put_now(frame)

    async def read(self) -> AsyncIterator[Frame]:
        async for frame in self._to_session:
            yield frame

    async def write(self, frame: Frame) -> None:
        if frame["type"] == "control_request":
            self.said.append(frame["request"]["subtype"])
            self._answer(frame["request_id"], self._answers[frame["request"]["subtype"]])
        else:
            self.said.append(str(frame.get("state") or frame.get("subtype") or frame["type"]))
        if frame["type"] == "result":
            self._to_session.close()

    def _answer(self, request_id: str, response: Frame | None) -> None:
        if response is not None:
            answer = {"subtype": "success", "request_id": request_id, "response": response}
            self._to_session.put_now({"type": "control_response", "response": answer})


def initialize(**hooks: Any) -> Frame:
    return {"type": "control_request", "request_id": "1", "request": {"subtype": "initialize", "hooks": hooks or None}}


def settings(folder: Path) -> dict[str, Any]:
    """A model that wants to run a command, and where."""
    script = folder / "script.json"
    script.write_text(json.dumps({"steps": [{"tool": "Bash", "input": {"command": "touch x"}}, {"text": "done"}]}))
    env = {"CLAUDE_CONFIG_DIR": str(folder / "config")}
    return {"model": f"scripted:{script}", "cwd": folder, "env": env, "permission_prompt_tool_name": "stdio"}


GO: Frame = {"type": "user", "message": {"role": "user", "content": "go"}}
HOOK = [{"matcher": None, "hookCallbackIds": ["hook_0"]}]


async def test_a_call_is_sent_before_the_questions_about_it(tmp_path: Path) -> None:
    wire = Wire(initialize(PreToolUse=HOOK, PostToolUse=HOOK, Stop=HOOK), GO)
    assert await serve(ClaudeAgentOptions(**settings(tmp_path)), wire.read(), wire.write) == 0
    assert wire.said == [
        "control_response",
        "running",
        "init",
        "assistant",
        "hook_callback",
        "requires_action",
        "can_use_tool",
        "running",
        "hook_callback",
        "user",
        "assistant",
        "hook_callback",
        "success",
        "idle",
    ]


@pytest.mark.parametrize(("given", "seconds"), [({}, 0.002), ({PAUSE: "0"}, 0), ({PAUSE: "soon"}, 0.002), ({PAUSE: "-1"}, 0)])
def test_the_pause_before_questions_is_two_milliseconds_unless_said_otherwise(given: dict[str, str], seconds: float) -> None:
    assert callback_pause(given) == seconds


@pytest.mark.parametrize(("setting", "paused"), [("100", True), ("0", False)])
async def test_a_question_leaves_the_client_time_to_read_the_answer_it_is_about(
    setting: str, paused: bool, tmp_path: Path
) -> None:
    moments: dict[str, float] = {}

    class Clock(Wire):
        async def write(self, frame: Frame) -> None:
            moments.setdefault(frame.get("request", frame).get("subtype") or frame["type"], time.perf_counter())
            await super().write(frame)

    options = settings(tmp_path)
    options["env"]["TOOLWRIGHT_CALLBACK_PAUSE_MS"] = setting
    wire = Clock(initialize(PreToolUse=HOOK), GO)
    assert await serve(ClaudeAgentOptions(**options), wire.read(), wire.write) == 0
    waited = moments["hook_callback"] - moments["assistant"]
    assert waited >= 0.1 if paused else waited > 0


async def test_a_question_waits_until_the_answer_it_is_about_was_taken(tmp_path: Path) -> None:
    wire = Wire(initialize(PreToolUse=HOOK), GO)

    async def taken() -> None:
        wire.said.append("taken")

    assert await serve(ClaudeAgentOptions(**settings(tmp_path)), wire.read(), wire.write, taken) == 0
    said = [word for word in wire.said if word in ("assistant", "taken", "hook_callback")]
    assert said[:3] == ["assistant", "taken", "hook_callback"]


async def test_a_hook_that_answers_for_the_person_ends_the_waiting(tmp_path: Path) -> None:
    decision = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}
    wire = Wire(initialize(PermissionRequest=HOOK), GO, can_use_tool=None, hook_callback=decision)
    assert await serve(ClaudeAgentOptions(**settings(tmp_path)), wire.read(), wire.write) == 0
    states = [word for word in wire.said if word in ("running", "requires_action", "idle")]
    assert states == ["running", "requires_action", "running", "idle"]
    assert (tmp_path / "x").exists()


async def test_a_session_that_cannot_open_is_told_as_a_result_and_by_no_other_answer(tmp_path: Path) -> None:
    said: list[str] = []
    options = ClaudeAgentOptions(
        model="scripted:nowhere.json",
        cwd=tmp_path,
        env={"CLAUDE_CONFIG_DIR": str(tmp_path / "config")},
        resume="00000000-0000-4000-8000-000000000000",
        stderr=said.append,
    )
    wire = Wire(initialize())
    assert await serve(options, wire.read(), wire.write) == 1
    assert wire.said == ["error_during_execution"]
    assert len(said) == 1
