"""Tools that are changed while they are used, with a program at the other end of the wire and without one."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support_client import fake_transport, nothing_left
from toolwright import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    Message,
    SystemMessage,
    ToolResultBlock,
    UserMessage,
    create_sdk_mcp_server,
    tool,
)

pytestmark = pytest.mark.anyio


@tool("add", "Add two numbers", {"a": float, "b": float})
async def add(args: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": str(args["a"] + args["b"])}]}


def options_for(folder: Path, server: Any, *steps: dict[str, Any], over_the_wire: bool) -> ClaudeAgentOptions:
    (folder / "script.json").write_text(json.dumps({"steps": steps}))
    return ClaudeAgentOptions(
        model=f"scripted:{folder / 'script.json'}",
        mcp_servers={"calc": server},
        allowed_tools=["mcp__calc__*"],
        tools=[],
        cli_path=Path(sys.executable).with_name("toolwright") if over_the_wire else None,
        env={"CLAUDE_CONFIG_DIR": str(folder / "config")},
        cwd=folder,
    )


async def asked(client: ClaudeSDKClient) -> tuple[list[str], list[str]]:
    """One message: the tools that the session had for it, and the texts of its results."""
    await client.query("go")
    heard = [message async for message in client.receive_response()]
    (init,) = [message for message in heard if isinstance(message, SystemMessage) and message.subtype == "init"]
    return [name.removeprefix("mcp__calc__") for name in init.data["tools"]], results_of(heard)


def results_of(heard: list[Message]) -> list[str]:
    blocks = [block for message in heard if isinstance(message, UserMessage) for block in message.content]
    return [str(block.content) for block in blocks if isinstance(block, ToolResultBlock)]


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": f"mcp__calc__{name}", "input": arguments}


@pytest.mark.parametrize("over_the_wire", [False, True])
async def test_a_session_has_the_tools_as_they_were_left(tmp_path: Path, over_the_wire: bool) -> None:
    config = create_sdk_mcp_server("calc", tools=[add])
    server = config["instance"]

    @tool("grow", "Add a tool, in the middle of a turn", {})
    async def grow(args: dict[str, Any]) -> dict[str, Any]:
        server.register(tool("grown", "A new one", {})(grown_now))
        return {"content": [{"type": "text", "text": "grown"}]}

    async def grown_now(args: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "from the new one"}]}

    done = {"text": "done"}
    steps = [done, done, call("sum", a=1, b=2), done, call("grow"), call("grown"), done, done]
    options = options_for(tmp_path, config, *steps, over_the_wire=over_the_wire)
    async with nothing_left(), ClaudeSDKClient(options) as client:
        assert await asked(client) == (["add"], [])
        handle = server.registered("add")
        handle.disable()
        assert await asked(client) == ([], [])
        handle.enable()
        handle.update(name="sum")
        server.register(grow)
        names, (summed,) = await asked(client)
        assert names == ["sum", "grow"]
        assert "3" in summed
        _, (grown, new) = await asked(client)
        assert "grown" in grown
        assert "from the new one" in new
        server.registered("grow").remove()
        assert (await asked(client))[0] == ["sum", "grown"]


async def test_a_program_that_does_not_want_to_hear_of_it_is_left_alone() -> None:
    config = create_sdk_mcp_server("calc", tools=[add])
    listing = 'tool calc {"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    async with (
        fake_transport() as transport,
        ClaudeSDKClient(ClaudeAgentOptions(mcp_servers={"calc": config}), transport) as client,
    ):
        await client.query(listing)
        first = [message async for message in client.receive_response()]
        config["instance"].registered("add").disable()
        await client.query("say still here")
        second = [message async for message in client.receive_response()]
    assert '"name": "add"' in str(first)
    assert "still here" in str(second)


@pytest.mark.parametrize("over_the_wire", [False, True])
async def test_a_session_tells_of_lists_that_a_server_here_says_have_changed(tmp_path: Path, over_the_wire: bool) -> None:
    config = create_sdk_mcp_server("calc", tools=[add])
    server = config["instance"]
    options = options_for(tmp_path, config, *[{"text": "done"}] * 3, over_the_wire=over_the_wire)

    async def events() -> list[tuple[str, str]]:
        await client.query("go")
        heard = [message async for message in client.receive_response()]
        told = [message.data for message in heard if isinstance(message, SystemMessage)]
        return [(data["server"], data["event"]) for data in told if data["subtype"] == "mcp_list_changed"]

    async with nothing_left(), ClaudeSDKClient(options) as client:
        assert await events() == []
        server.resources_changed()
        server.prompts_changed()
        server.resources_changed()
        assert await events() == [("calc", "ResourceListChanged"), ("calc", "PromptListChanged")]
        server.registered("add").disable()
        assert await events() == [("calc", "ToolListChanged")]
