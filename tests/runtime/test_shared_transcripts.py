"""Two processes or clients that go on with one session: the second is told, and nothing that was acknowledged is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright.client import ClaudeSDKClient, query
from toolwright.sessions.load import load
from toolwright.testing import Say, ScriptedModel
from toolwright.types import ClaudeAgentOptions, Message, ResultError, ResultMessage, SystemMessage

pytestmark = pytest.mark.anyio

WAITS = {"command": "touch begun; until [ -e go ]; do sleep 0.02; done"}


def options_in(folder: Path, *words: str, **more: Any) -> ClaudeAgentOptions:
    (folder / "work").mkdir(exist_ok=True)
    model = ScriptedModel([Say(word) for word in words])
    return ClaudeAgentOptions(model=model, cwd=folder / "work", env={"CLAUDE_CONFIG_DIR": str(folder / "config")}, **more)


async def result_of(options: ClaudeAgentOptions) -> ResultMessage:
    (result,) = [message async for message in query(prompt="hi", options=options) if isinstance(message, ResultMessage)]
    return result


async def heard(client: ClaudeSDKClient, prompt: str) -> list[Message]:
    await client.query(prompt)
    return [message async for message in client.receive_response()]


async def result_from(client: ClaudeSDKClient) -> ResultMessage:
    result = (await heard(client, "hi"))[-1]
    assert isinstance(result, ResultMessage)
    return result


def in_another_process(folder: Path, session_id: str) -> subprocess.Popen[bytes]:
    """Our command goes on with the session: a turn that lasts until the file `go` is there."""
    script = folder / "script.json"
    script.write_text(json.dumps({"steps": [{"tool": "Bash", "input": WAITS}, {"text": "of the other process"}]}))
    program = [str(Path(sys.executable).with_name("toolwright")), "-p", "other", "--resume", session_id]
    flags = ["--model", f"scripted:{script}", "--allowed-tools", "Bash"]
    env = {"CLAUDE_CONFIG_DIR": str(folder / "config"), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    return subprocess.Popen([*program, *flags], cwd=folder / "work", env=env, stdout=subprocess.PIPE)


def said(folder: Path, session_id: str) -> list[str]:
    (path,) = (folder / "config").glob(f"**/{session_id}.jsonl")
    blocks = (block for message in load(path).messages for block in message.content)
    return [block["text"] for block in blocks if block["type"] == "text"]


async def test_a_session_in_the_middle_of_a_turn_elsewhere_cannot_be_resumed_but_forked(tmp_path: Path) -> None:
    first = await result_of(options_in(tmp_path, "one"))
    with in_another_process(tmp_path, first.session_id) as other:
        try:
            with anyio.fail_after(30):
                while not (tmp_path / "work/begun").exists():
                    await anyio.sleep(0.02)
            with pytest.raises(ResultError, match=rf"Session {first.session_id} is in use.*Resume it again.*fork_session=True"):
                await result_of(options_in(tmp_path, "two", resume=first.session_id))
            fork = await result_of(options_in(tmp_path, "three", resume=first.session_id, fork_session=True))
            unkept = await result_of(options_in(tmp_path, "four", resume=first.session_id, persist_session=False))
        finally:
            (tmp_path / "work/go").touch()
            assert other.stdout is not None
            answer = await anyio.to_thread.run_sync(other.stdout.read)
    assert (fork.result, unkept.result, answer.strip()) == ("three", "four", b"of the other process")
    assert (await result_of(options_in(tmp_path, "five", resume=first.session_id))).result == "five"
    assert said(tmp_path, first.session_id) == ["hi", "one", "other", "of the other process", "hi", "five"]


async def test_a_client_whose_session_went_on_elsewhere_is_told_and_cuts_nothing_off(tmp_path: Path) -> None:
    model = ScriptedModel([Say("one"), Say("never")])
    options = options_in(tmp_path)
    options.model = model
    async with ClaudeSDKClient(options) as client:
        first = await result_from(client)
        await result_of(options_in(tmp_path, "elsewhere", resume=first.session_id))
        begun, told = await heard(client, "again")
        assert isinstance(begun, SystemMessage)
        assert isinstance(told, ResultMessage)
        assert told.is_error
        (error,) = told.errors or []
        assert "has been continued by another process or client" in error
        assert "Resume it again" in error
        assert "fork_session=True" in error
    assert len(model.requests) == 1
    assert said(tmp_path, first.session_id) == ["hi", "one", "hi", "elsewhere"]


async def test_two_turns_at_once_are_one_and_an_error(tmp_path: Path) -> None:
    first = await result_of(options_in(tmp_path, "one"))
    endings: list[str] = []

    async def go_on(client: ClaudeSDKClient) -> None:
        result = await result_from(client)
        endings.append((result.errors or [result.result or ""])[0])

    options = [options_in(tmp_path, word, resume=first.session_id) for word in ("two", "three")]
    async with ClaudeSDKClient(options[0]) as one, ClaudeSDKClient(options[1]) as other, anyio.create_task_group() as group:
        group.start_soon(go_on, one)
        group.start_soon(go_on, other)
    (error,) = [text for text in endings if "has been continued" in text]
    endings.remove(error)
    assert said(tmp_path, first.session_id) == ["hi", "one", "hi", *endings]


async def test_a_title_that_another_program_gives_is_no_reason_to_stop(tmp_path: Path) -> None:
    async with ClaudeSDKClient(options_in(tmp_path, "one", "two")) as client:
        await result_from(client)
        (path,) = (tmp_path / "config").glob("**/*.jsonl")
        with path.open("a") as file:
            file.write('{"type":"custom-title","customTitle":"x","sessionId":"y"}\n')
        assert (await result_from(client)).result == "two"


async def test_a_transcript_that_is_removed_is_an_error_and_not_begun_again(tmp_path: Path) -> None:
    async with ClaudeSDKClient(options_in(tmp_path, "one", "two")) as client:
        await result_from(client)
        (path,) = (tmp_path / "config").glob("**/*.jsonl")
        path.unlink()
        told = await result_from(client)
        assert "it was removed while the session went on" in (told.errors or [""])[0]
        assert not path.exists()


async def test_an_id_that_is_taken_is_an_error(tmp_path: Path) -> None:
    first = await result_of(options_in(tmp_path, "one"))
    for more in ({}, {"resume": first.session_id, "fork_session": True}):
        with pytest.raises(ResultError, match=f"There is a session {first.session_id} already"):
            await result_of(options_in(tmp_path, "two", session_id=first.session_id, **more))
    assert said(tmp_path, first.session_id) == ["hi", "one"]
