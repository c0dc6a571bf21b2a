"""A server's list of tools, read page by page and made safe to show: bounded, and without characters that hide or deceive.

What is left out is said in a notice. A description can still lie; it cannot move the cursor, turn text around or hide in it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import Struct, field

from toolwright.mcp.client.parameter_headers import BadMark, marks_of
from toolwright.mcp.tool_server import ServedTool

MAX_PAGES = 100
MAX_TOOLS = 10_000
MAX_DESCRIPTION_LENGTH = 2048
MAX_NAME_LENGTH = 1000
MAX_SCHEMA_SIZE = 256 * 1024
_MAX_DEPTH = 64
_JOINERS = "\u200c\u200d"
"""Format characters that ordinary words of some languages, and emoji, need."""
_NOT_PLAIN = re.compile(r"[^\x20-\x7e\n\t]")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Unicode's controls, format characters (direction, zero width, tags), halves of pairs, private ones, line separators."""


class ToolListing(Struct):
    """The tools, and what was left out of them."""

    tools: list[ServedTool] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


async def list_all(page_of: Callable[[str | None], Awaitable[dict[str, Any]]]) -> ToolListing:
    """Every page; `page_of(cursor)` asks for one. A list that does not end is cut, and that is said."""
    listing, names, cursors = ToolListing(), set[str](), set[str]()
    left_out = 0
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await page_of(cursor)
        listed = page.get("tools")
        if not isinstance(listed, list):
            listing.notices.append('a page of its list of tools has no "tools"')
            return listing
        for entry in listed:
            if len(listing.tools) >= MAX_TOOLS:
                left_out += 1
            else:
                _add(listing, names, entry)
        following = page.get("nextCursor")
        if left_out:
            more = " and perhaps more" if following else ""
            listing.notices.append(f"it lists more than {MAX_TOOLS:,} tools; {left_out:,}{more} were left out")
            return listing
        if not isinstance(following, str) or not following:
            return listing
        if following in cursors:
            break
        cursors.add(following)
        cursor = following
    listing.notices.append(f"its list of tools does not end; the first {len(listing.tools):,} tools were taken")
    return listing


def _add(listing: ToolListing, names: set[str], entry: Any) -> None:
    tool = read_tool(entry)
    if isinstance(tool, str):
        _note(listing, tool)
    elif tool.name in names:
        _note(listing, f"the tool {tool.name[:100]!r} is listed twice; the second was left out")
    else:
        names.add(tool.name)
        listing.tools.append(tool)


def without_bad_marks(listing: ToolListing) -> ToolListing:
    """The tools whose arguments can be repeated as headers the way they ask; the others are left out, and that is said."""
    usable = ToolListing([], listing.notices)
    for tool in listing.tools:
        try:
            marks_of(tool.input_schema)
            usable.tools.append(tool)
        except BadMark as problem:
            _note(usable, f"the tool {tool.name[:100]!r} was left out: {problem}")
    return usable


def _note(listing: ToolListing, notice: str) -> None:
    if len(listing.notices) < 20:
        listing.notices.append(notice)


def read_tool(entry: Any) -> ServedTool | str:
    """One tool, or what is wrong with it."""
    name, schema = (entry.get("name"), entry.get("inputSchema")) if isinstance(entry, dict) else (None, None)
    if not isinstance(name, str) or not name or len(name) > MAX_NAME_LENGTH:
        return f"a tool without a usable name was left out: {str(entry)[:100]}"
    if not isinstance(schema, dict):
        return f"the tool {name[:100]!r} has no inputSchema and was left out"
    if len(msgspec.json.encode(schema)) > MAX_SCHEMA_SIZE:
        return f"the tool {name[:100]!r} has an inputSchema of more than {MAX_SCHEMA_SIZE // 1024} KB and was left out"
    description, output = entry.get("description"), entry.get("outputSchema")
    return ServedTool(
        name,
        presentable(description if isinstance(description, str) else "", MAX_DESCRIPTION_LENGTH),
        _presentable_schema(schema, _MAX_DEPTH),
        entry["annotations"] if isinstance(entry.get("annotations"), dict) else {},
        entry["_meta"] if isinstance(entry.get("_meta"), dict) else {},
        output if isinstance(output, dict) else None,
    )


def presentable(text: str, longest: int) -> str:
    """`text` with control and hidden characters written out as escapes, and not longer than `longest`."""
    shown = text if text.isascii() and text.isprintable() else _NOT_PLAIN.sub(_escaped, text)
    return shown if len(shown) <= longest else f"{shown[:longest]}… [{len(shown) - longest} characters left out]"


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    hidden = unicodedata.category(character) in _HIDDEN and character not in _JOINERS
    return f"\\u{{{ord(character):x}}}" if hidden else character


def _presentable_schema(schema: Any, depth: int) -> Any:
    """The same for the words inside a schema. Values (enum, default, const) are data and stay as they are."""
    if depth == 0:
        return schema
    if isinstance(schema, list):
        return [_presentable_schema(part, depth - 1) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: presentable(value, MAX_DESCRIPTION_LENGTH)
        if key in ("description", "title") and isinstance(value, str)
        else value
        if key in ("enum", "default", "const", "examples")
        else _presentable_schema(value, depth - 1)
        for key, value in schema.items()
    }
