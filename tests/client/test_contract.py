"""The same conversations give the same messages, however a session is held."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support_client import nothing_left
from support_contract import FAKES, PLAIN, SETTINGS, WITH_TOOLS, Conversation, Setting, words
from toolwright.client import ClaudeSDKClient, query
from toolwright.types import Message

pytestmark = pytest.mark.anyio


def held(settings: dict[str, Setting], *conversations: Conversation) -> list[Any]:
    return [
        pytest.param(conversation, setting, id=f"{conversation}, {name}")
        for name, setting in settings.items()
        for conversation in conversations
    ]


COMMAND = {"our command": SETTINGS["our command"]}
IN_PROCESS = {name: setting for name, setting in SETTINGS.items() if name not in COMMAND}


async def streamed(prompts: tuple[str, ...]) -> AsyncIterator[dict[str, Any]]:
    for prompt in prompts:
        yield {"type": "user", "message": {"role": "user", "content": prompt}}


async def heard_by_a_client(conversation: Conversation, setting: Setting, folder: Path) -> tuple[str, ...]:
    heard: list[Message] = []
    async with (
        nothing_left(),
        setting(conversation, folder) as (options, transport),
        ClaudeSDKClient(options, transport) as client,
    ):
        for prompt in conversation.prompts:
            await client.query(prompt)
            heard += [message async for message in client.receive_response()]
    return words(heard)


async def heard_by_a_query(conversation: Conversation, setting: Setting, folder: Path) -> tuple[str, ...]:
    async with nothing_left(), setting(conversation, folder) as (options, transport):
        prompts = streamed(conversation.prompts)
        return words([message async for message in query(prompt=prompts, options=options, transport=transport)])


@pytest.mark.parametrize(("conversation", "setting"), [*held(FAKES | IN_PROCESS, *PLAIN), *held(IN_PROCESS, *WITH_TOOLS)])
async def test_a_client_hears_the_conversation_turn_by_turn(
    setting: Setting, conversation: Conversation, tmp_path: Path
) -> None:
    assert await heard_by_a_client(conversation, setting, tmp_path) == conversation.expected


@pytest.mark.parametrize(("conversation", "setting"), [*held(FAKES | IN_PROCESS, *PLAIN), *held(IN_PROCESS, *WITH_TOOLS)])
async def test_a_query_with_streamed_prompts_hears_the_same(
    setting: Setting, conversation: Conversation, tmp_path: Path
) -> None:
    assert await heard_by_a_query(conversation, setting, tmp_path) == conversation.expected


# Our command is a process for each case, and knows nothing of the loop at this end: each conversation once.


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize(("conversation", "setting"), held(COMMAND, *PLAIN, *WITH_TOOLS))
async def test_a_client_hears_the_same_from_our_command(setting: Setting, conversation: Conversation, tmp_path: Path) -> None:
    assert await heard_by_a_client(conversation, setting, tmp_path) == conversation.expected


@pytest.mark.parametrize("anyio_backend", ["trio"])
@pytest.mark.parametrize(("conversation", "setting"), held(COMMAND, *PLAIN))
async def test_a_query_hears_the_same_from_our_command(setting: Setting, conversation: Conversation, tmp_path: Path) -> None:
    assert await heard_by_a_query(conversation, setting, tmp_path) == conversation.expected
