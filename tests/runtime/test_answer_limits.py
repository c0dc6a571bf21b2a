"""A model that answers without end: the turn ends in order, and the conversation can go on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support_endless import MESSAGES, endless_server
from support_runtime import assert_valid_history, play, results, session_for, text_of, texts, until_result, user
from toolwright.models.scripted import Call, Say, ScriptedModel
from toolwright.runtime.turn import KEPT_OF_TOO_LARGE
from toolwright.types import OptionsError

pytestmark = pytest.mark.anyio

begun: list[int] = []


def add(a: int, b: int) -> int:
    """Add two numbers."""
    begun.append(a)
    return a + b


@pytest.fixture(autouse=True)
def nothing_begun() -> None:
    begun.clear()


async def test_too_many_calls_in_one_answer_are_not_begun_and_each_kept_one_has_a_result(tmp_path: Path) -> None:
    model = ScriptedModel([[Call("add", {"a": n, "b": 0}) for n in range(300)], Say("Sorry, one at a time.")])
    async with session_for(tmp_path, model, tools=[add]) as session:
        await session.send(user("go"))
        frames = await until_result(session)
        await session.send(user("go on"))
        after = await until_result(session)
    assert begun == []
    assert frames[-1]["is_error"]
    assert frames[-1]["terminal_reason"] == "api_error"
    assert "more than 256 tool calls" in frames[-1]["result"]
    assert len(results(frames)) == 256
    assert all("more than 256 tool calls" in text_of(result) for result in results(frames))
    assert after[-1]["result"] == "Sorry, one at a time."
    assert_valid_history(model)


async def test_as_many_calls_as_are_allowed_all_run(tmp_path: Path) -> None:
    model = ScriptedModel([[Call("add", {"a": n, "b": 0}) for n in range(5)], Say("done")])
    frames = await play(tmp_path, model, tools=[add], allowed_tools=["add"], env={"TOOLWRIGHT_MAX_ANSWER_CALLS": "5"})
    assert sorted(begun) == list(range(5))
    assert frames[-1]["result"] == "done"


async def test_too_many_blocks_end_the_answer_and_keep_what_came_before(tmp_path: Path) -> None:
    model = ScriptedModel([[Say(f"block {n}") for n in range(9)], Say("again")])
    async with session_for(tmp_path, model, env={"TOOLWRIGHT_MAX_ANSWER_BLOCKS": "4"}) as session:
        await session.send(user("go"))
        frames = await until_result(session)
        await session.send(user("go on"))
        after = await until_result(session)
    assert texts(frames)[:4] == [f"block {n}" for n in range(4)]
    assert "more than 4 blocks" in frames[-1]["result"]
    assert after[-1]["result"] == "again"
    assert_valid_history(model)


async def test_of_a_text_that_is_too_long_the_beginning_stays(tmp_path: Path) -> None:
    model = ScriptedModel([Say("x" * (2 << 20)), Say("short")])
    async with session_for(tmp_path, model, env={"TOOLWRIGHT_MAX_ANSWER_MB": "1"}) as session:
        await session.send(user("go"))
        frames = await until_result(session)
        await session.send(user("go on"))
        await until_result(session)
    assert len(texts(frames)[0]) == KEPT_OF_TOO_LARGE
    assert "more than 1 MB" in frames[-1]["result"]
    assert len(model.requests[1].messages[1].content[0]["text"]) == KEPT_OF_TOO_LARGE


@pytest.mark.parametrize(
    "variable", ["TOOLWRIGHT_MAX_ANSWER_MB", "TOOLWRIGHT_MAX_ANSWER_BLOCKS", "TOOLWRIGHT_MAX_ANSWER_CALLS"]
)
async def test_a_limit_that_is_no_number_is_refused(variable: str, tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match=variable):
        await play(tmp_path, ScriptedModel(["hi"]), env={variable: "plenty"})


RUN = """
import asyncio, json, sys
from toolwright import ClaudeAgentOptions, query

async def main() -> None:
    env = {"ANTHROPIC_BASE_URL": sys.argv[1], "ANTHROPIC_API_KEY": "key-of-a-test", "CLAUDE_CONFIG_DIR": sys.argv[2]}
    last = None
    try:
        async for message in query(prompt="go", options=ClaudeAgentOptions(env=env, cwd=sys.argv[2], setting_sources=[])):
            last = message
    except Exception:
        pass
    peak = next(int(line.split()[1]) // 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(json.dumps({"said": last.result, "error": last.is_error, "peak": peak}))

asyncio.run(main())
"""


@pytest.mark.parametrize("kind", ["text", "calls", "a line"])
def test_with_the_usual_limits_an_endless_answer_takes_little_memory(kind: str, tmp_path: Path) -> None:
    with endless_server(MESSAGES[kind]) as url:
        ran = subprocess.run([sys.executable, "-c", RUN, url, str(tmp_path)], capture_output=True, text=True, timeout=120)
    told = decoded(ran.stdout)
    assert told["error"], ran.stderr
    assert "The model's answer was ended" in told["said"]
    assert told["peak"] < 400


def decoded(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found
