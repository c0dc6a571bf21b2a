"""ToolSearch: find tools that are not loaded yet, and load them. Where they come from is somebody else's (`Shelf`)."""

from __future__ import annotations

from typing import Annotated, Protocol

from msgspec import Meta, Struct

from toolwright.tools.base import BuiltinTool, ToolContext, ToolOutput

MAX_RESULTS = 5
MAX_SELECTED = 20
SELECT = "select:"
DESCRIPTION = (
    "Finds and loads tools of MCP servers. Their descriptions and parameters are not shown until they are loaded; after that "
    'call them like any other tool. query: words about what to do ("create a pull request"), or select:NAME,NAME to load by '
    "name. Loaded tools stay."
)


class ToolSearchInput(Struct, forbid_unknown_fields=True):
    query: Annotated[str, Meta(min_length=1, description="Words to search for, or select:NAME,NAME")]
    max_results: Annotated[int, Meta(ge=1, description=f"At most this many (default and maximum {MAX_RESULTS})")] = MAX_RESULTS


class FoundTools(Struct, frozen=True):
    """What a search found: tools that are loaded now (name, line about it), further names, names that there are not."""

    loaded: tuple[tuple[str, str], ...] = ()
    further: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class Shelf(Protocol):
    """Where tools wait to be loaded."""

    def listing(self) -> str:
        """What waits, in few words."""
        ...

    async def find(self, query: str, most: int) -> FoundTools:
        """Search by words, and load the best."""
        ...

    def select(self, names: list[str]) -> FoundTools:
        """Load these."""
        ...


class ToolSearch(BuiltinTool):
    name = "ToolSearch"
    Input = ToolSearchInput
    read_only = True

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    @property
    def description(self) -> str:  # type: ignore[override]  # what waits changes; the other tools' texts are fixed
        return f"{DESCRIPTION} Tools:\n{self._shelf.listing()}"

    async def perform(self, parsed: ToolSearchInput, context: ToolContext) -> ToolOutput:
        if parsed.query.startswith(SELECT):
            names = [name.strip() for name in parsed.query.removeprefix(SELECT).split(",") if name.strip()]
            found = self._shelf.select(names[:MAX_SELECTED])
        else:
            found = await self._shelf.find(parsed.query, min(parsed.max_results, MAX_RESULTS))
        return ToolOutput(told(found), {"matches": [name for name, _ in found.loaded], "query": parsed.query})


def told(found: FoundTools) -> str:
    lines = [f"- {name}: {line}" if line else f"- {name}" for name, line in found.loaded]
    if lines:
        lines.insert(0, "Loaded; these can be called now:")
    if found.further:
        lines.append(f"Also found, not loaded (load with select:NAME): {', '.join(found.further)}")
    if found.unknown:
        lines.append(f"There is no such tool: {', '.join(found.unknown)}")
    return "\n".join(lines) or "No tool fits these words. Try other words, or select:NAME."
