"""The published SDK's `ClaudeSDKClient` with our command: many turns, controls, interrupts at any moment."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeSDKClient,
    PermissionResultAllow,
    ResultMessage,
    StreamEvent,
    ToolUseBlock,
    create_sdk_mcp_server,
    tool,
)
from published import (
    BOTH_BACKENDS,
    Place,
    answer_of,
    ask,
    bash,
    blocks,
    call,
    client_of,
    content_text,
    init,
    kinds,
    prompts,
    result,
    results,
    say,
    texts,
)

from toolwright.testing import ModelServer, Stall, answer
from toolwright.testing.messages_dialect import broken

pytestmark = BOTH_BACKENDS


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def test_many_turns_are_one_conversation(place: Place) -> None:
    with ModelServer([answer("one"), answer("two"), answer("three")]) as server:
        async with client_of(place.options(server=server)) as client:
            turns = [await answer_of(client, prompt) for prompt in ("first", "second", "third")]
    assert [texts(messages) for messages in turns] == [["one"], ["two"], ["three"]]
    assert len({result(messages).session_id for messages in turns}) == 1
    assert [message["role"] for message in server.requests[2].json["messages"]] == ["user", "assistant"] * 2 + ["user"]


async def test_connect_with_a_prompt(place: Place) -> None:
    client = ClaudeSDKClient(place.options(say("hello")))
    with anyio.fail_after(60):
        await client.connect(prompts("Hi"))
        messages = [message async for message in client.receive_response()]
        await client.disconnect()
    assert texts(messages) == ["hello"]


async def test_messages_sent_during_a_turn_wait_for_it(place: Place) -> None:
    async with client_of(place.options(bash("sleep 0.2"), say("one"), say("two"), allowed_tools=["Bash"])) as client:
        await client.query("first")
        await client.query("second")
        said = [texts([message async for message in client.receive_response()]) for _ in range(2)]
    assert said == [["one"], ["two"]]


async def test_an_error_result_does_not_end_the_session(place: Place) -> None:
    failing = {"error": {"kind": "authentication_failed", "status": 401, "message": "bad key"}}
    async with client_of(place.options(failing, say("better"))) as client:
        messages = await answer_of(client)
        assert (result(messages).is_error, result(messages).api_error_status) == (True, 401)
        assert [message.error for message in messages if isinstance(message, AssistantMessage)] == ["authentication_failed"]
        assert texts(await answer_of(client)) == ["better"]


# controls


async def test_the_model_may_be_changed_between_turns(place: Place) -> None:
    with ModelServer([answer("one"), answer("two")]) as server:
        async with client_of(place.options(server=server)) as client:
            await answer_of(client)
            await client.set_model("claude-haiku-4-5")
            messages = await answer_of(client)
    assert kinds(messages) == ["user", "init", "text", "success"]
    assert init(messages)["model"] == "claude-haiku-4-5"
    assert [request.json["model"] for request in server.requests] == ["claude-sonnet-4-5", "claude-haiku-4-5"]


async def test_a_model_that_does_not_exist_is_refused_and_the_session_goes_on(place: Place) -> None:
    async with client_of(place.options(say("one"))) as client:
        with pytest.raises(Exception, match="nowhere"):
            await client.set_model("scripted:/nowhere.json")
        assert texts(await answer_of(client)) == ["one"]


async def test_the_permission_mode_may_be_changed(place: Place) -> None:
    steps = [call("Write", file_path="a", content=""), say("one"), call("Write", file_path="b", content=""), say("two")]
    async with client_of(place.options(*steps)) as client:
        assert len(result(await answer_of(client)).permission_denials) == 1
        await client.set_permission_mode("acceptEdits")
        messages = await answer_of(client)
    assert init(messages)["permissionMode"] == "acceptEdits"
    assert place.names() == ["b"]


async def test_a_mode_that_does_not_exist_is_refused_and_the_session_goes_on(place: Place) -> None:
    async with client_of(place.options(say("one"))) as client:
        with pytest.raises(Exception, match="Cannot set permission mode: must be one of"):
            await client.set_permission_mode("sudo")
        assert init(await answer_of(client))["permissionMode"] == "default"


async def test_the_session_describes_itself(place: Place) -> None:
    async with client_of(place.options(say("one"))) as client:
        info = await client.get_server_info()
        needed = {
            "commands",
            "agents",
            "models",
            "account",
            "output_style",
            "available_output_styles",
            "current_permission_mode",
        }
        assert info is not None
        assert needed <= set(info)
        usage = await client.get_context_usage()
        assert {"categories", "totalTokens", "maxTokens", "rawMaxTokens", "percentage", "model", "gridRows"} <= set(usage)
        await answer_of(client)
        assert (await client.get_context_usage())["totalTokens"] > 0


async def test_controls_that_have_nothing_to_do(place: Place) -> None:
    async with client_of(place.options(say("one"))) as client:
        await client.stop_task("no-such-task")
        await client.interrupt()
        with pytest.raises(Exception, match="File rewinding is not enabled"):
            await client.rewind_files("no-such-message")
        assert texts(await answer_of(client)) == ["one"]


# interrupts: each time the session is usable afterwards


async def test_interrupted_while_the_model_streams(place: Place) -> None:
    with ModelServer([broken("the beginning of", Stall()), answer("back")]) as server:
        async with client_of(place.options(server=server, include_partial_messages=True)) as client:
            await client.query("go")
            messages: list[Any] = []
            async for message in client.receive_response():
                messages.append(message)
                if isinstance(message, StreamEvent) and message.event["type"] == "content_block_delta":
                    await client.interrupt()
            await expect_interrupted(client, messages, "aborted_streaming")
    assert texts(messages) == ["the beginning of"]
    assert "the beginning of" in str(server.requests[1].json["messages"])


async def test_interrupted_while_a_command_runs(place: Place) -> None:
    steps = bash("touch begun; sleep 300; touch ended"), say("back")
    async with client_of(place.options(*steps, allowed_tools=["Bash"])) as client:
        await client.query("go")
        messages = await interrupted_when(client, (place.workspace / "begun").exists)
        await expect_interrupted(client, messages, "aborted_tools")
    assert results(messages)[0].is_error is True
    assert place.names() == ["begun"]


async def test_interrupted_while_a_python_tool_runs(place: Place) -> None:
    begun, cancelled = anyio.Event(), anyio.Event()

    @tool("hang", "Hang", {})
    async def hang(given: dict[str, Any]) -> dict[str, Any]:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()
        return {}

    servers = {"x": create_sdk_mcp_server("x", tools=[hang])}
    options = place.options(call("mcp__x__hang"), say("back"), mcp_servers=servers, allowed_tools=["mcp__x"])
    async with client_of(options) as client:
        await client.query("go")
        messages = await interrupted_when(client, begun.is_set)
        await expect_interrupted(client, messages, "aborted_tools")
        await cancelled.wait()


async def test_interrupted_while_a_person_is_asked(place: Place) -> None:
    asked, withdrawn = anyio.Event(), anyio.Event()

    async def person(name: str, given: dict[str, Any], context: Any) -> PermissionResultAllow:
        asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            withdrawn.set()
        return PermissionResultAllow()

    async with client_of(place.options(bash("touch x"), say("back"), can_use_tool=person)) as client:
        await client.query("go")
        messages = await interrupted_when(client, asked.is_set)
        await withdrawn.wait()
        await expect_interrupted(client, messages, "aborted_tools")
    assert place.names() == []


async def interrupted_when(client: ClaudeSDKClient, condition: Any) -> list[Any]:
    """The messages of a turn that is interrupted as soon as the condition holds."""

    async def interrupt() -> None:
        while not condition():
            await anyio.sleep(0.01)  # a file made by another process can only be looked for
        await client.interrupt()

    messages: list[Any] = []
    async with anyio.create_task_group() as group:
        group.start_soon(interrupt)
        messages += [message async for message in client.receive_response()]
    return messages


async def expect_interrupted(client: ClaudeSDKClient, messages: list[Any], reason: str) -> None:
    ended = result(messages)
    assert (ended.subtype, ended.is_error, ended.terminal_reason) == ("error_during_execution", True, reason)
    called = [block.id for block in blocks(messages, ToolUseBlock)]
    assert [block.tool_use_id for block in results(messages)] == called
    assert all(content_text(block) for block in results(messages))
    assert kinds(messages)[-2:] == ["user text", "error_during_execution"]
    again = await answer_of(client, "go on")
    assert (texts(again), result(again).is_error) == (["back"], False)


async def test_two_clients_at_once(place: Place) -> None:
    said: dict[str, list[str]] = {}

    async def talk(name: str) -> None:
        async with client_of(place.options(say(f"{name} one"), say(f"{name} two"))) as client:
            said[name] = [text for _ in range(2) for text in texts(await answer_of(client))]

    async with anyio.create_task_group() as group:
        group.start_soon(talk, "a")
        group.start_soon(talk, "b")
    assert said == {"a": ["a one", "a two"], "b": ["b one", "b two"]}


async def test_reading_and_sending_may_be_two_tasks(place: Place) -> None:
    heard: list[Any] = []
    async with client_of(place.options(say("one"), say("two"))) as client, anyio.create_task_group() as group:
        done = anyio.Event()

        async def read() -> None:
            async for message in client.receive_messages():
                heard.append(message)
                if len([each for each in heard if isinstance(each, ResultMessage)]) == 2:
                    break
            done.set()

        group.start_soon(read)
        await client.query("first")
        await client.query("second")
        await done.wait()
    assert texts(heard) == ["one", "two"]


async def test_a_query_on_this_backend(place: Place) -> None:
    assert texts(await ask(place.options(bash("echo hi"), say("done"), allowed_tools=["Bash"]))) == ["done"]
