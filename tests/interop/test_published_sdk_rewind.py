"""File checkpoints: the published SDK rewinds files that our command's tools changed."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage, UserMessage
from published import BOTH_BACKENDS, MAX_LENGTH, Place, Step, answer_of, call, client_of, result, say, texts

pytestmark = BOTH_BACKENDS


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def kept(place: Place, *steps: Step, **more: Any) -> ClaudeAgentOptions:
    replay = {"replay-user-messages": None}
    return place.options(*steps, enable_file_checkpointing=True, permission_mode="acceptEdits", extra_args=replay, **more)


def write(name: str, content: str) -> Step:
    return call("Write", file_path=name, content=content)


def edit(name: str, old: str, new: str) -> Step:
    return call("Edit", file_path=name, old_string=old, new_string=new)


async def prompt_of(client: ClaudeSDKClient) -> str:
    """Ask, and give the id of the prompt as it was replayed."""
    messages = await answer_of(client)
    prompt = next(message for message in messages if isinstance(message, UserMessage))
    assert prompt.uuid is not None
    return prompt.uuid


async def test_edited_files_come_back_and_created_ones_go(place: Place) -> None:
    file = place.write("a.txt", "one\n")
    first = [call("Read", file_path="a.txt"), edit("a.txt", "one", "two"), write("new/b.txt", "b"), say("done")]
    second = [edit("a.txt", "two", "three"), write("c.txt", "c"), say("done")]
    async with client_of(kept(place, *first, *second)) as client:
        prompts = [await prompt_of(client), await prompt_of(client)]
        assert file.read_text() == "three\n"
        await client.rewind_files(prompts[1])
        assert (file.read_text(), place.names()) == ("two\n", ["a.txt", "new"])
        await client.rewind_files(prompts[0])
        assert (file.read_text(), place.names()) == ("one\n", ["a.txt"])


async def test_the_conversation_goes_on_after_a_rewind(place: Place) -> None:
    steps = [write("a.txt", "one"), say("done"), write("a.txt", "two"), say("done again")]
    async with client_of(kept(place, *steps)) as client:
        await client.rewind_files(await prompt_of(client))
        assert place.names() == []
        assert texts(await answer_of(client)) == ["done again"]
    assert (place.workspace / "a.txt").read_text() == "two"


async def test_a_message_that_is_none_is_refused_and_the_session_goes_on(place: Place) -> None:
    async with client_of(kept(place, say("one"), say("two"))) as client:
        await prompt_of(client)
        with pytest.raises(Exception, match="No file checkpoint found for message nowhere"):
            await client.rewind_files("nowhere")
        assert texts(await answer_of(client)) == ["two"]


async def test_a_resumed_session_is_rewound_at_its_first_message(place: Place) -> None:
    """As the SDK's documentation shows it: an empty prompt to open the connection, then the rewind."""
    async with client_of(kept(place, write("a.txt", "one"), say("done"))) as client:
        messages = await answer_of(client)
        prompt = next(message for message in messages if isinstance(message, UserMessage)).uuid
    assert place.names() == ["a.txt"]
    assert prompt is not None
    async with client_of(kept(place, resume=result(messages).session_id)) as client:
        await client.query("")
        with anyio.fail_after(MAX_LENGTH):
            async for _ in client.receive_response():
                await client.rewind_files(prompt)
                break
        assert place.names() == []


async def test_a_resumed_session_needs_no_prompt_for_a_rewind(place: Place) -> None:
    async with client_of(kept(place, write("a.txt", "one"), say("done"))) as client:
        messages = await answer_of(client)
    prompt = next(message for message in messages if isinstance(message, UserMessage)).uuid
    assert prompt is not None
    assert isinstance(messages[-1], ResultMessage)
    async with client_of(kept(place, resume=messages[-1].session_id)) as client:
        await client.rewind_files(prompt)
    assert place.names() == []
