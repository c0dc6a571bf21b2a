"""What tests of the runtime share: a session on a scripted model, in a folder of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from toolwright.models.scripted import ScriptedModel
from toolwright.runtime.assemble import open_session
from toolwright.runtime.session import LocalSession
from toolwright.types import ClaudeAgentOptions

Frame = dict[str, Any]


def options_for(folder: Path, model: object, **more: Any) -> ClaudeAgentOptions:
    """Options for a session that writes nothing outside `folder` and retries nothing."""
    workspace = folder / "workspace"
    workspace.mkdir(exist_ok=True)
    env = {"CLAUDE_CONFIG_DIR": str(folder / "config"), "CLAUDE_CODE_MAX_RETRIES": "0", **more.pop("env", {})}
    return ClaudeAgentOptions(model=model, cwd=workspace, env=env, **more)  # type: ignore[arg-type]  # any model object


@asynccontextmanager
async def session_for(folder: Path, model: object, **more: Any) -> AsyncIterator[LocalSession]:
    session = open_session(options_for(folder, model, **more))
    await session.start()
    try:
        yield session
    finally:
        await session.close()


def user(text: str) -> Frame:
    return {"type": "user", "message": {"role": "user", "content": text}}


async def until_result(session: LocalSession) -> list[Frame]:
    """The frames up to the next result, which is the last one."""
    collected: list[Frame] = []
    async for frame in session.frames():
        collected.append(frame)
        if frame["type"] == "result":
            break
    return collected


async def play(folder: Path, model: object, prompt: str = "go", **more: Any) -> list[Frame]:
    """One prompt, and all the frames that come of it."""
    async with session_for(folder, model, **more) as session:
        await session.send(user(prompt))
        return await until_result(session)


def results(frames: list[Frame]) -> list[Frame]:
    """The tool_result blocks, in the order they were given out."""
    return [
        block
        for frame in frames
        if frame["type"] == "user" and isinstance(frame["message"]["content"], list)
        for block in frame["message"]["content"]
        if block["type"] == "tool_result"
    ]


def texts(frames: list[Frame]) -> list[str]:
    return [block["text"] for frame in frames if frame["type"] == "assistant" for block in blocks(frame, "text")]


def blocks(frame: Frame, kind: str) -> list[Frame]:
    return [block for block in frame["message"]["content"] if block["type"] == kind]


def text_of(result: Frame) -> str:
    content = result["content"]
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def assert_valid_history(model: ScriptedModel) -> None:
    """In every request, each call has exactly one result, in the message right after it."""
    for request in model.requests:
        messages = list(request.messages)
        for position, message in enumerate(messages):
            calls = [block["id"] for block in message.content if block["type"] == "tool_use"]
            following = messages[position + 1].content if position + 1 < len(messages) else []
            answered = [block["tool_use_id"] for block in following if block["type"] == "tool_result"]
            if message.role == "assistant":
                assert sorted(calls) == sorted(answered)
        all_calls = [block["id"] for message in messages for block in message.content if block["type"] == "tool_use"]
        assert len(all_calls) == len(set(all_calls))
