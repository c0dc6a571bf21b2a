"""Prompts of tool servers as slash commands, in whole conversations with a real server process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from support_mcp import eventually
from support_runtime import Frame, play, session_for, until_result, user
from toolwright.mcp.client.prompts import PromptArgument, ServedPrompt, list_prompts
from toolwright.mcp.session.prompts import PromptFailure, arguments_of, usage
from toolwright.models.scripted import Say, ScriptedModel

SERVERS = {"notes": {"command": sys.executable, "args": [str(Path(__file__).parents[2] / "support_resource_server.py")]}}
REVIEW = ServedPrompt("review", "", (PromptArgument("change", True), PromptArgument("tone")))


async def sent(folder: Path, prompt: str) -> tuple[list[Frame], list[str]]:
    """The frames of a turn, and the texts that the model got."""
    model = ScriptedModel([Say("done")])
    frames = await play(folder, model, prompt, mcp_servers=SERVERS, tools=[])
    texts = [block["text"] for request in model.requests for block in request.messages[0].content if block["type"] == "text"]
    return frames, texts


@pytest.mark.anyio
async def test_a_command_becomes_the_messages_of_the_servers_prompt(tmp_path: Path) -> None:
    frames, texts = await sent(tmp_path, '/mcp__notes__review "pull 5" very kind')
    assert frames[0]["slash_commands"] == ["mcp__notes__review", "mcp__notes__long", "mcp__notes__gone"]
    assert texts == ['Review {"change": "pull 5", "tone": "very kind"}', "[The assistant answers:]", "How?"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "prompt", ["/mcp__notes__nothing 1", "/mcp__other__review 1", "/unknown", "/", " /mcp__notes__review x"]
)
async def test_what_is_no_known_command_is_text(tmp_path: Path, prompt: str) -> None:
    _, texts = await sent(tmp_path, prompt)
    assert texts == [prompt]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("prompt", "problem"),
    [
        ("/mcp__notes__review", "The prompt 'review' needs more arguments: <change> [tone]"),
        ("/mcp__notes__gone", "/mcp__notes__gone: MCP server 'notes': prompts/get failed: not here"),
    ],
)
async def test_a_command_that_fails_says_why_and_sends_nothing(tmp_path: Path, prompt: str, problem: str) -> None:
    frames, texts = await sent(tmp_path, prompt)
    assert (frames[-1]["is_error"], texts) == (True, [])
    assert problem in "".join(frames[-1]["errors"])


@pytest.mark.anyio
async def test_a_long_prompt_is_kept_in_a_file_and_that_is_said(tmp_path: Path) -> None:
    _, (text,) = await sent(tmp_path, "/mcp__notes__long")
    assert "250,000 characters long" in text
    assert "was saved to" in text


@pytest.mark.parametrize(
    ("words", "arguments"),
    [("5", {"change": "5"}), ("5 kind", {"change": "5", "tone": "kind"}), ("it's fine", {"change": "it's", "tone": "fine"})],
)
def test_words_go_to_the_arguments_in_their_order(words: str, arguments: dict[str, str]) -> None:
    assert arguments_of(REVIEW, words) == arguments


def test_words_for_a_prompt_without_arguments_are_dropped_and_missing_ones_are_told() -> None:
    assert arguments_of(ServedPrompt("plain"), "a b") == {}
    with pytest.raises(PromptFailure, match="needs more arguments: <change>"):
        arguments_of(REVIEW, " ")
    assert usage(REVIEW) == "<change> [tone]"


@pytest.mark.anyio
async def test_new_prompts_of_a_server_are_commands_of_the_next_turn(tmp_path: Path) -> None:
    async with session_for(tmp_path, ScriptedModel([Say("one"), Say("two")]), mcp_servers=SERVERS, tools=[]) as session:
        await session.send(user('/mcp__notes__review "your prompts"'))
        before = (await until_result(session))[0]["slash_commands"]
        server = session.started.conversation.toolbox.connections["notes"].external
        assert server is not None
        await eventually(lambda: "another" in [prompt.name for prompt in server.prompts])
        await session.send(user("go on"))
        frames = await until_result(session)
        assert frames[0]["slash_commands"] == [*before, "mcp__notes__another"]
        events = [(frame["server"], frame["event"]) for frame in frames if frame.get("subtype") == "mcp_list_changed"]
        assert events == [("notes", "PromptListChanged")]


@pytest.mark.anyio
async def test_a_list_of_prompts_that_does_not_end_is_cut() -> None:
    async def page(cursor: str | None) -> dict[str, Any]:
        number = int(cursor or 0)
        entries = [{"name": f"p{number}-{index}", "description": "x\u202e" * 900} for index in range(50)]
        return {"prompts": [*entries, None, {"name": ""}], "nextCursor": str(number + 1)}

    prompts = await list_prompts(page)
    assert len(prompts) == 500
    assert "\u202e" not in prompts[0].description
