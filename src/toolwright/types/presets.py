"""The dict forms of the options `system_prompt` and `tools`."""

from typing import Literal, NotRequired, TypedDict


class SystemPromptPreset(TypedDict):
    """The full built-in system prompt, with `append` behind it.

    `exclude_dynamic_sections` moves what differs between machines out of it, so that a provider's cache is shared;
    `snapshot` keeps the prompt of the session's start when it is resumed.
    """

    type: Literal["preset"]
    preset: Literal["claude_code"]
    append: NotRequired[str]
    exclude_dynamic_sections: NotRequired[bool]
    snapshot: NotRequired[bool]


class SystemPromptCustom(TypedDict):
    """A system prompt of one's own; the same as giving the text itself, with room for `snapshot`."""

    type: Literal["custom"]
    prompt: str
    snapshot: NotRequired[bool]


class SystemPromptFile(TypedDict):
    """A system prompt read from a file."""

    type: Literal["file"]
    path: str


class ToolsPreset(TypedDict):
    """All built-in tools."""

    type: Literal["preset"]
    preset: Literal["claude_code"]
