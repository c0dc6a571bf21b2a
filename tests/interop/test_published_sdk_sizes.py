"""Large lines both ways: what the published SDK is told to take (`max_buffer_size`), our command gives and takes."""

from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ToolUseBlock, create_sdk_mcp_server, tool
from published import ON_ASYNCIO, Place, ask, blocks, call, content_text, prompts, result, results, say

from toolwright.testing import ModelServer, answer

pytestmark = ON_ASYNCIO

MEGABYTE = 1024 * 1024
LARGE = 30 * MEGABYTE


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def test_a_prompt_of_30_megabytes_arrives_whole(place: Place) -> None:
    with ModelServer([answer("Long.")]) as server:
        messages = await ask(place.options(server=server, max_buffer_size=2 * LARGE), prompts("x" * LARGE))
    assert result(messages).result == "Long."
    (block,) = server.requests[0].json["messages"][-1]["content"]
    assert len(block["text"]) == LARGE


async def test_a_prompt_of_30_megabytes_is_replayed_whole(place: Place) -> None:
    replay = {"extra_args": {"replay-user-messages": None}, "max_buffer_size": 2 * LARGE}
    messages = await ask(place.options(say("Long."), **replay), prompts("x" * LARGE))
    assert len(messages[1].content[0].text) == LARGE


async def test_a_tool_input_of_30_megabytes_comes_out_and_goes_to_the_tool(place: Place) -> None:
    sizes: list[int] = []

    @tool("measure", "Measure a text", {"text": str})
    async def measure(given: dict[str, Any]) -> dict[str, Any]:
        sizes.append(len(given["text"]))
        return {"content": [{"type": "text", "text": "y" * LARGE}]}

    servers = {"x": create_sdk_mcp_server("x", tools=[measure])}
    options = place.options(
        call("mcp__x__measure", text="x" * LARGE),
        say("Large."),
        mcp_servers=servers,
        allowed_tools=["mcp__x"],
        max_buffer_size=2 * LARGE,
    )
    messages = await ask(options)
    assert sizes == [LARGE]
    assert len(blocks(messages, ToolUseBlock)[0].input["text"]) == LARGE
    assert f"is {LARGE:,} characters long" in content_text(results(messages)[0])
    assert result(messages).result == "Large."


async def test_an_image_above_the_default_line_limit_of_clients_needs_one_copy_of_it(place: Place) -> None:
    """A picture of 700 KB is a line below 1 MiB: it travels once, not twice."""
    picture = "iVBORw0KGgo" + "A" * (700_000 - 11)

    @tool("picture", "Draw", {})
    async def draw(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "image", "data": picture, "mimeType": "image/png"}]}

    servers = {"x": create_sdk_mcp_server("x", tools=[draw])}
    messages = await ask(place.options(call("mcp__x__picture"), say("Nice."), mcp_servers=servers, allowed_tools=["mcp__x"]))
    assert results(messages)[0].content[0]["source"]["data"] == picture
