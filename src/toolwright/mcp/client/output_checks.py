"""Whether what a server answered to a call is a result, and fits the schema that its tool promised. Knows no connection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolwright.mcp.client.untrusted_schemas import ForeignValidator
from toolwright.mcp.tool_server import ServedTool


class OutputChecks:
    """The promises of one list of tools; a schema is compiled when its first result comes."""

    def __init__(self, tools: Sequence[ServedTool] = ()) -> None:
        self._schemas = {tool.name: tool.output_schema for tool in tools if tool.output_schema is not None}
        self._validators: dict[str, ForeignValidator] = {}

    def problem(self, name: str, result: dict[str, Any]) -> str:
        """What is wrong with a result; empty if nothing is."""
        structured = result.get("structuredContent")
        if not isinstance(result.get("content", [] if structured is not None else None), list):
            return f"its answer to {name} has no content"
        misfit = "" if result.get("isError") is True else self._misfit(name, structured)
        return f"the result of {name} does not fit the tool's own output schema: {misfit}" if misfit else ""

    def _misfit(self, name: str, structured: Any) -> str:
        if name not in self._schemas:
            return ""
        if structured is None:
            return "it has no structuredContent"
        if name not in self._validators:
            self._validators[name] = ForeignValidator(self._schemas[name])
        return self._validators[name].problem(structured)
