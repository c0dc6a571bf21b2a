"""Prompts of tool servers as slash commands: a message `/mcp__<server>__<prompt> words` becomes what the server makes of it.

Only a person's message does this, never the model. Words go to the prompt's arguments in their order, as a shell would split
them; the last argument takes all that is left. Anything else that begins with a slash is text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolwright.mcp.rpc import ToolServerError
from toolwright.mcp.session.large_results import keep_large
from toolwright.mcp.session.prompt_words import split_words
from toolwright.mcp.session.result_blocks import tool_output
from toolwright.mcp.session.tool_adapter import PREFIX, tool_name

if TYPE_CHECKING:
    from toolwright.mcp.client.prompts import ServedPrompt
    from toolwright.mcp.client.server_connection import ExternalServer
    from toolwright.mcp.session.toolbox import Toolbox
    from toolwright.workspace import Workspace


class PromptFailure(Exception):
    """A command that is known but cannot be carried out; the text is for the person who wrote it."""


class ServerPrompts:
    """The commands that a session's servers bring. Implements `Commands`."""

    __slots__ = ("_longest", "_toolbox", "_workspace")

    def __init__(self, toolbox: Toolbox, workspace: Workspace, *, longest: int) -> None:
        self._toolbox = toolbox
        self._workspace = workspace
        self._longest = longest

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"name": name, "description": prompt.description, "argumentHint": usage(prompt)}
            for name, (_, prompt) in self._known().items()
        ]

    async def expand(self, text: str) -> list[dict[str, Any]] | None:
        """The content that takes the place of `text`; None if it is no command. Raises `PromptFailure`."""
        if not text.startswith(f"/{PREFIX}"):
            return None
        name, *rest = text[1:].split(maxsplit=1)
        found = self._known().get(name)
        if found is None:
            return None
        server, prompt = found
        wanted = {"name": prompt.name, "arguments": arguments_of(prompt, "".join(rest))}
        try:
            result = await server.request("prompts/get", wanted)
        except ToolServerError as error:
            raise PromptFailure(f"/{name}: {error}") from None
        output = tool_output({"content": contents_of(result, name)})
        kept = await keep_large(output, self._longest, self._workspace)
        return kept.content if isinstance(kept.content, list) else [{"type": "text", "text": kept.content}]

    def _known(self) -> dict[str, tuple[ExternalServer, ServedPrompt]]:
        known: dict[str, tuple[ExternalServer, ServedPrompt]] = {}
        for server_name, connection in self._toolbox.connections.items():
            if connection.enabled and connection.external is not None:
                for prompt in connection.external.prompts:
                    known.setdefault(tool_name(server_name, prompt.name), (connection.external, prompt))
        return known


def usage(prompt: ServedPrompt) -> str:
    """`<needed> [optional]`."""
    from toolwright.mcp.client.listing import presentable  # only servers have prompts

    names = ((presentable(argument.name, 50), argument.required) for argument in prompt.arguments)
    return " ".join(f"<{name}>" if required else f"[{name}]" for name, required in names)


def arguments_of(prompt: ServedPrompt, words: str) -> dict[str, str]:
    """Raises `PromptFailure`."""
    parts = split_words(words)
    most = len(prompt.arguments)
    if most and len(parts) > most:
        parts = [*parts[: most - 1], " ".join(parts[most - 1 :])]
    if len(parts) < sum(argument.required for argument in prompt.arguments):
        raise PromptFailure(f"The prompt {prompt.name!r} needs more arguments: {usage(prompt)}")
    return {argument.name: part for argument, part in zip(prompt.arguments, parts, strict=False)}


def contents_of(result: dict[str, Any], name: str) -> list[Any]:
    """The content of all messages. They become one message of the person's, so what the model is to have said is marked."""
    messages = result.get("messages")
    contents: list[Any] = []
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and isinstance(message.get("content"), dict):
            if message.get("role") == "assistant":
                contents.append({"type": "text", "text": "[The assistant answers:]"})
            contents.append(message["content"])
    if not contents:
        raise PromptFailure(f"/{name}: the server's answer has no messages")
    return contents
