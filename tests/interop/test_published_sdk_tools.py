"""Python functions as tools: `@tool` and `create_sdk_mcp_server` of the published SDK, called by our runtime over the wire."""

from pathlib import Path
from typing import Annotated, Any, TypedDict

import anyio
import pytest
from claude_agent_sdk import ToolAnnotations, UserMessage, create_sdk_mcp_server, tool
from published import BOTH_BACKENDS, Place, ask, call, client_of, content_text, init, kinds, result, results, say

from toolwright.testing import ModelServer, ToolCall, answer

pytestmark = BOTH_BACKENDS

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], **more}


@tool("add", "Add two numbers", {"a": int, "b": int})
async def add(given: dict[str, Any]) -> dict[str, Any]:
    return text(str(given["a"] + given["b"]))


@tool("fail", "Report a failure", {})
async def fail(given: dict[str, Any]) -> dict[str, Any]:
    return text("the disk is full", is_error=True)


@tool("explode", "Raise", {})
async def explode(given: dict[str, Any]) -> dict[str, Any]:
    raise RuntimeError("kaput")


@tool("picture", "Draw", {})
async def picture(given: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": "here:"}, {"type": "image", "data": PIXEL, "mimeType": "image/png"}]}


class Place2D(TypedDict):
    x: Annotated[float, "to the right"]
    y: float


@tool("reach", "How far a place is", Place2D)
async def reach(given: dict[str, Any]) -> dict[str, Any]:
    return text(str(given["x"] + given["y"]))


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}


@tool("twice", "Double a number", SCHEMA, annotations=ToolAnnotations(readOnlyHint=True))
async def twice(given: dict[str, Any]) -> dict[str, Any]:
    return text(str(2 * given["n"]))


def servers() -> dict[str, Any]:
    calc = create_sdk_mcp_server("calc", version="2.0.0", tools=[add, fail, explode, reach, twice])
    return {"calc": calc, "art": create_sdk_mcp_server("art", tools=[picture])}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


ALL = {"allowed_tools": ["mcp__calc", "mcp__art"]}


async def test_the_tools_of_several_servers_are_offered_and_called(place: Place) -> None:
    steps = [call("mcp__calc__add", a=20, b=22), call("mcp__calc__reach", x=1.5, y=2.0), call("mcp__art__picture"), say("ok")]
    messages = await ask(place.options(*steps, mcp_servers=servers(), **ALL))
    begun = init(messages)
    assert {"mcp__calc__add", "mcp__calc__twice", "mcp__art__picture"} <= set(begun["tools"])
    assert [(row["name"], row["status"]) for row in begun["mcp_servers"]] == [("calc", "connected"), ("art", "connected")]
    assert [content_text(block) for block in results(messages)[:2]] == ["42", "3.5"]
    assert kinds(messages) == ["init", *["tool_use", "tool_result"] * 3, "text", "success"]


async def test_schemas_and_pictures_reach_the_model(place: Place) -> None:
    with ModelServer([answer("", ToolCall("mcp__art__picture")), answer("Nice.")]) as server:
        await ask(place.options(server=server, mcp_servers=servers(), tools=[], **ALL))
    offered = {entry["name"]: entry for entry in server.requests[0].json["tools"]}
    assert offered["mcp__calc__twice"]["input_schema"] == SCHEMA
    assert offered["mcp__calc__add"]["input_schema"]["required"] == ["a", "b"]
    assert offered["mcp__calc__reach"]["input_schema"]["properties"]["x"]["description"] == "to the right"
    (shown,) = server.requests[1].json["messages"][-1]["content"]
    image = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    assert shown["content"][:2] == [{"type": "text", "text": "here:"}, {"type": "image", "source": image}]
    assert shown["content"][2]["text"].startswith("[Image saved to ")


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (call("mcp__calc__fail"), "the disk is full"),
        (call("mcp__calc__explode"), "kaput"),
        (call("mcp__calc__add", a="one", b=2), "Input validation error"),
        (call("mcp__calc__twice", n=0), "Input validation error"),
        (call("mcp__calc__nothing"), "No such tool available: mcp__calc__nothing"),
    ],
    ids=["reported", "raised", "wrong type", "against the schema", "unknown"],
)
async def test_a_failure_is_an_error_result_and_the_run_goes_on(step: dict[str, Any], said: str, place: Place) -> None:
    messages = await ask(place.options(step, say("I see."), mcp_servers=servers(), **ALL))
    (failure,) = results(messages)
    assert failure.is_error is True
    assert said in content_text(failure)
    assert result(messages).result == "I see."
    (told,) = [message.tool_use_result for message in messages if isinstance(message, UserMessage)]
    assert said in told


async def test_reading_calls_of_one_answer_run_at_the_same_time(place: Place) -> None:
    together = anyio.Event()
    running = 0

    @tool("meet", "Wait for the other call", {}, annotations=ToolAnnotations(readOnlyHint=True))
    async def meet(given: dict[str, Any]) -> dict[str, Any]:
        nonlocal running
        running += 1
        if running == 3:
            together.set()
        with anyio.fail_after(20):
            await together.wait()
        return text("met")

    step = {"content": [call("mcp__x__meet"), call("mcp__y__meet"), call("mcp__x__meet")]}
    both = {name: create_sdk_mcp_server(name, tools=[meet]) for name in ("x", "y")}
    messages = await ask(place.options(step, say("ok"), mcp_servers=both, allowed_tools=["mcp__x", "mcp__y"]))
    assert [content_text(block) for block in results(messages)] == ["met"] * 3


async def test_other_calls_of_one_answer_run_one_after_the_other(place: Place) -> None:
    log: list[str] = []

    @tool("note", "Write down", {"name": str})
    async def note(given: dict[str, Any]) -> dict[str, Any]:
        log.append(f"{given['name']} begins")
        await anyio.sleep(0.01)
        log.append(f"{given['name']} ends")
        return text("noted")

    step = {"content": [call("mcp__log__note", name="a"), call("mcp__log__note", name="b")]}
    server = create_sdk_mcp_server("log", tools=[note])
    await ask(place.options(step, say("ok"), mcp_servers={"log": server}, allowed_tools=["mcp__log__note"]))
    assert log == ["a begins", "a ends", "b begins", "b ends"]


async def test_results_of_many_calls_in_a_row_stay_with_their_calls(place: Place) -> None:
    steps = [call("mcp__calc__add", id=f"t{n}", a=n, b=n) for n in range(25)]
    messages = await ask(place.options(*steps, say("ok"), mcp_servers=servers(), **ALL))
    assert [(block.tool_use_id, content_text(block)) for block in results(messages)] == [
        (f"t{n}", str(2 * n)) for n in range(25)
    ]
    assert result(messages).num_turns == 26


async def test_status_toggle_and_reconnect(place: Place) -> None:
    async with client_of(place.options(say("ok"), mcp_servers=servers())) as client:
        status = {row["name"]: row for row in (await client.get_mcp_status())["mcpServers"]}
        assert (status["calc"]["status"], status["calc"]["serverInfo"]) == ("connected", {"name": "calc", "version": "2.0.0"})
        assert {entry["name"] for entry in status["calc"]["tools"]} == {"add", "fail", "explode", "reach", "twice"}
        await client.toggle_mcp_server("calc", False)
        status = {row["name"]: row["status"] for row in (await client.get_mcp_status())["mcpServers"]}
        assert status == {"calc": "disabled", "art": "connected"}
        await client.toggle_mcp_server("calc", True)
        await client.reconnect_mcp_server("calc")
        with pytest.raises(Exception, match="Server not found: nowhere"):
            await client.reconnect_mcp_server("nowhere")


async def test_an_empty_result_says_that_it_is_empty(place: Place) -> None:
    @tool("nothing", "Give nothing", {})
    async def nothing(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": []}

    server = create_sdk_mcp_server("x", tools=[nothing])
    messages = await ask(place.options(call("mcp__x__nothing"), say("ok"), mcp_servers={"x": server}, allowed_tools=["mcp__x"]))
    (block,) = results(messages)
    assert (content_text(block), block.is_error) == ("The tool returned no content.", None)
