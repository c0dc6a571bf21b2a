"""The scripted server as a process of its own, with a script from a file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support_models import ask, drain, text_of
from toolwright.models.anthropic import AnthropicModel
from toolwright.models.base import HistoryMessage
from toolwright.testing import ModelServer
from toolwright.testing.script_file import step_from


@pytest.mark.anyio
async def test_a_script_from_a_file_is_served_by_a_process(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"tool_turns": {"call": {"name": "Read", "input": {"a": 1}}, "text": "done", "turns": 1}}))
    command = [sys.executable, "-m", "toolwright.testing.model_server", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        model = AnthropicModel(base_url=url)
        first, _, _ = await drain(model, ask("go"))
        assert first[1]["content_block"]["name"] == "Read"
        result = HistoryMessage("user", [{"type": "tool_result", "tool_use_id": "toolu_scripted_1", "content": "ok"}])
        second, _, _ = await drain(model, ask(messages=[*ask("go").messages, result]))
        assert text_of(second) == "done"
        await model.aclose()
        process.terminate()


@pytest.mark.anyio
async def test_steps_of_a_file_are_answers_refusals_and_faults() -> None:
    steps: list[dict[str, Any]] = [
        {"text": "hi", "calls": [{"name": "A"}]},
        {"status": 404},
        {"fault": "end_without_stop", "text": "half"},
    ]
    with ModelServer([step_from(step) for step in steps]) as server:
        model = AnthropicModel(base_url=server.url)
        outcomes = [await drain(model, ask()) for _ in steps]
        assert [(text_of(events), error and error.kind) for events, _, error in outcomes] == [
            ("hi", None),
            ("", "model_not_found"),
            ("half", "truncated"),
        ]
        await model.aclose()


def test_an_unknown_fault_is_named() -> None:
    with pytest.raises(ValueError, match="no fault 'earthquake'"):
        step_from({"fault": "earthquake"})
