"""The loop: user → model → tool calls → … → result."""

from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from support_runtime import assert_valid_history, play, results, session_for, text_of, texts, until_result, user
from toolwright.models.base import ModelError, ModelRequest
from toolwright.models.scripted import BreakOff, Call, Fail, Say, ScriptedModel, Think, Turn
from toolwright.runtime.notices import with_key_source

pytestmark = pytest.mark.anyio


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_a_turn_is_init_then_one_frame_per_block_then_results_then_the_answer(tmp_path: Path) -> None:
    model = ScriptedModel([[Think("hm"), Say("I add."), Call("add", {"a": 1, "b": 2})], Say("It is 3.")])
    frames = await play(tmp_path, model, tools=[add])
    kinds = [(frame["type"], frame.get("subtype") or frame["message"]["content"][0]["type"]) for frame in frames]
    assert kinds == [
        ("system", "init"),
        ("assistant", "thinking"),
        ("assistant", "text"),
        ("assistant", "tool_use"),
        ("user", "tool_result"),
        ("assistant", "text"),
        ("result", "success"),
    ]
    first_message = {frame["message"]["id"] for frame in frames[1:4]}
    assert len(first_message) == 1
    assert frames[-1]["result"] == "It is 3."
    assert frames[-1]["num_turns"] == 2
    assert_valid_history(model)


async def test_the_next_request_carries_all_results_in_the_order_of_the_calls(tmp_path: Path) -> None:
    model = ScriptedModel([[Call("add", {"a": n, "b": 0}, id=f"c{n}") for n in range(5)], Say("done")])
    await play(tmp_path, model, tools=[add])
    last = list(model.requests[1].messages)[-1]
    assert [block["tool_use_id"] for block in last.content] == [f"c{n}" for n in range(5)]


async def test_old_messages_are_the_same_objects_in_every_request(tmp_path: Path) -> None:
    model = ScriptedModel([Call("add", {"a": 1, "b": 1}), Call("add", {"a": 2, "b": 2}), Say("done")])
    async with session_for(tmp_path, model, tools=[add]) as session:
        await session.send(user("go"))
        await until_result(session)
        history = session.started.conversation.history
        assert [message.role for message in history] == ["user", "assistant", "user", "assistant", "user", "assistant"]
        assert all(sent is kept for sent, kept in zip(model.requests[-1].messages, history, strict=False))


# every call gets exactly one result


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (Call("Nonsense", {}), "<tool_use_error>Error: No such tool available: Nonsense"),
        (Call("add", '{"a": 1, '), "The tool input cannot be read"),
        (Call("add", "[1, 2]"), "not a JSON object"),
        (Call("add", '{"a": NaN, "b": 1}'), "The tool input cannot be read"),
        (Call("add", {"a": "one", "b": 2}), "Input validation error"),
        (Call("add", {"a": 1, "b": 2, "c": 3}), "Input validation error"),
        (Call("Read", {}), "<tool_use_error>InputValidationError: Read failed"),
        (Call("Read", {"file_path": 7}), "file_path"),
        (Call("Write", {"file_path": "x", "content": "y"}), "Write needs permission and there is no one to ask"),
        (Call("Bash", {"command": "touch x"}), "Bash needs permission"),
        (Call("Read", {"file_path": "/etc/shadow"}), "outside"),
    ],
)
async def test_a_call_that_cannot_run_gets_one_error_result_and_the_loop_goes_on(
    call: Call, expected: str, tmp_path: Path
) -> None:
    model = ScriptedModel([call, Say("I see.")])
    frames = await play(tmp_path, model, tools=["Read", "Write", "Bash", add])
    (result,) = results(frames)
    assert result["is_error"] is True
    assert expected in text_of(result)
    told = next(frame["tool_use_result"] for frame in frames if "tool_use_result" in frame)
    assert told.startswith(("Error: ", "InputValidationError: "))
    assert not told.startswith("Error: Error:")
    assert frames[-1]["result"] == "I see."
    assert_valid_history(model)


async def test_a_raising_function_is_an_error_result(tmp_path: Path) -> None:
    def explode() -> str:
        raise RuntimeError("the fuse is short")

    model = ScriptedModel([Call("explode", {}), Say("ouch")])
    frames = await play(tmp_path, model, tools=[explode])
    assert "the fuse is short" in text_of(results(frames)[0])
    assert frames[-1]["subtype"] == "success"


async def test_a_hundred_calls_at_once_get_a_hundred_results(tmp_path: Path) -> None:
    model = ScriptedModel([[Call("add", {"a": n, "b": 1}) for n in range(100)], Say("done")])
    frames = await play(tmp_path, model, tools=[add])
    assert [text_of(result) for result in results(frames)] == [str(n + 1) for n in range(100)]
    assert_valid_history(model)


async def test_calls_with_repeated_or_missing_ids_get_ids_of_their_own(tmp_path: Path) -> None:
    calls = [
        Call("add", {"a": 1, "b": 1}, id="same"),
        Call("add", {"a": 2, "b": 2}, id="same"),
        Call("add", {"a": 3, "b": 3}, id=""),
    ]
    model = ScriptedModel([calls, Call("add", {"a": 4, "b": 4}, id="same"), Say("done")])
    frames = await play(tmp_path, model, tools=[add])
    ids = [result["tool_use_id"] for result in results(frames)]
    assert len(set(ids)) == 4
    assert_valid_history(model)


async def test_an_invalid_call_with_a_repeated_id_is_not_run_with_empty_input(tmp_path: Path) -> None:
    ran: list[str] = []

    def note(text: str = "nothing") -> str:
        """Note it."""
        ran.append(text)
        return "noted"

    model = ScriptedModel([[Call("note", {"text": "a"}, id="x"), Call("note", '{"text": ', id="x")], Say("done")])
    frames = await play(tmp_path, model, tools=[note])
    assert ran == ["a"]
    assert [result.get("is_error") for result in results(frames)] == [None, True]


async def test_an_answer_without_content_ends_the_turn_and_the_next_one_works(tmp_path: Path) -> None:
    model = ScriptedModel([Turn([]), Say("hello")])
    async with session_for(tmp_path, model, tools=[]) as session:
        await session.send(user("one"))
        assert (await until_result(session))[-1]["result"] == ""
        await session.send(user("two"))
        assert (await until_result(session))[-1]["result"] == "hello"


async def test_calls_are_run_even_when_the_model_says_it_is_done(tmp_path: Path) -> None:
    model = ScriptedModel([Turn([Call("add", {"a": 1, "b": 2})], stop_reason="end_turn"), Say("3")])
    frames = await play(tmp_path, model, tools=[add])
    assert text_of(results(frames)[0]) == "3"
    assert_valid_history(model)


# concurrency


async def test_read_only_calls_run_together_and_the_others_in_order(tmp_path: Path) -> None:
    from toolwright import ToolAnnotations, tool

    running: list[str] = []
    both_there = anyio.Event()
    order: list[str] = []

    @tool("look", "Look.", {"name": str}, annotations=ToolAnnotations(readOnlyHint=True))
    async def look(arguments: dict[str, Any]) -> dict[str, Any]:
        running.append(arguments["name"])
        if len(running) == 2:
            both_there.set()
        await both_there.wait()
        return {"content": [{"type": "text", "text": arguments["name"]}]}

    @tool("change", "Change.", {"name": str})
    async def change(arguments: dict[str, Any]) -> dict[str, Any]:
        order.append(f"begin {arguments['name']}")
        await anyio.lowlevel.checkpoint()
        order.append(f"end {arguments['name']}")
        return {"content": [{"type": "text", "text": arguments["name"]}]}

    calls = [
        Call("look", {"name": "a"}),
        Call("look", {"name": "b"}),
        Call("change", {"name": "c"}),
        Call("change", {"name": "d"}),
    ]
    model = ScriptedModel([calls, Say("done")])
    with anyio.fail_after(10):
        frames = await play(tmp_path, model, tools=[look, change])
    assert order == ["begin c", "end c", "begin d", "end d"]
    assert sorted(text_of(result) for result in results(frames)) == ["a", "b", "c", "d"]
    assert_valid_history(model)


# limits


async def test_max_turns_ends_after_the_results_of_the_last_allowed_round(tmp_path: Path) -> None:
    model = ScriptedModel([Call("add", {"a": 1, "b": 1})], repeat=True)
    frames = await play(tmp_path, model, tools=[add], max_turns=2)
    assert [frame["type"] for frame in frames[-2:]] == ["user", "result"]
    assert frames[-1]["subtype"] == "error_max_turns"
    assert frames[-1]["terminal_reason"] == "max_turns"
    assert len(model.requests) == 2


async def test_the_budget_ends_the_run_before_the_call_is_made(tmp_path: Path) -> None:
    ran: list[int] = []

    def work() -> str:
        """Work."""
        ran.append(1)
        return "worked"

    expensive = Turn([Call("work", {})], usage={"input_tokens": 10_000_000, "output_tokens": 1})
    model = ScriptedModel([expensive, Say("never")], model="claude-sonnet-4-5")
    async with session_for(tmp_path, model, tools=[work], max_budget_usd=0.5) as session:
        await session.send(user("go"))
        frames = await until_result(session)
        assert frames[-1]["subtype"] == "error_max_budget_usd"
        assert frames[-1]["total_cost_usd"] > 0.5
        assert ran == []
        assert "not run" in text_of(results(frames)[0])
    assert_valid_history(model)


async def test_a_budget_that_cannot_be_kept_is_an_error_not_a_guess(tmp_path: Path) -> None:
    frames = await play(tmp_path, ScriptedModel([Say("hi")], model="unknown-model"), tools=[], max_budget_usd=1.0)
    assert frames[-1]["is_error"] is True
    assert "no price is known for unknown-model" in frames[-1]["errors"][0]
    assert frames[-1]["total_cost_usd"] is None


async def test_cost_and_usage_are_added_up_per_model(tmp_path: Path) -> None:
    usage = {"input_tokens": 1_000_000, "output_tokens": 0, "cache_read_input_tokens": 1_000_000}
    model = ScriptedModel(
        [Turn([Call("add", {"a": 1, "b": 1})], usage=usage), Turn([Say("2")], usage=usage)], model="claude-sonnet-4-5"
    )
    frames = await play(tmp_path, model, tools=[add])
    result = frames[-1]
    assert result["usage"]["input_tokens"] == 2_000_000
    row = result["modelUsage"]["claude-sonnet-4-5"]
    assert row["cacheReadInputTokens"] == 2_000_000
    assert result["total_cost_usd"] == pytest.approx(row["costUSD"])
    assert result["total_cost_usd"] > 0


# stop reasons


async def test_an_answer_cut_by_the_output_limit_is_continued_once(tmp_path: Path) -> None:
    cut = Turn([Say("half")], stop_reason="max_tokens")
    model = ScriptedModel([cut, cut, Say("never")])
    frames = await play(tmp_path, model, tools=[])
    assert texts(frames) == ["half", "half"]
    assert [frame.get("isSynthetic") for frame in frames if frame["type"] == "user"] == [True]


async def test_a_paused_answer_is_asked_for_again(tmp_path: Path) -> None:
    model = ScriptedModel([Turn([Say("wait")], stop_reason="pause_turn"), Say("done")])
    assert texts(await play(tmp_path, model, tools=[])) == ["wait", "done"]


# failing models


async def test_a_failed_request_is_an_error_message_and_an_error_result(tmp_path: Path) -> None:
    model = ScriptedModel([Fail("no such key", kind="authentication_failed", status=401), Say("back")])
    async with session_for(tmp_path, model, tools=[]) as session:
        await session.send(user("one"))
        frames = await until_result(session)
        assert frames[-2]["error"] == "authentication_failed"
        assert frames[-2]["message"]["model"] == "<synthetic>"
        result = frames[-1]
        assert (result["subtype"], result["is_error"], result["api_error_status"]) == ("success", True, 401)
        assert result["terminal_reason"] == "api_error"
        await session.send(user("two"))
        assert (await until_result(session))[-1]["result"] == "back"


async def test_a_broken_stream_keeps_the_text_and_never_runs_the_half_received_call(tmp_path: Path) -> None:
    ran: list[int] = []

    def work(text: str) -> str:
        """Work."""
        ran.append(1)
        return text

    answer = Turn([Say("I begin now."), Call("work", {"text": "x" * 50})])
    seen: list[ModelRequest] = []

    def after(request: ModelRequest) -> Say:
        seen.append(request)
        return Say("again")

    for cut_at in range(2, 12):
        ran.clear()
        model = ScriptedModel([BreakOff(answer, cut_at), after])
        folder = tmp_path / str(cut_at)
        folder.mkdir()
        async with session_for(folder, model, tools=[work]) as session:
            await session.send(user("go"))
            frames = await until_result(session)
            assert frames[-1]["is_error"] is True
            assert ran == []
            await session.send(user("once more"))
            assert (await until_result(session))[-1]["result"] == "again"
        assert_valid_history(model)
    assert any("I begin" in str(request.messages) for request in seen)


async def test_the_fallback_model_answers_when_the_first_cannot(tmp_path: Path) -> None:
    first = ScriptedModel([Fail("busy", kind="overloaded", status=529)], model="first")
    second = tmp_path / "second.json"
    second.write_text('{"model": "second", "steps": [{"text": "I am here."}]}')
    frames = await play(tmp_path, first, tools=[], fallback_model=f"scripted:{second}")
    assert texts(frames) == ["I am here."]
    notice = next(frame for frame in frames if frame.get("subtype") == "model_fallback")
    assert (notice["from_model"], notice["to_model"]) == ("first", "second")


async def test_after_a_fallback_the_session_goes_on_with_it_and_without_the_firsts_thinking(tmp_path: Path) -> None:
    first = ScriptedModel([[Think("hm"), Call("add", {"a": 1, "b": 1})], Fail("busy", kind="overloaded", status=529)])
    second = tmp_path / "second.json"
    second.write_text('{"model": "second", "steps": [{"text": "two"}, {"text": "still me"}]}')
    async with session_for(tmp_path, first, tools=[add], fallback_model=f"scripted:{second}") as session:
        await session.send(user("go"))
        assert (await until_result(session))[-1]["result"] == "two"
        await session.send(user("again"))
        frames = await until_result(session)
        kinds = {block["type"] for message in session.started.conversation.history for block in message.content}
    assert (frames[0]["model"], frames[-1]["result"]) == ("second", "still me")
    assert "thinking" not in kinds


async def test_an_overloaded_server_is_named_so_that_clients_know_it(tmp_path: Path) -> None:
    overloaded = Fail("busy", kind="overloaded", status=529, retry_after=0.0)
    frames = await play(tmp_path, ScriptedModel([overloaded, overloaded]), tools=[], env={"CLAUDE_CODE_MAX_RETRIES": "1"})
    assert [frame["error"] for frame in frames if "error" in frame] == ["overloaded", "server_error"]


async def test_retries_are_told_and_the_answer_comes_once(tmp_path: Path) -> None:
    model = ScriptedModel([Fail("slow down", kind="rate_limit", status=429, retry_after=0.0), Say("now")])
    frames = await play(tmp_path, model, tools=[], env={"CLAUDE_CODE_MAX_RETRIES": "3"})
    retry = next(frame for frame in frames if frame.get("subtype") == "api_retry")
    assert (retry["attempt"], retry["max_retries"], retry["error_status"], retry["error"]) == (1, 3, 429, "rate_limit")
    assert texts(frames) == ["now"]
    users = [message for message in list(model.requests[-1].messages) if message.role == "user"]
    assert len(users) == 1


# partial messages


async def test_partial_messages_come_as_events_and_each_block_before_its_stop(tmp_path: Path) -> None:
    frames = await play(tmp_path, ScriptedModel([Say("a longer text in pieces")]), tools=[], include_partial_messages=True)
    order = [frame["event"]["type"] if frame["type"] == "stream_event" else frame["type"] for frame in frames]
    assert order.index("assistant") == order.index("content_block_stop") - 1
    deltas = [
        frame["event"]["delta"]["text"]
        for frame in frames
        if frame["type"] == "stream_event" and frame["event"]["type"] == "content_block_delta"
    ]
    assert "".join(deltas) == "a longer text in pieces"
    assert len(deltas) > 1


# prompts


async def test_the_system_prompt_in_all_its_forms(tmp_path: Path) -> None:
    file = tmp_path / "prompt.md"
    file.write_text("From a file.")
    forms: list[tuple[Any, str]] = [
        ("Be brief.", "Be brief."),
        ({"type": "custom", "prompt": "Custom."}, "Custom."),
        ({"type": "file", "path": str(file)}, "From a file."),
        ({"type": "preset", "preset": "claude_code", "append": "And be kind."}, "And be kind."),
        (None, "You are an agent."),
    ]
    for form, expected in forms:
        model = ScriptedModel([Say("ok")])
        await play(tmp_path, model, system_prompt=form)
        assert expected in model.requests[0].system
        assert str(tmp_path / "workspace") in model.requests[0].system


async def test_an_empty_prompt_is_refused_without_asking_the_model(tmp_path: Path) -> None:
    model = ScriptedModel([Say("never")])
    frames = await play(tmp_path, model, prompt="  \n", tools=[])
    assert frames[-1]["is_error"] is True
    assert "empty" in frames[-1]["errors"][0]
    assert model.requests == []


async def test_images_in_a_prompt_reach_the_model_as_they_are(tmp_path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    model = ScriptedModel([Say("a picture")])
    async with session_for(tmp_path, model, tools=[]) as session:
        content = [{"type": "text", "text": "What is it?"}, image]
        await session.send({"type": "user", "message": {"role": "user", "content": content}})
        await until_result(session)
    assert model.requests[0].messages[0].content == content


@pytest.mark.parametrize(
    ("source", "said"), [("ANTHROPIC_API_KEY", " (the key is the one in ANTHROPIC_API_KEY)"), ("none", "")]
)
def test_a_refused_key_says_which_variable_it_came_from(source: str, said: str) -> None:
    refused = ModelError("401: invalid x-api-key", kind="authentication_failed", status=401)
    assert str(with_key_source(refused, source)) == f"401: invalid x-api-key{said}"
    broken = ModelError("500: oops", kind="server_error", status=500)
    assert with_key_source(broken, source) is broken
