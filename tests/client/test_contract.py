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


# A command takes a process for each case: with streamed prompts it holds the plain conversations only.
IN_PROCESS = {name: setting for name, setting in SETTINGS.items() if name != "our command"}
ALL = [*held(FAKES, *PLAIN), *held(SETTINGS, *PLAIN, *WITH_TOOLS)]
STREAMED = [*held(FAKES | SETTINGS, *PLAIN), *held(IN_PROCESS, *WITH_TOOLS)]


async def streamed(prompts: tuple[str, ...]) -> AsyncIterator[dict[str, Any]]:
    for prompt in prompts:
        yield {"type": "user", "message": {"role": "user", "content": prompt}}


@pytest.mark.parametrize(("conversation", "setting"), ALL)
async def test_a_client_hears_the_conversation_turn_by_turn(
    setting: Setting, conversation: Conversation, tmp_path: Path
) -> None:
    heard: list[Message] = []
    async with (
        nothing_left(),
        setting(conversation, tmp_path) as (options, transport),
        ClaudeSDKClient(options, transport) as client,
    ):
        for prompt in conversation.prompts:
            await client.query(prompt)
            heard += [message async for message in client.receive_response()]
    assert words(heard) == conversation.expected


@pytest.mark.parametrize(("conversation", "setting"), STREAMED)
async def test_a_query_with_streamed_prompts_hears_the_same(
    setting: Setting, conversation: Conversation, tmp_path: Path
) -> None:
    async with nothing_left(), setting(conversation, tmp_path) as (options, transport):
        prompts = streamed(conversation.prompts)
        heard = [message async for message in query(prompt=prompts, options=options, transport=transport)]
    assert words(heard) == conversation.expected
