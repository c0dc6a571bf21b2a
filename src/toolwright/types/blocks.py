"""Content blocks: the pieces a message is made of."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

ServerToolName = Literal[
    "advisor",
    "web_search",
    "web_fetch",
    "code_execution",
    "bash_code_execution",
    "text_editor_code_execution",
    "tool_search_tool_regex",
    "tool_search_tool_bm25",
]
"""Tools that run at the model's provider, not here."""


@dataclass
class TextBlock:
    """Text for the reader."""

    text: str


@dataclass
class ThinkingBlock:
    """The model's reasoning; the signature lets its provider recognise it when it is sent back."""

    thinking: str
    signature: str


@dataclass
class ToolUseBlock:
    """The model asks for a tool to be run."""

    id: str
    name: str
    input: dict[str, Any]


@dataclass
class ToolResultBlock:
    """What a tool call gave back. `is_error` is None when nothing was said about it, which means success."""

    tool_use_id: str
    content: str | list[dict[str, Any]] | None = None
    is_error: bool | None = None


@dataclass
class ServerToolUseBlock:
    """The model used a tool that runs at its provider."""

    id: str
    name: ServerToolName
    input: dict[str, Any]


@dataclass
class ServerToolResultBlock:
    """What a provider-side tool gave back, as the provider sent it."""

    tool_use_id: str
    content: dict[str, Any]


ContentBlock: TypeAlias = (
    TextBlock | ThinkingBlock | ToolUseBlock | ToolResultBlock | ServerToolUseBlock | ServerToolResultBlock
)
