"""Listing and reading the resources of tool servers, in whole conversations with real server processes."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from support_resource_server import PICTURE
from support_runtime import play, results, session_for, text_of, until_result, user
from toolwright.models.scripted import Call, Say, ScriptedModel, Turn

pytestmark = pytest.mark.anyio

SERVER = str(Path(__file__).parents[2] / "support_resource_server.py")
READ = "ReadMcpResourceTool"


def servers(**arguments: list[str]) -> dict[str, Any]:
    return {name: {"command": sys.executable, "args": [SERVER, *more]} for name, more in arguments.items()}


async def calling(folder: Path, name: str, given: dict[str, Any], **more: Any) -> dict[str, Any]:
    model = ScriptedModel([Turn([Call(name, given)]), Turn([Say("done")])])
    options = {"mcp_servers": servers(notes=[]), "allowed_tools": [READ], **more}
    frames = await play(folder, model, **options)
    assert name in [spec.name for spec in model.requests[0].tools]
    return results(frames)[0]


async def test_all_pages_of_all_servers_are_listed_and_a_broken_one_is_named(tmp_path: Path) -> None:
    result = await calling(tmp_path, "ListMcpResourcesTool", {}, mcp_servers=servers(notes=[], broken=["--broken"]))
    *rows, problem = text_of(result).splitlines()
    listed = [json.loads(row) for row in rows]
    assert [(row["uri"], row["server"]) for row in listed] == [
        ("notes://one", "notes"),
        ("notes://picture", "notes"),
        ("notes://long", "notes"),
    ]
    assert listed[0]["description"] == "a note\\u{202e}", "hidden characters are written out"
    assert "'broken'" in problem


async def test_an_unknown_server_is_an_error_that_names_those_there_are(tmp_path: Path) -> None:
    result = await calling(tmp_path, "ListMcpResourcesTool", {"server": "other"})
    assert result["is_error"]
    assert "those that have some: notes" in text_of(result)


async def test_text_is_shown(tmp_path: Path) -> None:
    assert text_of(await calling(tmp_path, READ, {"server": "notes", "uri": "notes://one"})) == "the note"


async def test_binary_content_is_saved_and_described(tmp_path: Path) -> None:
    text = text_of(await calling(tmp_path, READ, {"server": "notes", "uri": "notes://picture"}))
    assert re.fullmatch(r"\[notes://picture: image/png, 256 bytes, saved to \S+\.png\]", text)
    assert len(PICTURE) == 256


async def test_a_long_text_is_saved_and_its_beginning_shown(tmp_path: Path) -> None:
    text = text_of(await calling(tmp_path, READ, {"server": "notes", "uri": "notes://long"}))
    assert "250,000 characters long" in text
    assert "characters left out" in text
    assert len(text) < 3000


@pytest.mark.parametrize(
    ("uri", "said"),
    [("notes://none", "Resource not found"), ("notes://secret", "Not authorized"), ("x" * 100_000, "not found")],
)
async def test_what_is_not_there_and_what_we_may_not_see_are_told_apart(tmp_path: Path, uri: str, said: str) -> None:
    result = await calling(tmp_path, READ, {"server": "notes", "uri": uri})
    assert result["is_error"]
    assert said in text_of(result)


async def test_reading_needs_permission_because_the_address_says_something_to_the_server(tmp_path: Path) -> None:
    result = await calling(tmp_path, READ, {"server": "notes", "uri": "notes://one"}, allowed_tools=[])
    assert result["is_error"]
    assert "permission" in text_of(result)


async def test_without_resources_there_are_no_such_tools(tmp_path: Path) -> None:
    model = ScriptedModel([Turn([Say("done")])])
    await play(tmp_path, model)
    assert not [spec.name for spec in model.requests[0].tools if "Resource" in spec.name]


async def test_a_resource_that_changes_after_it_was_read_is_told_once_with_the_next_request(tmp_path: Path) -> None:
    given = {"server": "notes", "uri": "notes://one"}
    model = ScriptedModel([Turn([Call(READ, given)]), Turn([Say("done")]), Turn([Say("again")])])
    async with session_for(tmp_path, model, mcp_servers=servers(notes=[]), allowed_tools=[READ]) as session:
        await session.send(user("read"))
        await until_result(session)  # the server says it before it answers the subscription
        await session.send(user("go on"))
        await until_result(session)
    told = [str(block.get("text")) for message in model.requests[-1].messages for block in message.content]
    changes = [text for text in told if "has changed since you read it" in text]
    assert changes == ["The resource notes://one of the MCP server 'notes' has changed since you read it."]


async def test_a_list_of_resources_that_changes_is_told_once_and_the_next_listing_has_it(tmp_path: Path) -> None:
    given = {"server": "notes", "uri": "notes://one"}
    model = ScriptedModel([Call(READ, given), Call("ListMcpResourcesTool", {}), Say("done")])
    frames = await play(tmp_path, model, mcp_servers=servers(notes=["--growing"]), allowed_tools=[READ])
    events = [(frame["server"], frame["event"]) for frame in frames if frame.get("subtype") == "mcp_list_changed"]
    assert events == [("notes", "ResourceListChanged")]
    assert "notes://new" in text_of(results(frames)[1])
