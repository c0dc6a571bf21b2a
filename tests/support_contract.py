"""The contract of a session as its user sees it: conversations as data, and the settings they are held in.

A `Setting` opens one way of holding a session; every conversation must give the same words in each. To hold the contract over
another kind of session, add a setting to `SETTINGS`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import anyio

from support_client import fake_cli, fake_transport
from support_fake_cli import FakeSession
from toolwright.mcp.author.server import create_sdk_mcp_server
from toolwright.protocol.memory import MemoryPeer, memory_transport_pair
from toolwright.protocol.transport import Transport
from toolwright.runtime.wire_session import serve
from toolwright.types import (
    AssistantMessage,
    ClaudeAgentOptions,
    HookMatcher,
    Message,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    SystemMessage,
    TextBlock,
    ToolPermissionContext,
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


# hosts


def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


def fail() -> str:
    """Fail."""
    raise RuntimeError("it broke")


async def only_small_numbers(name: str, given: dict[str, Any], context: ToolPermissionContext) -> PermissionResult:
    if given.get("a", 0) > 10:
        return PermissionResultDeny(message="too large")
    return PermissionResultAllow(updated_input={**given, "b": 40})


QUESTION = {"question": "Which?", "header": "H", "options": [{"label": "A"}, {"label": "B"}]}


async def answers_everything(name: str, given: dict[str, Any], context: ToolPermissionContext) -> PermissionResult:
    changes = {"ExitPlanMode": {"plan": "# Better"}, "AskUserQuestion": {**given, "answers": {"Which?": "A"}}}
    return PermissionResultAllow(updated_input=changes[name])


async def raises(name: str, given: dict[str, Any], context: ToolPermissionContext) -> PermissionResult:
    raise RuntimeError("nobody is here")


async def no_three(payload: Any, tool_use_id: str | None, context: Any) -> Any:
    if payload["tool_input"].get("a") != 3:
        return {}
    decision = {"permissionDecision": "deny", "permissionDecisionReason": "three is out"}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}


def calling(name: str, **given: Any) -> dict[str, Any]:
    return {"tool": f"mcp__calc__{name}", "input": given, "id": "toolu_1"}


CALC = {"calc": create_sdk_mcp_server("calc", tools=[add, fail])}
ALLOWED = {"mcp_servers": CALC, "allowed_tools": ["mcp__calc__add", "mcp__calc__fail"]}


# conversations

PLAIN = (
    Conversation("one turn", ({"text": "hello"},), ("hi",), ("<init>", "hello", "[success] hello")),
    Conversation(
        "two turns",
        ({"text": "one"}, {"text": "two"}),
        ("first", "second"),
        ("<init>", "one", "[success] one", "<init>", "two", "[success] two"),
    ),
    Conversation("text beyond ASCII", ({"text": "π\u2028→ 🙂"},), ("?",), ("<init>", "π\u2028→ 🙂", "[success] π\u2028→ 🙂")),
)
"""Conversations that need no tools: the fake program can hold them too."""

WITH_TOOLS = (
    Conversation(
        "a plan and a question",
        (
            {"tool": "ExitPlanMode", "input": {"plan": "# Plan"}},
            {"tool": "AskUserQuestion", "input": {"questions": [QUESTION]}},
            {"text": "done"},
        ),
        ("plan it",),
        (
            "<init>",
            'call ExitPlanMode {"plan": "# Plan"}',
            "<status>",
            "gave The person changed your plan and approved it. Carry out this one:\n\n# Better",
            f"call AskUserQuestion {json.dumps({'questions': [QUESTION]}, sort_keys=True)}",
            "gave The person answered:\n- Which?: A",
            "done",
            "[success] done",
        ),
        {"permission_mode": "plan", "can_use_tool": answers_everything},
    ),
    Conversation(
        "a tool in this process",
        (calling("add", a=2, b=3), {"text": "5"}),
        ("add",),
        ("<init>", 'call mcp__calc__add {"a": 2, "b": 3}', "gave 5", "5", "[success] 5"),
        ALLOWED,
    ),
    Conversation(
        "a tool that raises",
        (calling("fail"), {"text": "sorry"}),
        ("fail",),
        ("<init>", "call mcp__calc__fail {}", "failed it broke", "sorry", "[success] sorry"),
        ALLOWED,
    ),
    Conversation(
        "a callback that changes the input",
        (calling("add", a=2, b=3), {"text": "42"}),
        ("add",),
        ("<init>", 'call mcp__calc__add {"a": 2, "b": 3}', "gave 42", "42", "[success] 42"),
        {"mcp_servers": CALC, "can_use_tool": only_small_numbers},
    ),
    Conversation(
        "a callback that says no",
        (calling("add", a=11, b=3), {"text": "no"}),
        ("add",),
        ("<init>", 'call mcp__calc__add {"a": 11, "b": 3}', "failed too large", "no", "[success] no"),
        {"mcp_servers": CALC, "can_use_tool": only_small_numbers},
    ),
    Conversation(
        "a callback that raises",
        (calling("add", a=2, b=3), {"text": "no"}),
        ("add",),
        (
            "<init>",
            'call mcp__calc__add {"a": 2, "b": 3}',
            "failed The permission callback failed (nobody is here); the call was not run.",
            "no",
            "[success] no",
        ),
        {"mcp_servers": CALC, "can_use_tool": raises},
    ),
    Conversation(
        "a hook that says no",
        (calling("add", a=3, b=3), {"text": "no"}),
        ("add",),
        ("<init>", 'call mcp__calc__add {"a": 3, "b": 3}', "failed three is out", "no", "[success] no"),
        {**ALLOWED, "hooks": {"PreToolUse": [HookMatcher("mcp__calc__.*", [no_three])]}},
    ),
)


# settings


@asynccontextmanager
async def fake_in_memory(conversation: Conversation, folder: Path) -> AsyncIterator[Held]:
    async with fake_transport(FakeSession(script=tuple(dict(step) for step in conversation.script))) as transport:
        yield ClaudeAgentOptions(**conversation.options), transport


@asynccontextmanager
async def fake_program(conversation: Conversation, folder: Path) -> AsyncIterator[Held]:
    script = {"script": json.dumps([dict(step) for step in conversation.script])}
    yield ClaudeAgentOptions(cli_path=fake_cli(folder), extra_args={**script}, **conversation.options), None


@asynccontextmanager
async def in_this_process(conversation: Conversation, folder: Path) -> AsyncIterator[Held]:
    yield scripted(conversation, folder), None


@asynccontextmanager
async def our_command(conversation: Conversation, folder: Path) -> AsyncIterator[Held]:
    program = Path(sys.executable).with_name("toolwright")
    yield replace(scripted(conversation, folder), cli_path=program), None


@asynccontextmanager
async def served_in_memory(conversation: Conversation, folder: Path) -> AsyncIterator[Held]:
    options = scripted(conversation, folder)
    transport, peer = memory_transport_pair()
    async with anyio.create_task_group() as group:
        group.start_soon(_serve, as_served(options), peer)
        yield options, transport


async def _serve(options: ClaudeAgentOptions, peer: MemoryPeer) -> None:
    await serve(options, peer.frames(), peer.write)
    peer.end()


def scripted(conversation: Conversation, folder: Path) -> ClaudeAgentOptions:
    script = folder / "script.json"
    script.write_text(json.dumps({"steps": [dict(step) for step in conversation.script]}))
    work = folder / "work"
    work.mkdir()
    env = {"CLAUDE_CONFIG_DIR": str(folder / "config")}
    return ClaudeAgentOptions(model=f"scripted:{script}", cwd=work, env=env, **conversation.options)


def as_served(options: ClaudeAgentOptions) -> ClaudeAgentOptions:
    """What is left of the options at the other end of a wire: no functions, no objects."""
    asks = "stdio" if options.can_use_tool is not None else None
    servers = {name: {"type": "sdk", "name": name} for name in cast("dict[str, Any]", options.mcp_servers)}
    bare = replace(options, can_use_tool=None, hooks=None, permission_prompt_tool_name=asks)
    bare.mcp_servers = cast("Any", servers)
    return bare


FAKES: dict[str, Setting] = {"fake in memory": fake_in_memory, "fake program": fake_program}
SETTINGS: dict[str, Setting] = {
    "in this process": in_this_process,
    "served in memory": served_in_memory,
    "our command": our_command,
}


# words


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
            return f"{'failed' if failed else 'gave'} {_plain(content)}"
    return type(block).__name__


def _plain(content: Any) -> str:
    return content if isinstance(content, str) else "".join(str(part.get("text")) for part in content or ())
