"""How a session introduces itself: the answer to `initialize`, and the init frame of every turn."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from toolwright._version import COMPATIBLE_CLI_VERSION
from toolwright.models.registry import ALIASES
from toolwright.protocol import frames

if TYPE_CHECKING:
    from toolwright.protocol.frames import Frame
    from toolwright.runtime.session import Parts


def init(parts: Parts) -> Frame:
    conversation = parts.conversation
    return frames.system(
        "init",
        conversation.session_id,
        cwd=parts.cwd,
        tools=list(conversation.toolbox.tools),
        mcp_servers=conversation.toolbox.init_rows(),
        model=conversation.model.id,
        permissionMode=conversation.runner.gate.mode,
        slash_commands=[row["name"] for row in conversation.commands.rows()],
        apiKeySource=conversation.model.key_source,
        betas=list(conversation.sampling.betas),
        claude_code_version=COMPATIBLE_CLI_VERSION,
        output_style="default",
        agents=[agent["name"] for agent in parts.agents],
        skills=[],
        plugins=[],
    )


def _model_row(name: str, resolved: str, description: str) -> Frame:
    return {"value": name, "resolvedModel": resolved, "displayName": name, "description": description}


def _known_models() -> list[Frame]:
    """The short names, which any session may switch to; whoever has a full name of a provider can give that too."""
    return [_model_row(name, resolved, f"the same as {resolved}") for name, resolved in ALIASES.items()]


def initialize_answer(parts: Parts) -> Frame:
    conversation = parts.conversation
    model = conversation.model
    return {
        "commands": conversation.commands.rows(),
        "agents": parts.agents,
        "models": [_model_row(model.id, model.id, model.provider), *_known_models()],
        "account": {"tokenSource": model.key_source, "apiKeySource": model.key_source, "apiProvider": model.provider},
        "output_style": "default",
        "available_output_styles": ["default"],
        "pid": os.getpid(),
        "claude_code_version": COMPATIBLE_CLI_VERSION,
        "current_permission_mode": conversation.runner.gate.mode,
        "hook_on_failure_supported": True,
        "session_id": conversation.session_id,
        "session_state": "idle",
        "capabilities": [],
    }
