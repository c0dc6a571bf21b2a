"""How full the context is: an estimate per part, corrected by what the API last reported."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from toolwright.models import prices

if TYPE_CHECKING:
    from toolwright.runtime.conversation import Conversation

CHARACTERS_PER_TOKEN = 4
ASSUMED_WINDOW = 200_000
"""For a model whose window is not known; the answer then says so by `rawMaxTokens` 0."""


def context_usage(conversation: Conversation) -> dict[str, Any]:
    """The answer to `get_context_usage`."""
    limits = prices.limits(conversation.model.id)
    known = limits.context_window if limits else None
    window = known or ASSUMED_WINDOW
    parts = {
        "System prompt": tokens(conversation.system),
        "Tools": encoded_tokens(conversation.toolbox.specs),
        "Messages": encoded_tokens(message.content for message in conversation.history),
    }
    total = sum(parts.values())
    return {
        "categories": [
            {"name": name, "tokens": count, "color": color}
            for (name, count), color in zip(parts.items(), ("blue", "cyan", "magenta"), strict=True)
        ],
        "totalTokens": total,
        "maxTokens": window,
        "rawMaxTokens": known or 0,
        "percentage": round(100 * total / window, 1),
        "model": conversation.model.id,
        "isAutoCompactEnabled": False,
        "memoryFiles": [],
        "mcpTools": [{"name": spec.name} for spec in conversation.toolbox.specs if spec.name.startswith("mcp__")],
        "agents": [],
        "gridRows": [],
        "apiUsage": conversation.ledger.turn_usage or None,
    }


def tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def encoded_tokens(values: Iterable[Any]) -> int:
    return sum(-(-len(msgspec.json.encode(value)) // CHARACTERS_PER_TOKEN) for value in values)
