"""A tool on an in-process server, and the handle by which it is changed while the server runs. Knows one tool at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolwright.mcp.annotations import protocol_annotations
from toolwright.mcp.base import ServedTool
from toolwright.mcp.functions import InvalidArguments, call, converted_to
from toolwright.mcp.results import CallResult, call_result
from toolwright.mcp.schema import has_fields, input_schema_of, is_typed_dict
from toolwright.mcp.tool import SdkMcpTool
from toolwright.mcp.validation import InputValidator

if TYPE_CHECKING:
    from toolwright.mcp.server import InProcessServer


class InvalidOutput(Exception):
    """A handler's structured content does not fit its own schema."""


class Entry:
    """One tool of a server: its description as served, and the way to its handler."""

    __slots__ = ("_handler", "_input_class", "_output", "_validator", "enabled", "served", "tool")

    def __init__(self, tool: SdkMcpTool[Any], *, enabled: bool = True) -> None:
        try:
            schema = input_schema_of(tool.input_schema)
        except TypeError as error:
            raise TypeError(f"tool {tool.name!r}: {error}") from None
        annotations, meta = protocol_annotations(tool.annotations)
        self.tool = tool
        self.enabled = enabled
        self.served = ServedTool(tool.name, tool.description, schema, annotations, meta, tool.output_schema)
        self._handler = tool.handler
        self._validator = InputValidator(schema)
        self._output = None if tool.output_schema is None else InputValidator(tool.output_schema)
        declared = tool.input_schema
        self._input_class = declared if has_fields(declared) and not is_typed_dict(declared) else None

    async def call(self, arguments: dict[str, Any]) -> CallResult:
        if problem := self._validator.problem(arguments):
            raise InvalidArguments(problem)
        given: Any = arguments if self._input_class is None else converted_to(self._input_class, arguments)
        result = call_result(await call(self._handler, given))
        if self._output is not None and not result["isError"]:
            self._check_output(self._output, result.get("structuredContent"))
        return result

    def _check_output(self, validator: InputValidator, structured: Any) -> None:
        problem = "it has no structuredContent" if structured is None else validator.problem(structured)
        if problem:
            raise InvalidOutput(problem)


class RegisteredTool:
    """The handle of a tool on a server. Every change is heard by the sessions that use the server."""

    __slots__ = ("_entry", "_server")

    def __init__(self, server: InProcessServer, entry: Entry) -> None:
        self._server = server
        self._entry = entry

    @property
    def name(self) -> str:
        return self._entry.tool.name

    @property
    def enabled(self) -> bool:
        return self._entry.enabled

    def enable(self) -> None:
        self._switch(True)

    def disable(self) -> None:
        """It is no longer listed, and a call of it is an error."""
        self._switch(False)

    def update(self, **fields: Any) -> None:
        """Change name, description, input_schema, output_schema, handler or annotations."""
        self._entry = self._server.replace(self._entry, replace(self._entry.tool, **fields))

    def remove(self) -> None:
        self._server.remove(self._entry)

    def _switch(self, enabled: bool) -> None:
        self._server.expect(self._entry)
        if self._entry.enabled is not enabled:
            self._entry.enabled = enabled
            self._server.changed()
