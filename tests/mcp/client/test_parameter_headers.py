"""Arguments as headers (2026-07-28): which marks are allowed, which values travel, and a server that changes its mind."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support_mcp import server_for, text_of
from support_mcp_http import Handler, Message, Script, answer_of, http_server
from toolwright.mcp.client.parameter_headers import BadMark, Marks, marks_of, values_of

STATELESS = "2026-07-28"


def schema(**parameters: Any) -> dict[str, Any]:
    return {"type": "object", "properties": parameters}


def marked(name: Any, kind: str = "string") -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": name}


def test_marks_are_found_also_inside_of_objects() -> None:
    inner = schema(limit=marked("Limit", "integer"))
    marks = marks_of(schema(region=marked("Region"), query={"type": "string"}, options=inner))
    assert marks == {"mcp-param-region": ("region",), "mcp-param-limit": ("options", "limit")}


@pytest.mark.parametrize(
    "parameters",
    [
        {"a": marked("")},
        {"a": marked("two words")},
        {"a": marked("a:b")},
        {"a": marked("a\r\nb")},
        {"a": marked("ä")},
        {"a": marked(7)},
        {"a": marked("A", "number")},
        {"a": marked("A", "object")},
        {"a": {"x-mcp-header": "A"}},
        {"a": marked("Same"), "b": marked("same")},
        {"a": {"type": "array", "items": marked("A")}},
        {"a": {"anyOf": [marked("A")]}},
    ],
)
def test_marks_that_are_not_allowed(parameters: dict[str, Any]) -> None:
    with pytest.raises(BadMark):
        marks_of(schema(**parameters))


def test_a_parameter_may_be_called_like_a_keyword() -> None:
    assert marks_of(schema(items=marked("Items"), properties=marked("P"))) == {
        "mcp-param-items": ("items",),
        "mcp-param-p": ("properties",),
    }


def test_values_are_text_and_nothing_stands_for_what_is_not_there() -> None:
    marks: Marks = {f"mcp-param-{name}": (name,) for name in "abcdefg"}
    given = {"a": "text", "b": 42, "c": False, "d": None, "e": {"x": 1}, "f": 3.0}
    assert values_of(marks, given) == {
        "mcp-param-a": "text",
        "mcp-param-b": "42",
        "mcp-param-c": "false",
        "mcp-param-f": "3",
    }
    assert values_of({"mcp-param-x": ("a", "b")}, {"a": "no object"}) == {}


class Modern:
    """A server of the stateless era; the schema of its only tool can change behind the client's back."""

    def __init__(self) -> None:
        self.tools = [{"name": "ask", "inputSchema": schema(region=marked("Region"))}]
        self.wanted = "mcp-param-region"
        self.refusals = 0

    def respond(self, handler: Handler, message: Message) -> bool:
        match message["method"]:
            case "server/discover" if self.refusals:
                self.refusals -= 1
                error = {"code": -32022, "message": "unsupported", "data": {"supported": [STATELESS], "requested": "?"}}
                handler.json({"jsonrpc": "2.0", "id": message["id"], "error": error}, 400)
                return True
            case "server/discover":
                result: Any = {"supportedVersions": [STATELESS], "capabilities": {"tools": {}}}
            case "tools/list":
                result = {"tools": self.tools}
            case "tools/call" if self.wanted not in handler.headers:
                error = {"code": -32020, "message": "HeaderMismatch"}
                handler.json({"jsonrpc": "2.0", "id": message["id"], "error": error}, 400)
                return True
            case _:
                result = answer_of(message)
        handler.json({"jsonrpc": "2.0", "id": message["id"], "result": result})
        return True


@pytest.fixture
def http() -> Iterator[Script]:
    with http_server() as script:
        script.session_id = None
        yield script


def entry(http: Script) -> dict[str, Any]:
    return {"type": "http", "url": f"{http.url}/mcp", "protocolVersion": STATELESS}


@pytest.mark.anyio
async def test_marked_arguments_travel_as_headers_in_a_form_that_can_be_read_back(tmp_path: Path, http: Script) -> None:
    http.respond = Modern().respond
    async with server_for(tmp_path, entry(http)) as server:
        await server.connect()
        await server.call_tool("ask", {"region": "eu", "query": "?"})
        await server.call_tool("ask", {"region": "ü\r\nx: y"})
    sent = [{name: value for name, value in seen.items() if "param" in name} for seen in http.seen("POST", "tools/call")]
    assert sent == [{"mcp-param-region": "eu"}, {"mcp-param-region": "=?base64?w7wNCng6IHk=?="}]


@pytest.mark.anyio
async def test_a_call_with_headers_of_an_old_schema_is_made_again_with_the_new_ones(tmp_path: Path, http: Script) -> None:
    modern = Modern()
    http.respond = modern.respond
    async with server_for(tmp_path, entry(http)) as server:
        await server.connect()
        modern.tools, modern.wanted = [{"name": "ask", "inputSchema": schema(region=marked("Place"))}], "mcp-param-place"
        assert text_of(await server.call_tool("ask", {"region": "eu"})) == '{"region": "eu"}'
    assert [seen.get("mcp-param-place") for seen in http.seen("POST", "tools/call")] == [None, "eu"]


@pytest.mark.anyio
async def test_a_tool_whose_marks_are_wrong_is_left_out_and_that_is_said(tmp_path: Path, http: Script) -> None:
    modern = Modern()
    modern.tools.append({"name": "bad", "inputSchema": schema(a=marked("a b"))})
    http.respond = modern.respond
    async with server_for(tmp_path, entry(http)) as server:
        assert [tool.name for tool in await server.list_tools()] == ["ask"]
        assert server.notices == ["the tool 'bad' was left out: the name of a header for 'a' is not allowed"]


@pytest.mark.anyio
async def test_a_version_that_is_refused_is_followed_by_one_that_the_server_names(tmp_path: Path, http: Script) -> None:
    modern = Modern()
    modern.refusals = 1
    http.respond = modern.respond
    async with server_for(tmp_path, entry(http)) as server:
        await server.connect()
        assert server.introduction.protocol_version == STATELESS
    assert len(http.seen("POST", "server/discover")) == 2
