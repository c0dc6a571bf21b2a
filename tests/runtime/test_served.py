"""A session behind a wire: the order in which frames and questions go out."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from toolwright.concurrency import Channel
from toolwright.runtime.served import serve
from toolwright.types import ClaudeAgentOptions

pytestmark = pytest.mark.anyio

Frame = dict[str, Any]
ANSWERS: dict[str, Frame] = {"can_use_tool": {"behavior": "allow"}, "hook_callback": {}}


class Wire:
    """The other side: writes down what comes, answers every question kindly, and ends its input after the result."""

    def __init__(self, *frames: Frame) -> None:
        self.said: list[str] = []
        self._to_session: Channel[Frame] = Channel()
        for frame in frames:
            self._to_session.put_now(frame)

    async def read(self) -> AsyncIterator[Frame]:
        async for frame in self._to_session:
            yield frame

    async def write(self, frame: Frame) -> None:
        if frame["type"] == "control_request":
            self.said.append(frame["request"]["subtype"])
            answer = {"subtype": "success", "request_id": frame["request_id"], "response": ANSWERS[frame["request"]["subtype"]]}
            self._to_session.put_now({"type": "control_response", "response": answer})
        else:
            self.said.append(str(frame.get("state") or frame.get("subtype") or frame["type"]))
        if frame["type"] == "result":
            self._to_session.close()


async def test_a_call_is_sent_before_the_questions_about_it(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"steps": [{"tool": "Bash", "input": {"command": "touch x"}}, {"text": "done"}]}))
    options = ClaudeAgentOptions(
        model=f"scripted:{script}",
        cwd=tmp_path,
        env={"CLAUDE_CONFIG_DIR": str(tmp_path / "config")},
        permission_prompt_tool_name="stdio",
    )
    hooks = {event: [{"matcher": None, "hookCallbackIds": ["hook_0"]}] for event in ("PreToolUse", "PostToolUse", "Stop")}
    wire = Wire(
        {"type": "control_request", "request_id": "1", "request": {"subtype": "initialize", "hooks": hooks}},
        {"type": "user", "message": {"role": "user", "content": "go"}},
    )
    assert await serve(options, wire.read(), wire.write) == 0
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


async def test_a_session_that_cannot_open_is_told_as_a_result_and_by_no_other_answer(tmp_path: Path) -> None:
    said: list[str] = []
    options = ClaudeAgentOptions(
        model="scripted:nowhere.json",
        cwd=tmp_path,
        env={"CLAUDE_CONFIG_DIR": str(tmp_path / "config")},
        resume="00000000-0000-4000-8000-000000000000",
        stderr=said.append,
    )
    wire = Wire({"type": "control_request", "request_id": "1", "request": {"subtype": "initialize", "hooks": None}})
    assert await serve(options, wire.read(), wire.write) == 1
    assert wire.said == ["error_during_execution"]
    assert len(said) == 1
