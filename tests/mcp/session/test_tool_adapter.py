"""Served tools as the runtime sees them: names, effects, results."""

import re
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_runtime import play, results, text_of
from toolwright.mcp.author.annotations import ToolAnnotations
from toolwright.mcp.author.server import InProcessServer, create_sdk_mcp_server
from toolwright.mcp.author.tool import as_tool, tool
from toolwright.mcp.rpc import ToolServerError
from toolwright.mcp.session.tool_adapter import MAX_NAME_LENGTH, ServedToolAdapter, adapt_tools, server_prefix
from toolwright.mcp.session.toolbox import Toolbox
from toolwright.mcp.tool_server import ServedTool
from toolwright.models.scripted import Call, Say, ScriptedModel
from toolwright.tools.base import Effects, InvalidInput, Tool, ToolContext

pytestmark = pytest.mark.anyio

VALID = re.compile(r"[A-Za-z0-9_-]{1,64}")


async def listed(servers: dict[str, InProcessServer]) -> list[Tool]:
    toolbox = Toolbox((), servers)
    await toolbox.connect()
    return list(toolbox.tools.values())


@tool("get_temperature", "How warm it is", {"city": str}, annotations=ToolAnnotations(readOnlyHint=True, maxResultSizeChars=9))
async def get_temperature(args: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"12° in {args['city']}"}]}


def context() -> ToolContext:
    return ToolContext(workspace=cast("Any", None), tool_use_id="toolu_1")


def named(*names: str) -> list[ServedTool]:
    return [ServedTool(name, "", {"type": "object"}) for name in names]


def names_of(server_name: str, *tools: str) -> list[str]:
    return [adapted.name for adapted in adapt_tools(server_name, InProcessServer("any"), named(*tools))]


async def test_a_server_tool_is_a_tool_of_the_runtime() -> None:
    adapted: Tool
    (adapted,) = await listed({"weather": InProcessServer("own name", tools=[get_temperature])})
    assert adapted.name == "mcp__weather__get_temperature"
    assert adapted.description == "How warm it is"
    assert adapted.input_schema["required"] == ["city"]
    assert adapted.read_only is True
    output = await adapted.run(adapted.parse({"city": "Oslo"}), context())
    assert output.content == [{"type": "text", "text": "12° in Oslo"}]
    assert output.is_error is None


async def test_the_adapter_knows_its_server_and_size() -> None:
    (adapted,) = await listed({"weather": InProcessServer("own name", tools=[get_temperature])})
    assert isinstance(adapted, ServedToolAdapter)
    assert (adapted.server_name, adapted.longest_result) == ("weather", 9)


async def test_input_is_checked_by_the_server() -> None:
    (adapted,) = await listed({"weather": InProcessServer("w", tools=[get_temperature])})
    output = await adapted.run(adapted.parse({}), context())
    assert output.is_error is True
    assert "Input validation error" in output.content[0]["text"]  # type: ignore[index]  # a list of blocks
    with pytest.raises(InvalidInput, match="must be an object, not list"):
        adapted.parse(cast("Any", []))
    assert adapted.effects({}, cast("Any", None)) == Effects()


async def test_only_a_plain_true_is_read_only() -> None:
    server = InProcessServer("s")
    said: list[dict[str, Any]] = [{}, {"readOnlyHint": False}, {"readOnlyHint": "true"}, {"destructiveHint": False}]
    adapters = [ServedToolAdapter(server, ServedTool("x", "", {}, annotations)) for annotations in said]
    assert not any(adapter.read_only for adapter in adapters)
    assert ServedToolAdapter(server, ServedTool("x", "", {}, {}, {"anthropic/maxResultSizeChars": "9"})).longest_result is None


async def test_a_function_given_directly_keeps_its_bare_name() -> None:
    def roll_dice(sides: int = 6) -> int:
        return 4

    server = InProcessServer("functions", tools=[as_tool(roll_dice)])
    (served,) = await server.list_tools()
    adapted = ServedToolAdapter(server, served, prefix="")
    assert adapted.name == "roll_dice"
    assert (await adapted.run({}, context())).content == [{"type": "text", "text": "4"}]


def test_good_names_are_kept() -> None:
    assert names_of("my-server_1", "get_x", "get-y", "__private", "a__b") == [
        "mcp__my-server_1__get_x",
        "mcp__my-server_1__get-y",
        "mcp__my-server_1____private",
        "mcp__my-server_1__a__b",
    ]


def test_the_key_of_a_server_is_kept_as_it_was_given() -> None:
    assert names_of("_x", "t") == ["mcp___x__t"]
    assert names_of("x_", "t") == ["mcp__x___t"]
    assert names_of("a__b", "c") == ["mcp__a__b__c"]
    assert names_of("my server.1", "get/x") == ["mcp__my_server_1__get_x"]


def test_a_tool_knows_the_rule_of_its_server() -> None:
    assert ServedToolAdapter(InProcessServer("a__b"), *named("c")).server_rule == "mcp__a__b"
    assert ServedToolAdapter(InProcessServer("functions"), *named("c"), prefix="").server_rule is None


@given(st.text(max_size=80))
def test_every_server_name_gives_a_valid_prefix(name: str) -> None:
    prefix = server_prefix(name)
    part = prefix.removeprefix("mcp__").removesuffix("__")
    assert VALID.fullmatch(part)
    assert server_prefix(part) == prefix


@given(st.text(max_size=60), st.lists(st.text(max_size=80), unique=True, max_size=8))
def test_every_tool_gets_a_valid_name(server_name: str, tools: list[str]) -> None:
    names = names_of(server_name, *tools)
    assert all(VALID.fullmatch(name) and name.startswith(server_prefix(server_name)) for name in names)


def bare(name: str) -> Any:
    @tool(name, f"The tool {name}", {})
    async def handler(args: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": name}]}

    return handler


async def test_of_two_tools_with_one_name_the_later_is_refused_and_named() -> None:
    told: list[str] = []
    servers = {
        "a": InProcessServer("a", tools=[bare("b__c"), bare("get.x"), bare("get_x")]),
        "a__b": InProcessServer("a__b", tools=[bare("c"), bare("d")]),
    }
    toolbox = Toolbox((), servers, tell=told.append)
    await toolbox.connect()
    await toolbox.toggle("a__b", enabled=True)
    assert list(toolbox.tools) == ["mcp__a__b__c", "mcp__a__get_x", "mcp__a__b__d"]
    assert toolbox.tools["mcp__a__b__c"].description == "The tool b__c"
    assert toolbox.tools["mcp__a__get_x"].description == "The tool get.x"
    assert told == [
        "MCP server 'a': its tool 'get_x' is left out, because the tool 'get.x' of 'a' before it is already named "
        "mcp__a__get_x; rename one of them",
        "MCP server 'a__b': its tool 'c' is left out, because the tool 'b__c' of 'a' before it is already named mcp__a__b__c;"
        " rename one of them",
    ]


async def test_two_servers_whose_tools_are_named_alike_are_both_there_and_rules_are_about_the_first() -> None:
    told: list[str] = []
    servers = {
        "a.b": InProcessServer("1", tools=[bare("t"), bare("u")]),
        "a_b": InProcessServer("2", tools=[bare("t"), bare("v")]),
    }
    toolbox = Toolbox((), servers, tell=told.append)
    await toolbox.connect()
    assert list(toolbox.tools) == ["mcp__a_b__t", "mcp__a_b__u", "mcp__a_b__v"]
    assert toolbox.tools["mcp__a_b__t"].description == "The tool t"
    assert any("'a_b': its tool 't' is left out, because the tool 't' of 'a.b' before it" in line for line in told)
    assert any("allow rules about mcp__a_b as a whole are about 'a.b'" in line for line in told)
    rules = [getattr(tool, "server_rule", None) for tool in toolbox.tools.values()]
    assert rules == ["mcp__a_b", "mcp__a_b", ""]


def alike() -> dict[str, Any]:
    """Two servers whose tools are named alike."""
    return {"a.b": create_sdk_mcp_server("1", tools=[bare("t")]), "a_b": create_sdk_mcp_server("2", tools=[bare("v")])}


@pytest.mark.parametrize(
    ("rule", "run"), [("mcp__a_b", ["t"]), ("mcp__a_b__*", ["t"]), ("mcp__a_b__v*", []), ("mcp__a_b__v", ["v"])]
)
async def test_a_rule_about_the_first_server_lets_no_tool_of_the_second_run(rule: str, run: list[str], tmp_path: Path) -> None:
    model = ScriptedModel([Call("mcp__a_b__t", {}), Call("mcp__a_b__v", {}), Say("done")])
    found = results(await play(tmp_path, model, mcp_servers=alike(), allowed_tools=[rule]))
    assert [text_of(result) for result in found if not result.get("is_error")] == run


async def test_a_deny_rule_about_a_server_is_about_every_server_of_that_name(tmp_path: Path) -> None:
    model = ScriptedModel([Call("mcp__a_b__v", {}), Say("done")])
    rules: dict[str, Any] = {"allowed_tools": ["mcp__a_b__v"], "disallowed_tools": ["mcp__a_b"]}
    (result,) = results(await play(tmp_path, model, mcp_servers=alike(), **rules))
    assert result["is_error"] is True


async def test_a_tool_whose_name_was_taken_has_it_when_the_other_goes() -> None:
    servers = {"a": InProcessServer("a", tools=[bare("b__c")]), "a__b": InProcessServer("a__b", tools=[bare("c")])}
    toolbox = Toolbox((), servers)
    await toolbox.connect()
    await toolbox.toggle("a", enabled=False)
    assert toolbox.tools["mcp__a__b__c"].description == "The tool c"


def test_a_long_name_is_shortened_the_same_way_every_time() -> None:
    long = "x" * 100
    (name,) = names_of("s", long)
    assert len(name) == MAX_NAME_LENGTH
    assert names_of("s", long) == [name]
    assert names_of("s", long + "y") != [name]


def test_a_tool_listed_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="'s' lists a tool twice"):
        names_of("s", "a", "a")


async def test_a_server_that_cannot_list_its_tools_says_which() -> None:
    class Dead(InProcessServer):
        async def list_tools(self) -> list[ServedTool]:
            raise ToolServerError("MCP server 'dead': gone")

    toolbox = Toolbox((), {"good": InProcessServer("good"), "dead": Dead("dead")})
    await toolbox.connect()
    assert [(row["name"], row["status"], row.get("error")) for row in toolbox.status()] == [
        ("good", "connected", None),
        ("dead", "failed", "MCP server 'dead': gone"),
    ]


async def test_the_order_is_that_of_the_mapping() -> None:
    servers = {name: InProcessServer(name, tools=[get_temperature]) for name in ("z", "a", "m")}
    assert [adapted.name[:6] for adapted in await listed(servers)] == ["mcp__z", "mcp__a", "mcp__m"]
