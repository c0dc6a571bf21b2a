"""Tools of servers that wait until they are searched for, in whole conversations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support_runtime import play, results, session_for, text_of, until_result, user
from toolwright import create_sdk_mcp_server, tool
from toolwright.mcp.session.tool_search import Policy, policy_of
from toolwright.models.scripted import Call, Say, ScriptedModel, Turn
from toolwright.types import OptionsError

pytestmark = pytest.mark.anyio

ON = {"ENABLE_TOOL_SEARCH": "true"}


def shop(count: int = 30) -> dict[str, Any]:
    """A server with tools about fruit."""

    def make(number: int) -> Any:
        @tool(f"count_fruit_{number}", f"Counts the fruit of kind {number} in the shop.", {"kind": str})
        async def counting(arguments: dict[str, Any]) -> dict[str, Any]:
            return {"content": [{"type": "text", "text": f"{number} pieces"}]}

        return counting

    @tool("order_pizza", "Orders a pizza by telephone.", {"size": int})
    async def order(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "on its way"}]}

    return {"shop": create_sdk_mcp_server("shop", tools=[*map(make, range(count)), order])}


def offered(model: ScriptedModel, request: int) -> list[str]:
    return [spec.name for spec in model.requests[request].tools]


async def test_a_tool_is_searched_for_loaded_and_called(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            Turn([Call("ToolSearch", {"query": "pizza"})]),
            Turn([Call("mcp__shop__order_pizza", {"size": 3})]),
            Turn([Say("done")]),
        ]
    )
    frames = await play(tmp_path, model, mcp_servers=shop(), allowed_tools=["mcp__shop"], env=ON)
    found, ordered = map(text_of, results(frames))
    assert "- mcp__shop__order_pizza: Orders a pizza by telephone." in found
    assert ordered == "on its way"
    first, second = offered(model, 0), offered(model, 1)
    assert "ToolSearch" in first
    assert not [name for name in first if name.startswith("mcp__")]
    assert second == [*first, "mcp__shop__order_pizza"], "what is loaded comes at the end"
    assert model.requests[0].tools == model.requests[1].tools[:-1], "what was before it stays as it was"
    described = next(spec for spec in model.requests[0].tools if spec.name == "ToolSearch").description
    assert "order_pizza" in described


async def test_a_tool_that_waits_can_be_called_by_its_name(tmp_path: Path) -> None:
    model = ScriptedModel([Turn([Call("mcp__shop__order_pizza", {"size": 3})]), Turn([Say("done")])])
    frames = await play(tmp_path, model, mcp_servers=shop(), allowed_tools=["mcp__shop"], env=ON)
    assert text_of(results(frames)[0]) == "on its way"


async def test_tools_are_loaded_by_name_with_or_without_the_servers_part(tmp_path: Path) -> None:
    query = "select:order_pizza, mcp__shop__count_fruit_3,nothing"
    model = ScriptedModel([Turn([Call("ToolSearch", {"query": query})]), Turn([Say("done")])])
    frames = await play(tmp_path, model, mcp_servers=shop(), env=ON)
    assert "There is no such tool: nothing" in text_of(results(frames)[0])
    assert offered(model, 1)[-2:] == ["mcp__shop__order_pizza", "mcp__shop__count_fruit_3"]


async def test_at_most_five_are_loaded_and_further_ones_named(tmp_path: Path) -> None:
    model = ScriptedModel([Turn([Call("ToolSearch", {"query": "count fruit", "max_results": 50})]), Turn([Say("done")])])
    frames = await play(tmp_path, model, mcp_servers=shop(), env=ON)
    assert len(offered(model, 1)) == len(offered(model, 0)) + 5
    assert "Also found" in text_of(results(frames)[0])


async def test_few_tools_do_not_wait_and_nothing_is_searched_for(tmp_path: Path) -> None:
    model = ScriptedModel([Turn([Say("done")])])
    await play(tmp_path, model, mcp_servers=shop(3))
    assert "mcp__shop__order_pizza" in offered(model, 0)
    assert "ToolSearch" not in offered(model, 0)


async def test_many_tools_wait_by_themselves_unless_that_is_turned_off(tmp_path: Path) -> None:
    for setting, waits in (("auto", True), ("auto:90", False), ("false", False)):
        model = ScriptedModel([Turn([Say("done")])])
        await play(tmp_path, model, mcp_servers=shop(600), env={"ENABLE_TOOL_SEARCH": setting})
        assert ("ToolSearch" in offered(model, 0)) is waits, setting


async def test_a_tool_whose_server_wants_it_loaded_does_not_wait(tmp_path: Path) -> None:
    servers = shop()
    pizza = next(served for served in servers["shop"]["instance"].tools if served.name == "order_pizza")
    pizza.meta["anthropic/alwaysLoad"] = True
    model = ScriptedModel([Turn([Say("done")])])
    await play(tmp_path, model, mcp_servers=servers, env=ON)
    assert [name for name in offered(model, 0) if name.startswith("mcp__")] == ["mcp__shop__order_pizza"]


async def test_what_was_loaded_is_loaded_when_the_conversation_goes_on(tmp_path: Path) -> None:
    model = ScriptedModel([Turn([Call("ToolSearch", {"query": "pizza"})]), Turn([Say("found")])])
    frames = await play(tmp_path, model, mcp_servers=shop(), env=ON)
    again = ScriptedModel([Turn([Say("still there")])])
    async with session_for(tmp_path, again, mcp_servers=shop(), env=ON, resume=frames[-1]["session_id"]) as session:
        await session.send(user("go on"))
        await until_result(session)
    assert offered(again, 0)[-1] == "mcp__shop__order_pizza"


@pytest.mark.parametrize(
    ("text", "share"), [("", 10.0), ("auto", 10.0), ("auto:25", 25.0), ("TRUE", 0.0), ("false", None), ("auto:0", 0.0)]
)
def test_the_variable_is_read(text: str, share: float | None) -> None:
    assert policy_of({"ENABLE_TOOL_SEARCH": text}) == Policy(share)


@pytest.mark.parametrize("text", ["maybe", "auto:", "auto:x", "auto:101", "10"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(OptionsError, match="ENABLE_TOOL_SEARCH must be"):
        policy_of({"ENABLE_TOOL_SEARCH": text})
