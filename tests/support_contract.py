"""The contract of a session as its user sees it: conversations as data, and the settings they are held in.

A `Setting` opens one way of holding a session; every conversation must give the same words in each. To hold the contract
over another kind of session, add a setting to `SETTINGS`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support_client import fake_cli, fake_transport
from support_fake_cli import FakeSession
from toolwright.protocol.transport import Transport
from toolwright.types import (
    AssistantMessage,
    ClaudeAgentOptions,
    Message,
    ResultMessage,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)


@dataclass(frozen=True)
class Conversation:
    """What the model does (steps as in a script file), what is said to it, and the words that come back."""

    name: str
    script: tuple[Mapping[str, Any], ...]
    prompts: tuple[str, ...]
    expected: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


Held = tuple[ClaudeAgentOptions, Transport | None]
Setting = Callable[[Conversation, Path], AbstractAsyncContextManager[Held]]

CONVERSATIONS = (
    Conversation("one turn", ({"text": "hello"},), ("hi",), ("<init>", "hello", "[success] hello")),
    Conversation(
        "two turns",
        ({"text": "one"}, {"text": "two"}),
        ("first", "second"),
        ("<init>", "one", "[success] one", "<init>", "two", "[success] two"),
    ),
    Conversation("text beyond ASCII", ({"text": "π\u2028→ 🙂"},), ("?",), ("<init>", "π\u2028→ 🙂", "[success] π\u2028→ 🙂")),
)
"""Conversations that every setting can hold, the fake program included."""


@asynccontextmanager
async def in_memory(conversation: Conversation, folder: Path) -> AsyncIterator[Held]:
    async with fake_transport(FakeSession(script=tuple(dict(step) for step in conversation.script))) as transport:
        yield ClaudeAgentOptions(**conversation.options), transport


@asynccontextmanager
async def as_program(conversation: Conversation, folder: Path) -> AsyncIterator[Held]:
    script = {"script": json.dumps([dict(step) for step in conversation.script])}
    yield ClaudeAgentOptions(cli_path=fake_cli(folder), extra_args={**script}, **conversation.options), None


SETTINGS: dict[str, Setting] = {"in memory": in_memory, "as a program": as_program}


def words(messages: list[Message]) -> tuple[str, ...]:
    """A conversation without what differs from run to run: ids, times, costs."""
    return tuple(word for message in messages for word in _words(message))


def _words(message: Message) -> list[str]:
    match message:
        case AssistantMessage(content=blocks) | UserMessage(content=list(blocks)):
            return [_word(block) for block in blocks]
        case UserMessage(content=str(content)):
            return [f"user: {content}"]
        case ResultMessage():
            return [f"[{message.subtype}] {message.result or '; '.join(message.errors or [])}".rstrip()]
        case SystemMessage(subtype=subtype):
            return [f"<{subtype}>"]
    return [type(message).__name__]


def _word(block: object) -> str:
    match block:
        case TextBlock(text=text):
            return text
        case ToolUseBlock(name=name, input=given):
            return f"call {name} {json.dumps(given, sort_keys=True)}"
        case ToolResultBlock(content=content, is_error=failed):
            return f"{'failed' if failed else 'gave'} {content}"
    return type(block).__name__
