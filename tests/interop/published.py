"""What the tests with the published SDK share: a place to work in, options, and short names for messages."""

import json
import os
import sys
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    Message,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
    query,
)

OUR_COMMAND = Path(sys.executable).with_name("toolwright")
MODEL = "claude-sonnet-4-5"
MAX_LENGTH = 60.0
"""A conversation that takes longer is a hang."""

LEAVINGS = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""The SDK leaves generators, streams and processes of its own to the garbage collector; that is not what is tested here."""
ON_ASYNCIO = [pytest.mark.anyio, LEAVINGS]
BOTH_BACKENDS = [*ON_ASYNCIO, pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])]

Step = dict[str, Any]


class Place:
    """A workspace, a home and a configuration folder of one test, and options for conversations there."""

    def __init__(self, folder: Path, command: Path = OUR_COMMAND) -> None:
        self.folder = folder
        self.command = command
        self.workspace = folder / "workspace"
        self.home = folder / "home"
        self.workspace.mkdir(parents=True)
        self.home.mkdir()
        self.stderr: list[str] = []

    @property
    def config(self) -> Path:
        return self.home / ".claude"

    def script(self, *steps: Step, **more: Any) -> str:
        """The name of a model that takes these steps."""
        file = self.folder / f"script-{len(list(self.folder.glob('script-*.json')))}.json"
        file.write_text(json.dumps({"steps": steps, **more}))
        return f"scripted:{file}"

    def options(self, *steps: Step, server: Any = None, **more: Any) -> ClaudeAgentOptions:
        """Options for our command with a model that takes these steps, or one behind a `ModelServer`."""
        settings = {"cwd": self.workspace, "cli_path": self.command, "setting_sources": [], "stderr": self.stderr.append}
        settings["model"] = MODEL if server is not None else self.script(*steps)
        env = {"HOME": str(self.home), "CLAUDE_CONFIG_DIR": str(self.config), **more.pop("env", {})}
        if server is not None:
            env |= {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "test-key"}
        return ClaudeAgentOptions(**{**settings, "env": env, **more})

    def write(self, name: str, text: str) -> Path:
        file = self.workspace / name
        file.write_text(text)
        return file

    def names(self) -> list[str]:
        return sorted(path.name for path in self.workspace.iterdir())


def without_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the person running the tests has set for models, keys and proxies must not reach them."""
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "CLAUDE", "OPENAI_", "TOOLWRIGHT_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


# steps of a script


def say(text: str, **more: Any) -> Step:
    return {"text": text, **more}


def call(name: str, /, id: str | None = None, **given: Any) -> Step:
    return {"tool": name, "input": given, **({"id": id} if id else {})}


def bash(command: str, **more: Any) -> Step:
    return call("Bash", command=command, **more)


# conversations


async def ask(options: ClaudeAgentOptions, prompt: str | AsyncIterable[dict[str, Any]] = "go") -> list[Message]:
    with anyio.fail_after(MAX_LENGTH):
        return [message async for message in query(prompt=prompt, options=options)]


async def answer_of(client: ClaudeSDKClient, prompt: str = "go") -> list[Message]:
    with anyio.fail_after(MAX_LENGTH):
        await client.query(prompt)
        return [message async for message in client.receive_response()]


@asynccontextmanager
async def client_of(options: ClaudeAgentOptions) -> AsyncIterator[ClaudeSDKClient]:
    with anyio.fail_after(MAX_LENGTH):
        async with ClaudeSDKClient(options) as client:
            yield client


def prompt_frame(content: Any) -> dict[str, Any]:
    message = {"role": "user", "content": content}
    return {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": "default"}


async def prompts(*contents: Any) -> AsyncIterator[dict[str, Any]]:
    for content in contents:
        yield prompt_frame(content)


def hooked(**events: Any) -> dict[str, list[HookMatcher]]:
    """`hooked(PreToolUse=callback)`: one hook without a matcher for each event."""
    return {event: [HookMatcher(hooks=[callback])] for event, callback in events.items()}


def always(answer: dict[str, Any], seen: list[Any] | None = None) -> Any:
    """A hook callback that gives one answer and remembers what it was told."""

    async def callback(payload: Any, tool_use_id: str | None, context: Any) -> Any:
        if seen is not None:
            seen.append(payload)
        return answer

    return callback


def specific(event: str, **fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


# messages


def result(messages: Iterable[Message]) -> ResultMessage:
    (found,) = [message for message in messages if isinstance(message, ResultMessage)]
    return found


def init(messages: Iterable[Message]) -> dict[str, Any]:
    return next(message.data for message in messages if isinstance(message, SystemMessage) and message.subtype == "init")


def blocks(messages: Iterable[Message], kind: type) -> list[Any]:
    held = [message.content for message in messages if isinstance(message, AssistantMessage | UserMessage)]
    return [block for content in held if isinstance(content, list) for block in content if isinstance(block, kind)]


def texts(messages: Iterable[Message]) -> list[str]:
    return [
        block.text for message in messages if isinstance(message, AssistantMessage) for block in blocks([message], TextBlock)
    ]


def results(messages: Iterable[Message]) -> list[ToolResultBlock]:
    return blocks(messages, ToolResultBlock)


def content_text(block: ToolResultBlock) -> str:
    if isinstance(block.content, str):
        return block.content
    return "\n".join(part.get("text", "") for part in block.content or ())


def kinds(messages: Iterable[Message]) -> list[str]:
    """A conversation as a list of short words, e.g. `init, text, tool_use, tool_result, text, success`."""
    return [word for message in messages for word in _words(message)]


NAMES = {TextBlock: "text", ThinkingBlock: "thinking", ToolUseBlock: "tool_use", ToolResultBlock: "tool_result"}


def _words(message: Message) -> list[str]:
    if isinstance(message, AssistantMessage | UserMessage):
        if isinstance(message.content, str):
            return ["user"]
        whose = "user " if isinstance(message, UserMessage) else ""
        return [name if (name := NAMES[type(block)]) == "tool_result" else whose + name for block in message.content]
    if isinstance(message, StreamEvent):
        return [f"event {message.event['type']}"]
    return [getattr(message, "subtype", type(message).__name__)]
