"""A tool on an in-process server, and the handle by which it is changed while the server runs. Knows one tool at a time."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from toolwright.mcp.author.annotations import ToolAnnotations, protocol_annotations
from toolwright.mcp.author.functions import InvalidArguments, call, converted_to
from toolwright.mcp.author.schema import has_fields, input_schema_of, is_typed_dict
from toolwright.mcp.author.tool import SdkMcpTool
from toolwright.mcp.results import CallResult, call_result
from toolwright.mcp.tool_server import ServedTool
from toolwright.mcp.validation import InputValidator

if TYPE_CHECKING:
    from toolwright.mcp.author.server import InProcessServer


class InvalidOutput(Exception):
    """A handler's structured content does not fit its own schema."""


class CallContext(Struct, frozen=True):
    """What a handler may know of its call besides the arguments."""

    tool_use_id: str
    """The id of the call in the conversation; empty if it came from elsewhere."""
    tool: str
    server: str = ""


class ToolEntry:
    """One tool of a server: its description as served, and the way to its handler."""

    __slots__ = ("_handler", "_input_class", "_output", "_takes_context", "_validator", "enabled", "served", "tool")

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
        self._takes_context = takes_context(tool.handler)
        self._validator = InputValidator(schema)
        self._output = None if tool.output_schema is None else InputValidator(tool.output_schema)
        declared = tool.input_schema
        self._input_class = declared if has_fields(declared) and not is_typed_dict(declared) else None

    async def call(self, arguments: dict[str, Any], context: CallContext) -> CallResult:
        arguments = with_defaults(self.served.input_schema, arguments)
        if problem := self._validator.problem(arguments):
            raise InvalidArguments(problem)
        given: Any = arguments if self._input_class is None else converted_to(self._input_class, arguments)
        more = (context,) if self._takes_context else ()
        result = call_result(await call(self._handler, given, *more))
        if self._output is not None and not result["isError"]:
            self._check_output(self._output, result.get("structuredContent"))
        return result

    def _check_output(self, validator: InputValidator, structured: Any) -> None:
        problem = "it has no structuredContent" if structured is None else validator.problem(structured)
        if problem:
            raise InvalidOutput(problem)


def takes_context(handler: Callable[..., Any]) -> bool:
    """Whether a handler must have a second argument. One that has a default keeps it: it is the author's own."""
    try:
        parameters = list(inspect.signature(handler).parameters.values())
    except (TypeError, ValueError):  # a callable that does not tell
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [one for one in parameters if one.kind in kinds and one.default is inspect.Parameter.empty]
    return len(required) == 2


def with_defaults(schema: dict[str, Any], value: Any) -> Any:
    """A copy of `value` with what the schema says about properties that are absent, in objects inside it too."""
    properties = schema.get("properties")
    if not isinstance(value, dict) or not isinstance(properties, dict):
        return value
    filled = dict(value)
    for name, described in properties.items():
        if not isinstance(described, dict):
            continue
        if name in filled:
            filled[name] = with_defaults(described, filled[name])
        elif "default" in described:
            filled[name] = copy.deepcopy(described["default"])
    return filled


class RegisteredTool:
    """The handle of a tool on a server. Every change is heard by the sessions that use the server."""

    __slots__ = ("_entry", "_server")

    def __init__(self, server: InProcessServer, entry: ToolEntry) -> None:
        self._server = server
        self._entry = entry

    @property
    def name(self) -> str:
        return self._entry.tool.name

    @property
    def title(self) -> str | None:
        """The name for people, if its annotations give one."""
        return getattr(self._entry.tool.annotations, "title", None)

    @property
    def description(self) -> str:
        return self._entry.tool.description

    @property
    def input_schema(self) -> dict[str, Any]:
        """As JSON Schema, however it was declared."""
        return self._entry.served.input_schema

    @property
    def output_schema(self) -> dict[str, Any] | None:
        return self._entry.tool.output_schema

    @property
    def annotations(self) -> ToolAnnotations | None:
        return self._entry.tool.annotations

    @property
    def handler(self) -> Callable[..., Any]:
        return self._entry.tool.handler

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
