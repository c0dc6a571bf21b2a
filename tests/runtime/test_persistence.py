"""Sessions whose transcript cannot be kept, is not to be kept, or is being written to by another process."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from support_ticking import assert_no_stall
from toolwright.client import ClaudeSDKClient, query
from toolwright.testing import Say, ScriptedModel
from toolwright.types import ClaudeAgentOptions, ResultMessage

pytestmark = pytest.mark.anyio


def options_in(folder: Path, *words: str, **more: Any) -> ClaudeAgentOptions:
    (folder / "work").mkdir(exist_ok=True)
    model = ScriptedModel([Say(word) for word in words])
    env = {"CLAUDE_CONFIG_DIR": str(more.pop("config", folder / "config"))}
    return ClaudeAgentOptions(model=model, cwd=folder / "work", env=env, **more)


async def result_of(options: ClaudeAgentOptions) -> ResultMessage:
    (result,) = [message async for message in query(prompt="hi", options=options) if isinstance(message, ResultMessage)]
    return result


async def test_a_config_folder_that_cannot_be_is_told_and_the_run_goes_on_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    told: list[str] = []
    options = options_in(tmp_path, "one", "two", config=tmp_path / "file/config", stderr=told.append)
    async with ClaudeSDKClient(options) as client:
        for word in ("one", "two"):
            await client.query("hi")
            heard = [message async for message in client.receive_response()]
            assert isinstance(heard[-1], ResultMessage)
            assert heard[-1].result == word
    (line,) = [line for line in told if "in memory" in line]
    assert str(tmp_path / "file/config") in line
    assert "Not a directory" in line


async def test_it_is_told_on_the_error_output_when_nobody_listens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert (await result_of(options_in(tmp_path, "one", config=tmp_path / "file/config"))).result == "one"
    assert capsys.readouterr().err.count("The session goes on in memory alone") == 1


async def test_without_persistence_nothing_is_written(tmp_path: Path) -> None:
    assert (await result_of(options_in(tmp_path, "one", persist_session=False))).result == "one"
    assert not list((tmp_path / "config").glob("**/*.jsonl"))


async def test_a_fork_without_persistence_has_the_history_and_leaves_the_source_alone(tmp_path: Path) -> None:
    first = await result_of(options_in(tmp_path, "one"))
    (transcript,) = (tmp_path / "config").glob("**/*.jsonl")
    before = transcript.read_bytes()
    model = ScriptedModel([Say("two")])
    options = options_in(tmp_path, resume=first.session_id, fork_session=True, persist_session=False)
    options.model = model
    second = await result_of(options)
    assert (second.result, second.session_id == first.session_id) == ("two", False)
    assert len(model.requests[0].messages) == 3
    assert list((tmp_path / "config").glob("**/*.jsonl")) == [transcript]
    assert transcript.read_bytes() == before


async def test_a_lock_of_another_process_is_waited_for_without_holding_up_the_loop(tmp_path: Path) -> None:
    first = await result_of(options_in(tmp_path, "one"))
    (transcript,) = (tmp_path / "config").glob("**/*.jsonl")
    took = 0.0

    async def let_go_later(held: int) -> None:
        await anyio.sleep(0.8)
        os.close(held)

    async def go_on() -> None:
        nonlocal took
        held = os.open(transcript, os.O_RDWR)
        fcntl.flock(held, fcntl.LOCK_EX)
        began = anyio.current_time()
        async with anyio.create_task_group() as group:
            group.start_soon(let_go_later, held)
            assert (await result_of(options_in(tmp_path, "two", resume=first.session_id))).result == "two"
        took = anyio.current_time() - began

    await assert_no_stall(go_on)
    assert took >= 0.7
