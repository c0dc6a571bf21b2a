"""Subagents that a program defines."""

from dataclasses import dataclass
from typing import Any, Literal

from toolwright.types.permissions import PermissionMode
from toolwright.types.thinking import EffortLevel


@dataclass
class AgentDefinition:
    """A subagent: `description` tells the model when to use it, `prompt` is its system prompt.

    What is None is taken over from the session: tools, model, effort and permission mode. Names are spelled as on the wire.
    """

    description: str
    prompt: str
    tools: list[str] | None = None
    disallowedTools: list[str] | None = None
    model: str | None = None
    skills: list[str] | None = None
    memory: Literal["user", "project", "local"] | None = None
    mcpServers: list[str | dict[str, Any]] | None = None
    initialPrompt: str | None = None
    maxTurns: int | None = None
    background: bool | None = None
    effort: EffortLevel | int | None = None
    permissionMode: PermissionMode | None = None
