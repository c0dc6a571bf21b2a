"""In-process tool servers: `create_sdk_mcp_server` and the `InProcessServer` behind it.

A call goes straight to the Python handler: no JSON-RPC, no process. Whatever goes wrong with it (unknown tool, arguments that
do not fit, an exception, a return value that is no result) is an error result; only cancellation passes through.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from toolwright.mcp.annotations import protocol_annotations
from toolwright.mcp.base import ServedTool, ToolServer
from toolwright.mcp.functions import InvalidArguments, call, converted_to
from toolwright.mcp.results import CallResult, MalformedResult, call_result, error_result
from toolwright.mcp.schema import has_fields, input_schema_of, is_typed_dict
from toolwright.mcp.tool import SdkMcpTool, as_tool
from toolwright.mcp.validation import InputValidator, InvalidSchema

if TYPE_CHECKING:
    from toolwright.types import McpSdkServerConfig

_MOST_CAUSES = 5

T = TypeVar("T")


def create_sdk_mcp_server(
    name: str, version: str = "1.0.0", tools: Iterable[SdkMcpTool[Any] | Callable[..., Any]] | None = None
) -> McpSdkServerConfig:
    """A server of Python functions, as an entry for `mcp_servers`. Plain functions are taken as well as `@tool` ones."""
    config = {"type": "sdk", "name": name, "instance": InProcessServer(name, version, tools or ())}
    return cast("McpSdkServerConfig", config)


def tool_server_of(name: str, config: Mapping[str, Any]) -> ToolServer:
    """The server inside an `{"type": "sdk", ...}` entry of `mcp_servers`. Raises TypeError if we cannot call it."""
    instance = config.get("instance")
    parts = (getattr(instance, "list_tools", None), getattr(instance, "call_tool", None))
    if not all(inspect.iscoroutinefunction(part) for part in parts):
        raise TypeError(
            f"mcp_servers[{name!r}]: 'instance' must be what create_sdk_mcp_server made, or an object with async list_tools() "
            f"and call_tool(), not {type(instance).__name__}"
        )
    return cast("ToolServer", instance)


class InProcessServer:
    """A named set of tools in this process. One server may serve any number of sessions at once."""

    def __init__(self, name: str, version: str = "1.0.0", tools: Iterable[Any] = ()) -> None:
        if not isinstance(name, str) or not name:
            raise TypeError(f"a server's name must be a string that is not empty, not {name!r}")
        self.name = name
        self.version = version
        self._entries: dict[str, _Entry] = {}
        self._made: dict[str, Any] = {}
        for given in tools:
            self._add(as_tool(given))

    def _add(self, tool: SdkMcpTool[Any]) -> None:
        if tool.name in self._entries:
            raise ValueError(f"server {self.name!r} has two tools named {tool.name!r}; rename one of them")
        self._entries[tool.name] = _Entry(tool)

    def once(self, key: str, make: Callable[[], T]) -> T:
        """What `make` makes of this server, made once for all sessions that use it."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    @property
    def tools(self) -> list[ServedTool]:
        return [entry.served for entry in self._entries.values()]

    async def list_tools(self) -> list[ServedTool]:
        return self.tools

    async def call_tool(self, name: str, arguments: dict[str, Any], *, tool_use_id: str = "") -> CallResult:
        entry = self._entries.get(name)
        if entry is None:
            return error_result(f"Unknown tool: {name}. This server has: {', '.join(self._entries) or 'no tools'}.")
        try:
            return await entry.call(arguments)
        except InvalidArguments as error:
            return error_result(f"Input validation error: {error}")
        except InvalidSchema as error:
            return error_result(f"The tool {name} cannot be called: its input schema is not valid JSON Schema: {error}")
        except MalformedResult as error:
            return error_result(f"The tool {name} ran, but gave no usable result: {error}.")
        except Exception as error:  # noqa: BLE001 — the boundary to the user's handler: its failure is a result
            return error_result(_message_of(error))


class _Entry:
    """One tool of a server: its description as served, and the way to its handler."""

    __slots__ = ("_handler", "_input_class", "_validator", "served")

    def __init__(self, tool: SdkMcpTool[Any]) -> None:
        try:
            schema = input_schema_of(tool.input_schema)
        except TypeError as error:
            raise TypeError(f"tool {tool.name!r}: {error}") from None
        annotations, meta = protocol_annotations(tool.annotations)
        self.served = ServedTool(tool.name, tool.description, schema, annotations, meta)
        self._handler = tool.handler
        self._validator = InputValidator(schema)
        declared = tool.input_schema
        self._input_class = declared if has_fields(declared) and not is_typed_dict(declared) else None

    async def call(self, arguments: dict[str, Any]) -> CallResult:
        if problem := self._validator.problem(arguments):
            raise InvalidArguments(problem)
        given: Any = arguments if self._input_class is None else converted_to(self._input_class, arguments)
        return call_result(await call(self._handler, given))


def _message_of(error: Exception) -> str:
    """What the model reads. A bare key or an empty text says nothing without the exception's name."""
    if isinstance(error, ExceptionGroup):
        return "; ".join(_message_of(cause) for cause in error.exceptions[:_MOST_CAUSES])
    text = str(error).strip()
    return text if text and not isinstance(error, LookupError) else f"{type(error).__name__}: {text}".rstrip(": ")
