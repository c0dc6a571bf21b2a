"""One prompt, one answer."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from support_cli import Caught, PlayedSession, catching
from toolwright.cli import ask as ask_module
from toolwright.cli.ask import ask, read_prompt
from toolwright.cli.flags import UsageError
from toolwright.cli.frame_io import FrameOutput
from toolwright.types import OptionsError

pytestmark = pytest.mark.anyio

INIT = {"type": "system", "subtype": "init", "session_id": "s"}
RESULT: dict[str, Any] = {"type": "result", "subtype": "success", "is_error": False, "result": "Forty-two.", "session_id": "s"}


@pytest.fixture
async def caught(tmp_path: Path) -> AsyncIterator[Caught]:
    with catching(tmp_path) as place:
        yield place


async def asked(session: PlayedSession, caught: Caught, output_format: str) -> int:
    async def open_session() -> PlayedSession:
        return session

    output = FrameOutput(caught.descriptor, lambda: None)
    return await ask(open_session, "Why?", output=output, output_format=output_format)


async def test_text_prints_the_answer_and_nothing_else(caught: Caught) -> None:
    session = PlayedSession([INIT, RESULT])
    assert await asked(session, caught, "text") == 0
    assert caught.text == "Forty-two.\n"
    assert session.sent[0]["message"] == {"role": "user", "content": "Why?"}
    assert session.closed


async def test_json_prints_the_result_frame(caught: Caught) -> None:
    assert await asked(PlayedSession([INIT, RESULT]), caught, "json") == 0
    assert json.loads(caught.text) == RESULT


async def test_stream_json_prints_every_frame_on_a_line(caught: Caught) -> None:
    assert await asked(PlayedSession([INIT, RESULT]), caught, "stream-json") == 0
    assert [json.loads(line) for line in caught.text.splitlines()] == [INIT, RESULT]


async def test_an_error_result_goes_to_stderr_and_exits_1(caught: Caught, capfd: pytest.CaptureFixture[str]) -> None:
    failed = {"type": "result", "subtype": "error_max_turns", "is_error": True, "errors": ["Reached 2 turns"]}
    assert await asked(PlayedSession([failed]), caught, "text") == 1
    assert caught.text == ""
    assert capfd.readouterr().err == "toolwright: Reached 2 turns\n"


async def test_tools_that_were_not_allowed_are_named(caught: Caught, capfd: pytest.CaptureFixture[str]) -> None:
    denials = [{"tool_name": "Write"}, {"tool_name": "Bash"}, {"tool_name": "Write"}]
    assert await asked(PlayedSession([{**RESULT, "permission_denials": denials}]), caught, "text") == 0
    assert "not allowed: Bash, Write (see --allowed-tools" in capfd.readouterr().err


async def test_a_session_that_cannot_start_is_an_error_result_in_json(caught: Caught) -> None:
    session = PlayedSession([], fails=OptionsError("model: no such model"))
    with pytest.raises(OptionsError):
        await asked(session, caught, "json")
    assert json.loads(caught.text)["errors"] == ["model: no such model"]
    assert session.closed


async def test_a_session_without_a_result_is_a_failure(caught: Caught, capfd: pytest.CaptureFixture[str]) -> None:
    assert await asked(PlayedSession([INIT]), caught, "text") == 1
    assert "ended without a result" in capfd.readouterr().err


async def test_the_prompt_is_the_argument_then_what_is_piped_in(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("line one\n")
    for words, expected in [(["Explain", "this"], "Explain this\n\nline one"), ([], "line one"), (["-"], "line one")]:
        with path.open("rb") as file:
            assert await read_prompt(words, file.fileno()) == expected


async def test_a_silent_stdin_does_not_hold_up_a_prompt_that_is_there(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ask_module, "STDIN_TIMEOUT", 0.01)
    reader, writer = os.pipe()
    assert await read_prompt(["Why?"], reader) == "Why?"
    assert "nothing came from stdin" in capfd.readouterr().err
    os.close(reader)
    os.close(writer)


async def test_a_silent_stdin_without_a_prompt_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask_module, "STDIN_TIMEOUT", 0.01)
    reader, writer = os.pipe()
    with pytest.raises(UsageError, match=r"no prompt.*stdin is open but nothing came from it within 0\.01 seconds"):
        await read_prompt([], reader)
    with anyio.move_on_after(0.1) as waiting:
        await read_prompt(["-"], reader)
    assert waiting.cancelled_caught, "who says - waits"
    os.close(reader)
    os.close(writer)


async def test_input_that_is_not_utf8_is_said_to_be_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "latin1"
    path.write_bytes("gr\xfcn".encode("latin-1"))
    with path.open("rb") as file:
        assert await read_prompt([], file.fileno()) == "gr\ufffdn"
    assert "not UTF-8" in capfd.readouterr().err
