"""Which definition of each tool of a server has been agreed to: the first that was seen, until a changed one was let through.

Permission rules name tools; what a name stands for is the server's to change, at any time. Whoever allowed a tool allowed it as
it was described then. Decides nothing: it only tells whether a tool is still the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwright.mcp.client.pinned_tools import Approvals, digest_of
from toolwright.mcp.tool_server import ServedTool


class Definitions:
    """For one server and one session; with `kept`, also what earlier sessions agreed to."""

    __slots__ = ("_agreed", "_kept")

    def __init__(self, kept: Approvals | None = None) -> None:
        self._agreed: dict[str, ServedTool] = {}
        self._kept = kept

    def seen(self, tools: Iterable[ServedTool]) -> None:
        for tool in tools:
            self._agreed.setdefault(tool.name, tool)

    def has_changed(self, tool: ServedTool) -> bool:
        before = None if self._kept is None else self._kept.of(tool.name)
        if before is not None:
            return before != digest_of(tool)
        return tool.name in self._agreed and not same_definition(self._agreed[tool.name], tool)

    def agree(self, tool: ServedTool) -> None:
        self._agreed[tool.name] = tool
        if self._kept is not None:
            self._kept.keep(tool.name, digest_of(tool))


def same_definition(one: ServedTool, other: ServedTool) -> bool:
    """Whether the two would be described alike to a model and to a person. `_meta` may differ: it is for programs."""
    return one is other or (one.name, one.description, one.input_schema, one.annotations) == (
        other.name,
        other.description,
        other.input_schema,
        other.annotations,
    )
