"""In-process tool servers: `create_sdk_mcp_server` and the `InProcessServer` behind it.

A call goes straight to the Python handler: no JSON-RPC, no process. Whatever goes wrong with it (unknown tool, arguments that
do not fit, an exception, a return value that is no result) is an error result; only cancellation passes through.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from toolwright.mcp.author.functions import InvalidArguments
from toolwright.mcp.author.registered import CallContext, InvalidOutput, RegisteredTool, ToolEntry
from toolwright.mcp.author.tool import SdkMcpTool, as_tool, tool
from toolwright.mcp.changes import PROMPTS, RESOURCES, TOOLS
from toolwright.mcp.results import CallResult, MalformedResult, error_result
from toolwright.mcp.tool_server import ServedTool, ToolServer
from toolwright.mcp.validation import InvalidSchema

if TYPE_CHECKING:
    from toolwright.types import McpSdkServerConfig

_MAX_CAUSES = 5

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
    if (server := _of_mcp_package(instance)) is not None:
        from toolwright.mcp.client.mcp_package import instance_server  # only who brings such an object needs it

        return instance_server(name, server)
    parts = (getattr(instance, "list_tools", None), getattr(instance, "call_tool", None))
    if not all(inspect.iscoroutinefunction(part) for part in parts):
        raise TypeError(
            f"mcp_servers[{name!r}]: 'instance' must be what create_sdk_mcp_server made, a server of the mcp package, or an "
            f"object with async list_tools() and call_tool(), not {type(instance).__name__}"
        )
    return cast("ToolServer", instance)


def _of_mcp_package(instance: Any) -> Any | None:
    if "mcp" not in sys.modules:
        return None
    from toolwright.mcp.client.mcp_package import low_level_server

    return low_level_server(instance)


class InProcessServer:
    """A named set of tools in this process. One server may serve any number of sessions at once."""

    def __init__(self, name: str, version: str = "1.0.0", tools: Iterable[Any] = ()) -> None:
        if not isinstance(name, str) or not name:
            raise TypeError(f"a server's name must be a string that is not empty, not {name!r}")
        self.name = name
        self.version = version
        self._entries: dict[str, ToolEntry] = {}
        self._made: dict[str, Any] = {}
        self._listeners: list[Callable[[str], None]] = []
        self.changes = dict.fromkeys((TOOLS, RESOURCES, PROMPTS), 0)
        """How often each of its lists has changed."""
        for given in tools:
            self._add(as_tool(given))

    def _add(self, tool: SdkMcpTool[Any]) -> ToolEntry:
        if tool.name in self._entries:
            raise ValueError(f"server {self.name!r} has two tools named {tool.name!r}; rename one of them")
        entry = self._entries[tool.name] = ToolEntry(tool)
        return entry

    # changing it while it runs

    def register(self, tool: SdkMcpTool[Any] | Callable[..., Any]) -> RegisteredTool:
        """Add a tool. The handle that comes back enables, disables, updates and removes it."""
        entry = self._add(as_tool(tool))
        self.changed()
        return RegisteredTool(self, entry)

    def tool(
        self,
        name: str | SdkMcpTool[Any] | Callable[..., Any],
        description: str | None = None,
        input_schema: type[Any] | dict[str, Any] | None = None,
        handler: Callable[..., Any] | None = None,
        **more: Any,
    ) -> Any:
        """`register` as other MCP libraries spell it: `server.tool(name, description, schema, handler)` gives the handle.

        Without a handler it decorates the function below. `more` is what `@tool` takes: annotations, output_schema.
        """
        if not isinstance(name, str):
            return self.register(name)
        decorate: Callable[[Callable[..., Any]], SdkMcpTool[Any]] = tool(name, description, input_schema, **more)  # type: ignore[arg-type]  # any of its forms
        if handler is not None:
            return self.register(decorate(handler))

        def decorator(function: Callable[..., Any]) -> SdkMcpTool[Any]:
            made = decorate(function)
            self.register(made)
            return made

        return decorator

    def registered(self, name: str) -> RegisteredTool:
        """The handle of a tool that is there. Raises KeyError."""
        return RegisteredTool(self, self._entries[name])

    def replace(self, entry: ToolEntry, tool: SdkMcpTool[Any]) -> ToolEntry:
        """For the handle: put `tool` where `entry` was, in the same place of the list."""
        self.expect(entry)
        if tool.name != entry.tool.name and tool.name in self._entries:
            raise ValueError(f"server {self.name!r} already has a tool named {tool.name!r}")
        made = ToolEntry(tool, enabled=entry.enabled)
        self._entries = {
            (tool.name if other is entry else name): (made if other is entry else other)
            for name, other in self._entries.items()
        }
        self.changed()
        return made

    def remove(self, entry: ToolEntry) -> None:
        """For the handle: take the tool away."""
        self.expect(entry)
        del self._entries[entry.tool.name]
        self.changed()

    def expect(self, entry: ToolEntry) -> None:
        if self._entries.get(entry.tool.name) is not entry:
            raise ValueError(f"the tool {entry.tool.name!r} is no longer on server {self.name!r}")

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` whenever the list of tools changes; what comes back ends that."""
        return self.on_event(lambda event: listener() if event == TOOLS else None)

    def on_event(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Call `listener` with `ToolListChanged`, `ResourceListChanged` or `PromptListChanged`; what comes back ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def changed(self) -> None:
        """The list of tools is another one: sessions list them again."""
        self._made.clear()
        self._tell(TOOLS)

    def resources_changed(self) -> None:
        """Tell whoever uses this server that the resources its tools speak of are others now."""
        self._tell(RESOURCES)

    def prompts_changed(self) -> None:
        """Tell whoever uses this server that the prompts its tools speak of are others now."""
        self._tell(PROMPTS)

    def _tell(self, event: str) -> None:
        self.changes[event] += 1
        for listener in tuple(self._listeners):
            listener(event)

    # serving

    def once(self, key: str, make: Callable[[], T]) -> T:
        """What `make` makes of this server, made once for all sessions that use it."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    @property
    def tools(self) -> list[ServedTool]:
        return [entry.served for entry in self._entries.values() if entry.enabled]

    async def list_tools(self) -> list[ServedTool]:
        return self.tools

    async def call_tool(self, name: str, arguments: dict[str, Any], *, tool_use_id: str = "") -> CallResult:
        entry = self._entries.get(name)
        if entry is None:
            names = ", ".join(tool.name for tool in self.tools) or "no tools"
            return error_result(f"Unknown tool: {name}. This server has: {names}.")
        if not entry.enabled:
            return error_result(f"Tool {name} is disabled.")
        try:
            return await entry.call(arguments, CallContext(tool_use_id, name, self.name))
        except InvalidArguments as error:
            return error_result(f"Input validation error: {error}")
        except InvalidSchema as error:
            return error_result(f"The tool {name} cannot be called: its input schema is not valid JSON Schema: {error}")
        except InvalidOutput as error:
            return error_result(f"Output validation error: the tool {name} ran, but its result does not fit: {error}")
        except MalformedResult as error:
            return error_result(f"The tool {name} ran, but gave no usable result: {error}.")
        except Exception as error:  # noqa: BLE001 — the boundary to the user's handler: its failure is a result
            return error_result(_message_of(error))


def _message_of(error: Exception) -> str:
    """What the model reads. A bare key or an empty text says nothing without the exception's name."""
    if isinstance(error, ExceptionGroup):
        return "; ".join(_message_of(cause) for cause in error.exceptions[:_MAX_CAUSES])
    text = str(error).strip()
    return text if text and not isinstance(error, LookupError) else f"{type(error).__name__}: {text}".rstrip(": ")
