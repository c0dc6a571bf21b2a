"""Failures as the published SDK sees them: of the model's API, of the options, of the process."""

import os
import signal
from pathlib import Path
from typing import Any

import anyio
import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeSDKClient,
    CLIConnectionError,
    CLINotFoundError,
    Message,
    ProcessError,
    ResultError,
    SystemMessage,
    query,
)
from published import MAX_LENGTH, ON_ASYNCIO, Place, ask, bash, client_of, kinds, result, say, texts

from toolwright.testing import ModelServer, Status, ToolCall, answer
from toolwright.testing.messages_dialect import cut_mid_chunk, end_without_stop, error_inside, reset_mid_stream

pytestmark = ON_ASYNCIO

ONE_RETRY = {"CLAUDE_CODE_MAX_RETRIES": "1"}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def failing(options: Any) -> tuple[list[Message], ResultError]:
    """The messages of a run that fails, and its error."""
    messages: list[Message] = []
    with pytest.raises(ResultError) as caught:
        await collect(messages, options)
    return messages, caught.value


async def collect(messages: list[Message], options: Any) -> None:
    with anyio.fail_after(MAX_LENGTH):
        async for message in query(prompt="go", options=options):
            messages.append(message)


# the model's API


@pytest.mark.parametrize(
    ("status", "name", "requests"),
    [
        (400, "invalid_request", 1),
        (401, "authentication_failed", 1),
        (403, "authentication_failed", 1),
        (429, "rate_limit", 2),
        (500, "server_error", 2),
        (529, "server_error", 2),
    ],
)
async def test_a_refusal_is_a_result_error_with_its_status(status: int, name: str, requests: int, place: Place) -> None:
    with ModelServer(Status(status, {"retry-after": "0"})) as server:
        messages, error = await failing(place.options(server=server, env=ONE_RETRY))
    assert len(server.requests) == requests
    assert (error.subtype, error.api_error_status, error.terminal_reason) == ("success", status, "api_error")
    assert (error.exit_code, error.data["is_error"], error.data["num_turns"]) == (1, True, 1)
    assert f"scripted {status}" in error.result
    assert error.session_id == error.data["session_id"]
    (told,) = [message for message in messages if isinstance(message, AssistantMessage)]
    assert (told.error, told.model) == (name, "<synthetic>")


async def test_retries_are_told_and_the_run_succeeds(place: Place) -> None:
    with ModelServer([Status(529, {"retry-after": "0"}), answer("at last")]) as server:
        messages = await ask(place.options(server=server))
    assert kinds(messages) == ["init", "api_retry", "text", "success"]
    (retry,) = [message.data for message in messages if isinstance(message, SystemMessage) and message.subtype == "api_retry"]
    assert (retry["attempt"], retry["error_status"], retry["error"]) == (1, 529, "overloaded")
    assert texts(messages) == ["at last"]


@pytest.mark.parametrize(
    "step",
    [end_without_stop(), cut_mid_chunk(), reset_mid_stream(), error_inside(after="half an answer")],
    ids=["end", "cut", "reset", "error"],
)
async def test_a_broken_stream_is_a_result_error_and_what_came_is_kept(step: Any, place: Place) -> None:
    with ModelServer(step) as server:
        messages, error = await failing(place.options(server=server, env=ONE_RETRY))
    assert (error.subtype, error.api_error_status, error.terminal_reason) == ("success", None, "api_error")
    assert texts(messages)[0].startswith("half an")


async def test_a_half_received_call_is_never_run(place: Place) -> None:
    call = ToolCall("Bash", {"command": "touch x"})
    with ModelServer(end_without_stop("", call=call)) as server:
        await failing(place.options(server=server, env=ONE_RETRY, allowed_tools=["Bash"]))
    assert place.names() == []


async def test_no_server_is_a_result_error(place: Place) -> None:
    with ModelServer([]) as server:
        options = place.options(server=server, env={"CLAUDE_CODE_MAX_RETRIES": "0"})
    _, error = await failing(options)
    assert (error.terminal_reason, error.api_error_status) == ("api_error", None)


async def test_another_model_takes_over(place: Place) -> None:
    with ModelServer(
        lambda request: answer("I am here.") if request.json["model"] == "claude-haiku-4-5" else Status(529)
    ) as server:
        messages = await ask(
            place.options(server=server, fallback_model="claude-haiku-4-5", env={"CLAUDE_CODE_MAX_RETRIES": "0"})
        )
    assert texts(messages) == ["I am here."]
    assert "model_fallback" in kinds(messages)


# options


async def test_both_resume_and_continue_are_refused(place: Place) -> None:
    with pytest.raises(ProcessError) as caught:
        await ask(place.options(say("never"), resume="00000000-0000-4000-8000-000000000000", continue_conversation=True))
    assert caught.value.exit_code == 2
    assert any("--resume" in line and "--continue" in line for line in place.stderr)


async def test_a_model_nobody_knows_is_a_result_error(place: Place) -> None:
    _, error = await failing(place.options(model="scripted:/nowhere.json"))
    assert (error.subtype, error.data["num_turns"]) == ("error_during_execution", 0)
    assert "/nowhere.json" in str(error)
    assert any("/nowhere.json" in line for line in place.stderr)


async def test_a_folder_that_is_not_there(place: Place) -> None:
    with pytest.raises(CLIConnectionError, match="nowhere"):
        await ask(place.options(say("never"), cwd=place.folder / "nowhere"))


async def test_a_command_that_is_not_there(place: Place) -> None:
    with pytest.raises(CLINotFoundError):
        await ask(place.options(say("never"), cli_path=place.folder / "nowhere"))


# the process


async def test_a_process_that_is_killed_is_a_process_error(place: Place) -> None:
    options = place.options(bash("kill -9 $PPID; sleep 5"), say("never"), allowed_tools=["Bash"])
    with anyio.fail_after(MAX_LENGTH), pytest.raises(ProcessError) as caught:
        async for _ in query(prompt="go", options=options):
            pass
    assert caught.value.exit_code == -signal.SIGKILL


async def test_a_client_hears_of_a_killed_process(place: Place) -> None:
    options = place.options(bash("touch begun; sleep 20"), say("never"), allowed_tools=["Bash"])
    async with client_of(options) as client:
        info = await client.get_server_info()
        await client.query("go")
        while not (place.workspace / "begun").exists():
            await anyio.sleep(0.01)  # a file made by another process can only be looked for
        os.kill(info["pid"], signal.SIGKILL)
        with pytest.raises((ProcessError, CLIConnectionError)):
            await drained(client)


async def drained(client: ClaudeSDKClient) -> None:
    async for _ in client.receive_response():
        pass


async def test_noise_on_the_input_is_reported_and_skipped(place: Place) -> None:
    async def odd_prompts() -> Any:
        yield {"type": "nonsense"}
        yield {"type": "user", "message": {"role": "user"}}
        yield {"type": "user", "message": {"role": "user", "content": "Hi"}}

    messages = await ask(place.options(say("hello")), odd_prompts())
    assert result(messages).result == "hello"
    assert any("not taken" in line for line in place.stderr)
