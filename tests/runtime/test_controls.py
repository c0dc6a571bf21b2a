"""Control requests: one table for Python callers and for the wire."""

from pathlib import Path
from typing import Any

import pytest

from support_runtime import options_for, play, results, session_for, text_of, until_result, user
from toolwright import create_sdk_mcp_server
from toolwright.models.scripted import Call, Say, ScriptedModel, Think
from toolwright.runtime.assemble import open_session
from toolwright.types import CLIConnectionError, ControlError

pytestmark = pytest.mark.anyio


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_set_permission_mode_answers_and_tells_the_new_mode(tmp_path: Path) -> None:
    model = ScriptedModel([Call("Write", {"file_path": "x", "content": "y"}), Say("done")])
    async with session_for(tmp_path, model) as session:
        assert await session.control({"subtype": "set_permission_mode", "mode": "acceptEdits"}) == {"mode": "acceptEdits"}
        await session.send(user("go"))
        frames = await until_result(session)
    assert (frames[0]["subtype"], frames[0]["permissionMode"]) == ("status", "acceptEdits")
    assert frames[1]["permissionMode"] == "acceptEdits"
    assert (tmp_path / "workspace" / "x").exists()


async def test_a_mode_that_does_not_exist_is_refused_and_the_session_goes_on(tmp_path: Path) -> None:
    async with session_for(tmp_path, ScriptedModel([Say("hi")]), tools=[]) as session:
        with pytest.raises(ControlError, match="Cannot set permission mode: must be one of default") as caught:
            await session.control({"subtype": "set_permission_mode", "mode": "yolo"})
        assert caught.value.code == "invalid_mode"
        await session.send(user("go"))
        assert (await until_result(session))[-1]["result"] == "hi"


async def test_set_model_takes_effect_with_the_next_turn_and_is_told_before_it(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"model": "other", "steps": [{"text": "I am the other."}]}')
    model = ScriptedModel([[Think("hm"), Say("first")]], model="first")
    async with session_for(tmp_path, model, tools=[]) as session:
        await session.send(user("a"))
        await until_result(session)
        assert await session.control({"subtype": "set_model", "model": f"scripted:{other}"}) == {"model": "other"}
        await session.send(user("b"))
        frames = await until_result(session)
        kinds = {block["type"] for message in session.started.conversation.history for block in message.content}
    assert frames[0]["isReplay"] is True
    assert "other" in frames[0]["message"]["content"]
    assert (frames[1]["subtype"], frames[1]["model"]) == ("init", "other")
    assert frames[-1]["result"] == "I am the other."
    assert kinds == {"text"}, "thinking of the first model must not be sent to the other"


async def test_set_model_before_the_first_turn_sends_no_frame_of_its_own(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"model": "other", "steps": [{"text": "hi"}]}')
    async with session_for(tmp_path, ScriptedModel([]), tools=[]) as session:
        await session.control({"subtype": "set_model", "model": f"scripted:{other}"})
        await session.send(user("go"))
        frames = await until_result(session)
    assert (frames[0]["type"], frames[0].get("model")) == ("system", "other")
    assert "user" not in {frame["type"] for frame in frames}


async def test_the_answer_to_initialize_lists_the_models_that_are_known(tmp_path: Path) -> None:
    async with session_for(tmp_path, ScriptedModel([], model="mine"), tools=[]) as session:
        rows = (await session.start())["models"]
    assert [row["value"] for row in rows] == ["mine", "sonnet", "opus", "haiku"]
    assert all(row["resolvedModel"] and row["displayName"] and row["description"] for row in rows)


async def test_a_model_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    async with session_for(tmp_path, ScriptedModel([Say("hi")]), tools=[]) as session:
        with pytest.raises(ControlError, match="/no/such/file"):
            await session.control({"subtype": "set_model", "model": "scripted:/no/such/file"})
        with pytest.raises(ControlError, match="must be a name"):
            await session.control({"subtype": "set_model", "model": 7})
        await session.send(user("go"))
        assert (await until_result(session))[-1]["result"] == "hi"


async def test_tool_servers_have_a_status_and_can_be_switched_off_and_on(tmp_path: Path) -> None:
    model = ScriptedModel(
        [Call("mcp__calc__add", {"a": 1, "b": 2}), Say("no"), Call("mcp__calc__add", {"a": 1, "b": 2}), Say("yes")]
    )
    servers: dict[str, Any] = {"calc": create_sdk_mcp_server("calc", version="2.0.0", tools=[add])}
    async with session_for(tmp_path, model, tools=[], mcp_servers=servers, allowed_tools=["mcp__calc"]) as session:
        (row,) = (await session.control({"subtype": "mcp_status"}))["mcpServers"]
        assert (row["name"], row["status"], row["serverInfo"]["version"]) == ("calc", "connected", "2.0.0")
        assert [tool["name"] for tool in row["tools"]] == ["add"]
        await session.control({"subtype": "mcp_toggle", "serverName": "calc", "enabled": False})
        await session.send(user("go"))
        assert "No such tool" in text_of(results(await until_result(session))[0])
        assert (await session.control({"subtype": "mcp_status"}))["mcpServers"][0]["status"] == "disabled"
        await session.control({"subtype": "mcp_toggle", "serverName": "calc", "enabled": True})
        await session.control({"subtype": "mcp_reconnect", "serverName": "calc"})
        await session.send(user("go"))
        assert text_of(results(await until_result(session))[0]) == "3"
        with pytest.raises(ControlError, match="Server not found: nope"):
            await session.control({"subtype": "mcp_reconnect", "serverName": "nope"})


async def test_a_server_that_fails_to_list_its_tools_breaks_nothing_else(tmp_path: Path) -> None:
    class Broken:
        name = "broken"
        version = "0"

        async def list_tools(self) -> list[Any]:
            raise RuntimeError("out of order")

        async def call_tool(self, name: str, arguments: dict[str, Any], *, tool_use_id: str = "") -> dict[str, Any]:
            return {}

    servers: dict[str, Any] = {
        "broken": {"type": "sdk", "name": "broken", "instance": Broken()},
        "calc": create_sdk_mcp_server("calc", tools=[add]),
    }
    model = ScriptedModel([Call("mcp__calc__add", {"a": 1, "b": 2}), Say("done")])
    frames = await play(tmp_path, model, tools=[], mcp_servers=servers, allowed_tools=["mcp__calc__*"])
    assert [(row["name"], row["status"]) for row in frames[0]["mcp_servers"]] == [("broken", "failed"), ("calc", "connected")]
    assert text_of(results(frames)[0]) == "3"


async def test_context_usage_adds_up(tmp_path: Path) -> None:
    async with session_for(tmp_path, ScriptedModel([Say("hi")], model="claude-sonnet-4-5")) as session:
        before = await session.control({"subtype": "get_context_usage"})
        await session.send(user("x" * 4000))
        await until_result(session)
        after = await session.control({"subtype": "get_context_usage"})
    assert after["totalTokens"] - before["totalTokens"] >= 1000
    assert sum(category["tokens"] for category in after["categories"]) == after["totalTokens"]
    assert after["maxTokens"] == 200_000


async def test_initialize_may_be_asked_twice(tmp_path: Path) -> None:
    session = open_session(options_for(tmp_path, ScriptedModel([Say("hi")]), tools=[]))
    with pytest.raises(CLIConnectionError, match="Not started"):
        await session.control({"subtype": "mcp_status"})
    first = await session.control({"subtype": "initialize"})
    second = await session.control({"subtype": "initialize"})
    assert first == second
    assert first["hook_on_failure_supported"] is True
    await session.close()


async def test_what_is_not_known_is_refused_by_name(tmp_path: Path) -> None:
    async with session_for(tmp_path, ScriptedModel([]), tools=[]) as session:
        with pytest.raises(ControlError, match="Unsupported control request subtype: dance") as caught:
            await session.control({"subtype": "dance"})
        assert caught.value.code == "unsupported_request"
        assert await session.control({"subtype": "stop_task", "task_id": "x"}) == {}
        with pytest.raises(ControlError, match="File rewinding is not enabled"):
            await session.control({"subtype": "rewind_files", "user_message_id": "x"})
