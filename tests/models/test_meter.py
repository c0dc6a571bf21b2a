"""An answer that brings too much is ended with a typed error, and takes no more memory than its limits say."""

from __future__ import annotations

import tracemalloc
from contextlib import aclosing

import pytest

from support_endless import CHAT, MESSAGES, Endless, endless_server
from support_models import ask
from toolwright.models.anthropic import AnthropicModel
from toolwright.models.assembler import MessageAssembler
from toolwright.models.base import AnswerLimits, AnswerTooLarge, Model, ModelRequest, Retry
from toolwright.models.openai import OpenAIModel

pytestmark = pytest.mark.anyio

LIMITS = AnswerLimits(megabytes=1, blocks=50, calls=20)
MAX_MEMORY = 20 << 20  # an event of 2 MB, its decoded form, the answer's pieces


async def fold(model: Model, request: ModelRequest) -> None:
    assembler = MessageAssembler(request.limits)
    async with aclosing(model.stream(request)) as events:
        async for event in events:
            assert not isinstance(event, Retry)
            assembler.feed(event)


async def ends_in_order(model: Model, limits: AnswerLimits = LIMITS) -> AnswerTooLarge:
    tracemalloc.start()
    try:
        with pytest.raises(AnswerTooLarge) as caught:
            await fold(model, ask(limits=limits))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        await model.aclose()
    assert peak < MAX_MEMORY
    return caught.value


@pytest.mark.parametrize("endless", MESSAGES.values(), ids=list(MESSAGES))
async def test_an_endless_answer_of_the_messages_api_is_ended(endless: Endless) -> None:
    with endless_server(endless) as url:
        error = await ends_in_order(AnthropicModel(base_url=url))
    assert error.kind == "answer_too_large"
    assert not error.retryable
    assert "TOOLWRIGHT_MAX_ANSWER_" in str(error)


@pytest.mark.parametrize("endless", CHAT.values(), ids=list(CHAT))
async def test_an_endless_answer_of_the_chat_api_is_ended(endless: Endless) -> None:
    with endless_server(endless) as url:
        error = await ends_in_order(OpenAIModel(base_url=f"{url}/v1"))
    assert error.kind == "answer_too_large"


@pytest.mark.parametrize(
    ("limits", "kind", "said"),
    [
        (AnswerLimits(megabytes=1, blocks=0, calls=0), "text", "holds more than 1 MB"),
        (AnswerLimits(megabytes=0, blocks=7, calls=0), "blocks", "holds more than 7 blocks"),
        (AnswerLimits(megabytes=0, blocks=0, calls=3), "calls", "makes more than 3 tool calls"),
        (AnswerLimits(megabytes=1, blocks=0, calls=0), "a line", "an event of more than 2 MB"),
        (AnswerLimits(megabytes=1, blocks=0, calls=0), "pings", "more than 8 MB on the wire"),
    ],
)
async def test_the_error_names_the_limit_that_was_passed(limits: AnswerLimits, kind: str, said: str) -> None:
    with endless_server(MESSAGES[kind]) as url:
        assert said in str(await ends_in_order(AnthropicModel(base_url=url), limits))


def test_an_answer_at_its_limits_is_whole() -> None:
    assembler = MessageAssembler(AnswerLimits(megabytes=1, blocks=2, calls=1))
    size = (1 << 20) - 500
    blocks = []
    for index, block in enumerate(({"type": "text", "text": ""}, {"type": "tool_use", "id": "a", "name": "n", "input": {}})):
        assembler.feed({"type": "content_block_start", "index": index, "content_block": block})
        if index == 0:
            assembler.feed({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x" * size}})
        blocks.append(assembler.feed({"type": "content_block_stop", "index": index}))
    assert [block["type"] for block in blocks if block] == ["text", "tool_use"]
