"""Which tools of servers the model sees at once, and which wait until they are searched for.

With many tools, their descriptions and schemas would fill the context before the first word. Then only names go to the model,
and ToolSearch loads what is needed; loaded tools are appended, so that what a provider has cached before them stays valid.
Every tool can be called by its name all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
from msgspec import Struct

from toolwright.base.threads import run_in_thread
from toolwright.mcp.session.tool_adapter import ServedToolAdapter, external_of
from toolwright.tools.tool_search import FoundTools, ToolSearch
from toolwright.types import OptionsError

if TYPE_CHECKING:
    from toolwright.tools.base import Tool
    from toolwright.tools.tool_index import IndexedTool, ToolIndex

VARIABLE = "ENABLE_TOOL_SEARCH"
ALWAYS = "anthropic/alwaysLoad"
"""The key of a tool's `_meta` by which its server asks that it be loaded from the start."""
DEFAULT_SHARE = 10.0
LISTED_SHARE = 0.04
"""The part of what all deferred tools would take that their list may take."""
LEAST_LISTED = 2000
LINE = 60
CHARACTERS_PER_TOKEN = 4
FURTHER = 10


class Policy(Struct, frozen=True):
    """When tools wait: always (share 0), never (share None), or if they take more than this percentage of the context."""

    share: float | None = DEFAULT_SHARE


def policy_of(env: Mapping[str, str]) -> Policy:
    """ENABLE_TOOL_SEARCH: true, false, auto or auto:N (percent). Raises `OptionsError`."""
    text = env.get(VARIABLE, "").strip().lower()
    if text in ("", "auto"):
        return Policy()
    if text in ("true", "1", "yes", "on"):
        return Policy(0.0)
    if text in ("false", "0", "no", "off"):
        return Policy(None)
    share = text.removeprefix("auto:")
    if not share.isdecimal() or share == text or int(share) > 100:
        raise OptionsError(f"{VARIABLE} must be true, false, auto or auto:N with N percent; got {text!r}")
    return Policy(float(share))


def nobody_has_them() -> None:
    """For tools that are not in a toolbox yet."""


class WaitingTools:
    """The tools that wait. Implements the `Shelf` of ToolSearch."""

    __slots__ = ("_index", "_is_on", "_limit", "_loaded", "_searching", "_tools", "changed", "tool")

    def __init__(self, policy: Policy, window: int) -> None:
        self._limit = None if policy.share is None else policy.share / 100 * window * CHARACTERS_PER_TOKEN
        self._loaded: dict[str, None] = {}
        self._tools: dict[str, Tool] = {}
        self._index: ToolIndex | None = None
        self._searching: anyio.Lock | None = None
        self._is_on = False
        self.tool = ToolSearch(self)
        self.changed: Callable[[], None] = nobody_has_them
        """Called when tools were loaded: the next request is to have them."""

    def sorted_out(self, served: Sequence[Tool]) -> tuple[list[Tool], list[Tool]]:
        """The tools to show from the start and those that were loaded since, in that order; the rest waits.

        Once tools wait they go on doing so: what the model has been told must not change back and forth.
        """
        first = [tool for tool in served if is_always_loaded(tool)]
        rest = [tool for tool in served if not is_always_loaded(tool)]
        self._is_on = self._is_on or self._are_too_many(rest)
        if not self._is_on:
            return list(served), []
        tools = {tool.name: tool for tool in rest}
        if tools != self._tools:
            self._tools, self._index = tools, None
        return first, [tools[name] for name in self._loaded if name in tools]

    @property
    def is_on(self) -> bool:
        """Whether there is anything to search for."""
        return self._is_on and bool(self._tools)

    def _are_too_many(self, tools: Sequence[Tool]) -> bool:
        return self._limit is not None and bool(tools) and sum(map(size_of, tools)) > self._limit

    # the shelf

    def listing(self) -> str:
        """Names, with a line about each if there is room; grouped by server, whose prefix stands once.

        Those that were loaded stay in it: a text that changed would spoil what the provider has cached after it.
        """
        tools = list(self._tools.values())
        room = max(LEAST_LISTED, int(LISTED_SHARE * sum(map(size_of, tools))))
        for form in (with_lines, names_only, counts_only):
            text = form(tools)
            if len(text) <= room:
                return text
        return f"{len(tools)} tools of {len(groups(tools))} servers"

    async def find(self, query: str, most: int) -> FoundTools:
        self._searching = self._searching or anyio.Lock()  # large; most sessions never search
        async with self._searching:
            names = await run_in_thread(lambda: self._search(query, most + FURTHER))
        return self._load([name for name in names if name in self._tools], most)

    def _search(self, query: str, most: int) -> list[str]:
        from toolwright.tools.tool_index import ToolIndex  # not before somebody searches

        if self._index is None:
            self._index = ToolIndex(map(entry_of, self._tools.values()))
        return self._index.search(query, most)

    def select(self, names: list[str]) -> FoundTools:
        full = {name: full_name(name, self._tools) for name in names}
        found = self._load([name for name in full.values() if name is not None], len(names))
        return FoundTools(found.loaded, (), tuple(name for name in names if full[name] is None))

    def _load(self, names: list[str], most: int) -> FoundTools:
        chosen = names[:most]
        fresh = [name for name in chosen if name not in self._loaded]
        self._loaded |= dict.fromkeys(fresh)
        if fresh:
            self.changed()
        loaded = tuple((name, line_of(self._tools[name], 200)) for name in chosen)
        return FoundTools(loaded, tuple(names[most:]))

    def recall(self, names: Iterable[str]) -> None:
        """Load what an earlier part of this conversation had loaded."""
        self._loaded |= dict.fromkeys(names)


def loaded_in(history: Iterable[Any]) -> list[str]:
    """The tools that a conversation has loaded, or called."""
    names: dict[str, None] = {}
    for message in history:
        for block in message.content:
            if block.get("type") == "tool_use" and str(block.get("name", "")).startswith("mcp__"):
                names[block["name"]] = None
            elif block.get("type") == "tool_result" and isinstance(block.get("content"), str):
                names |= dict.fromkeys(named_in(block["content"]))
    return list(names)


def named_in(text: str) -> list[str]:
    """The tools that a result of ToolSearch says it loaded."""
    if not text.startswith("Loaded; "):
        return []
    lines = [line for line in text.split("\n") if line.startswith("- mcp__")]
    return [line.removeprefix("- ").partition(":")[0] for line in lines]


def is_always_loaded(tool: Tool) -> bool:
    if not isinstance(tool, ServedToolAdapter):
        return True
    server = external_of(tool.server)
    config = server.config if server is not None else None
    return tool.tool.meta.get(ALWAYS) is True or (config is not None and config.always_load)


def size_of(tool: Tool) -> int:
    """Characters of a tool in a request."""
    return len(tool.name) + len(tool.description) + len(msgspec.json.encode(tool.input_schema)) + 50


def entry_of(tool: Tool) -> IndexedTool:
    from toolwright.tools.tool_index import IndexedTool, parameter_words

    prefix, own_name = split_name(tool.name)
    return IndexedTool(tool.name, own_name, prefix, tool.description, parameter_words(tool.input_schema))


def split_name(name: str) -> tuple[str, str]:
    """`mcp__github__create_issue` → `mcp__github__`, `create_issue`."""
    _, mark, rest = name.partition("__")
    server, second, own = rest.partition("__")
    return (f"mcp__{server}__", own) if mark and second else ("", name)


def full_name(name: str, tools: Mapping[str, Tool]) -> str | None:
    """A tool's whole name; the server's part may be left out where that leaves no doubt."""
    if name in tools:
        return name
    fitting = [full for full in tools if split_name(full)[1] == name]
    return fitting[0] if len(fitting) == 1 else None


# lists


def groups(tools: Iterable[Tool]) -> dict[str, list[Tool]]:
    found: dict[str, list[Tool]] = {}
    for tool in tools:
        found.setdefault(split_name(tool.name)[0], []).append(tool)
    return found


def line_of(tool: Tool, longest: int) -> str:
    line = tool.description.strip().partition("\n")[0]
    line = line.partition(". ")[0].rstrip(".") if len(line) > longest else line
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def with_lines(tools: Sequence[Tool]) -> str:
    return "\n".join(f"{tool.name}: {line_of(tool, LINE)}" for tool in tools)


def names_only(tools: Sequence[Tool]) -> str:
    return "\n".join(
        f"{prefix}… {' '.join(split_name(tool.name)[1] for tool in members)}" for prefix, members in groups(tools).items()
    )


def counts_only(tools: Sequence[Tool]) -> str:
    return "\n".join(f"{prefix}… {len(members)} tools" for prefix, members in groups(tools).items())
