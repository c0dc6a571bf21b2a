"""The prompts that a server offers to people: read page by page, bounded, and made safe to show. Knows no session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from toolwright.mcp.client.listing import presentable

MAX_PAGES = 20
MAX_PROMPTS = 500
MAX_ARGUMENTS = 100
MAX_NAME_LENGTH = 200
MAX_DESCRIPTION_LENGTH = 500


class PromptArgument(Struct, frozen=True):
    name: str
    required: bool = False


class ServedPrompt(Struct, frozen=True):
    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


async def list_prompts(page_of: Callable[[str | None], Awaitable[dict[str, Any]]]) -> list[ServedPrompt]:
    """The first `MAX_PROMPTS` prompts; entries that cannot be used are left out."""
    found: dict[str, ServedPrompt] = {}
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await page_of(cursor)
        listed = page.get("prompts")
        for entry in listed if isinstance(listed, list) else ():
            prompt = read_prompt(entry)
            if prompt is not None and len(found) < MAX_PROMPTS:
                found.setdefault(prompt.name, prompt)
        following = page.get("nextCursor")
        if not isinstance(following, str) or not following or len(found) >= MAX_PROMPTS:
            break
        cursor = following
    return list(found.values())


def read_prompt(entry: Any) -> ServedPrompt | None:
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name or len(name) > MAX_NAME_LENGTH:
        return None
    description, arguments = entry.get("description"), entry.get("arguments")
    given = arguments[:MAX_ARGUMENTS] if isinstance(arguments, list) else []
    return ServedPrompt(
        name,
        presentable(description, MAX_DESCRIPTION_LENGTH) if isinstance(description, str) else "",
        tuple(
            PromptArgument(argument["name"], argument.get("required") is True)
            for argument in given
            if isinstance(argument, dict) and isinstance(argument.get("name"), str)
        ),
    )
