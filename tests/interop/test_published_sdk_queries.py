"""The published SDK's `query()` with our command: prompts, options and limits."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from claude_agent_sdk import AssistantMessage, ResultError, StreamEvent, SystemMessage, ToolUseBlock, query
from published import (
    ON_ASYNCIO,
    Place,
    ask,
    bash,
    blocks,
    call,
    content_text,
    init,
    kinds,
    prompt_frame,
    prompts,
    result,
    results,
    say,
    texts,
)

from toolwright.testing import ModelServer, ToolCall, answer

pytestmark = ON_ASYNCIO


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def test_a_text_is_answered(place: Place) -> None:
    messages = await ask(place.options(say("Hello!")), "Hi")
    assert kinds(messages) == ["init", "text", "success"]
    ended = result(messages)
    assert (ended.result, ended.is_error, ended.num_turns, ended.terminal_reason) == ("Hello!", False, 1, "completed")
    assert ended.session_id == init(messages)["session_id"]
    assert place.stderr == []


async def test_the_same_conversation_over_http(place: Place) -> None:
    place.write("a.txt", "one\n")
    steps = [answer("I look.", ToolCall("Read", {"file_path": "a.txt"})), answer("It says one.")]
    with ModelServer(steps) as server:
        messages = await ask(place.options(server=server), "What is in a.txt?")
    assert kinds(messages) == ["init", "text", "tool_use", "tool_result", "text", "success"]
    assert [request.path.partition("?")[0] for request in server.requests] == ["/v1/messages"] * 2
    assert server.requests[0].headers["x-api-key"] == "test-key"
    assert "one" in content_text(results(messages)[0])


async def test_prompts_may_come_from_an_iterable(place: Place) -> None:
    options = place.options(say("one"), say("two"))
    messages = await ask(options, prompts("first", [{"type": "text", "text": "second"}]))
    assert texts(messages) == ["one", "two"]
    assert [message.subtype for message in messages if isinstance(message, SystemMessage)] == ["init", "init"]
    assert len({message.session_id for message in messages if hasattr(message, "session_id")}) == 1


async def test_a_prompt_may_come_while_a_turn_runs(place: Place) -> None:
    first_answer = anyio.Event()

    async def two_prompts() -> Any:
        yield prompt_frame("first")
        await first_answer.wait()
        yield prompt_frame("second")

    said: list[str] = []
    with anyio.fail_after(60):
        async for message in query(prompt=two_prompts(), options=place.options(bash("echo hi"), say("one"), say("two"))):
            said += texts([message])
            if isinstance(message, AssistantMessage):
                first_answer.set()
    assert said == ["one", "two"]


async def test_images_in_a_prompt_reach_the_model(place: Place) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
    with ModelServer([answer("A picture.")]) as server:
        await ask(place.options(server=server), prompts([{"type": "text", "text": "Look:"}, picture]))
    sent = server.requests[0].json["messages"][-1]["content"]
    assert [block["type"] for block in sent] == ["text", "image"]
    assert sent[1]["source"] == picture["source"]


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        (None, ""),
        ("You are a pirate.", "You are a pirate."),
        ({"type": "custom", "prompt": "You are a parrot."}, "You are a parrot."),
        ({"type": "preset", "preset": "claude_code", "append": "Answer in verse."}, "Answer in verse."),
        ({"type": "preset", "preset": "claude_code"}, "tool"),
        ("file", "You are a file."),
    ],
)
async def test_system_prompt_forms(form: Any, shown: str, place: Place) -> None:
    if form == "file":
        form = {"type": "file", "path": str(place.write("system.md", "You are a file."))}
    with ModelServer([answer("Aye.")]) as server:
        await ask(place.options(server=server, system_prompt=form))
    assert shown in str(server.requests[0].json.get("system", ""))


async def test_tools_say_what_is_offered(place: Place) -> None:
    assert init(await ask(place.options(say("hi"), tools=["Read", "Bash"])))["tools"] == ["Read", "Bash"]
    assert init(await ask(place.options(say("hi"), tools=[])))["tools"] == []
    preset = init(await ask(place.options(say("hi"), tools={"type": "preset", "preset": "claude_code"})))["tools"]
    assert {"Read", "Write", "Edit", "Glob", "Grep", "Bash"} <= set(preset)


async def test_partial_messages_come_in_order_and_each_block_before_its_stop(place: Place) -> None:
    place.write("a.txt", "one\n")
    step = {"thinking": "Hm.", "text": "I look.", "tool": "Read", "input": {"file_path": "a.txt"}}
    messages = await ask(place.options(step, say("Done."), include_partial_messages=True))
    words = [word for word in kinds(messages) if word != "event content_block_delta"]
    block = ["event content_block_start"], ["event content_block_stop"]
    start, stop = ["event message_start"], ["event message_delta", "event message_stop"]
    first = [word for kind in ("thinking", "text", "tool_use") for word in (*block[0], kind, *block[1])]
    assert words == ["init", *start, *first, *stop, "tool_result", *start, *block[0], "text", *block[1], *stop, "success"]
    deltas = [message.event.get("delta", {}) for message in messages if isinstance(message, StreamEvent)]
    assert "".join(delta.get("text", "") for delta in deltas) == "I look.Done."


async def test_without_the_option_there_are_no_partial_messages(place: Place) -> None:
    assert not any(isinstance(message, StreamEvent) for message in await ask(place.options(say("Hello!"))))


async def test_max_turns_ends_with_a_result_error(place: Place) -> None:
    with pytest.raises(ResultError) as caught:
        await ask(place.options(*[bash("echo hi")] * 3, max_turns=2))
    error = caught.value
    assert (error.subtype, error.terminal_reason, error.exit_code) == ("error_max_turns", "max_turns", 1)
    assert (error.data["num_turns"], error.data["is_error"]) == (3, True)
    assert "2" in error.errors[0]


async def test_a_budget_ends_the_run_before_the_tool_runs(place: Place) -> None:
    costly = {"input_tokens": 100_000, "output_tokens": 1000}
    with (
        ModelServer(
            [answer("", ToolCall("Write", {"file_path": "x", "content": ""}), usage=costly, model="claude-sonnet-4-5")]
        ) as server,
        pytest.raises(ResultError) as caught,
    ):
        await ask(place.options(server=server, max_budget_usd=0.1, permission_mode="acceptEdits"))
    assert (caught.value.subtype, caught.value.terminal_reason) == ("error_max_budget_usd", "budget_exhausted")
    assert caught.value.data["total_cost_usd"] > 0.1
    assert place.names() == []


async def test_cost_and_usage_are_told(place: Place) -> None:
    with ModelServer(
        [answer("Hello!", usage={"input_tokens": 1000, "output_tokens": 100}, model="claude-sonnet-4-5")]
    ) as server:
        ended = result(await ask(place.options(server=server)))
    assert ended.total_cost_usd == pytest.approx(0.0045)
    assert (ended.usage["input_tokens"], ended.usage["output_tokens"]) == (1000, 100)
    assert ended.model_usage["claude-sonnet-4-5"]["inputTokens"] == 1000


async def test_a_setting_that_cannot_be_used_is_a_result_error_and_one_diagnostic_line(place: Place) -> None:
    with pytest.raises(ResultError, match="CLAUDE_CODE_MAX_RETRIES") as caught:
        await ask(place.options(say("hi"), env={"CLAUDE_CODE_MAX_RETRIES": "many"}))
    assert caught.value.subtype == "error_during_execution"
    assert [line for line in place.stderr if "CLAUDE_CODE_MAX_RETRIES" in line] == place.stderr
    assert len(place.stderr) == 1


async def test_extra_arguments_replay_the_prompt(place: Place) -> None:
    messages = await ask(place.options(say("hi"), extra_args={"replay-user-messages": None}), "Say hi")
    assert kinds(messages) == ["init", "user text", "text", "success"]


async def test_unknown_extra_arguments_are_an_error_that_names_them(place: Place) -> None:
    with pytest.raises(Exception, match="exit code"):
        await ask(place.options(say("hi"), extra_args={"no-such-flag": None}))
    assert any("--no-such-flag" in line for line in place.stderr)


async def test_leaving_early_ends_the_run(place: Place) -> None:
    with anyio.fail_after(60):
        stream = query(prompt="go", options=place.options(bash("sleep 1"), say("never heard"), allowed_tools=["Bash"]))
        async for message in stream:
            if blocks([message], ToolUseBlock):
                break
        await stream.aclose()


async def test_many_runs_at_once_do_not_mix(place: Place) -> None:
    said: dict[int, list[str]] = {}

    async def run(number: int) -> None:
        said[number] = texts(await ask(place.options(call("Read", file_path="none"), say(f"number {number}"))))

    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(run, number)
    assert said == {number: [f"number {number}"] for number in range(4)}
