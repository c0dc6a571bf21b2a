"""`McpInput`: the generic form of a call of a served tool, which says in its input which one it means.

Such a call is spelled out before anything looks at it, so rules, hooks and people see the tool that will run. Calls nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolwright.mcp.session.tool_adapter import ServedToolAdapter

if TYPE_CHECKING:
    from toolwright.tools.base import Tool

GENERIC = "McpInput"
HOW = (
    'McpInput calls a tool of an MCP server: {"server": NAME, "tool": NAME, "arguments": {…}}; the server may be left out '
    "where only one has such a tool."
)
_SERVER, _TOOL, _ARGUMENTS = ("server", "server_name"), ("tool", "tool_name", "name"), ("arguments", "input", "args")


def spelled_out(given: Mapping[str, Any], tools: Mapping[str, Tool]) -> tuple[str, dict[str, Any]] | None:
    """The name and the input of the call that is meant; None if no tool, or more than one, can be."""
    server, tool, arguments = (_first(given, names) for names in (_SERVER, _TOOL, _ARGUMENTS))
    if not isinstance(tool, str) or not isinstance(arguments, dict | None):
        return None
    meant = [
        each.name
        for each in tools.values()
        if isinstance(each, ServedToolAdapter) and tool in (each.name, each.tool.name) and server in (None, each.server_name)
    ]
    return (meant[0], arguments or {}) if len(meant) == 1 else None


def _first(given: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((given[name] for name in names if name in given), None)
