"""The tool-server seam: a named set of tools, whether Python functions in this process or a server behind JSON-RPC."""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct, field


class ServedTool(Struct, frozen=True):
    """A tool as its server describes it (MCP's `Tool`): `annotations` and `meta` as in the protocol, camelCase keys."""

    name: str
    description: str
    input_schema: dict[str, Any]
    annotations: dict[str, Any] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)
    output_schema: dict[str, Any] | None = None


class ToolServer(Protocol):
    """What the runtime asks of a server. `call_tool` gives MCP's `CallToolResult` as a dict; a failing tool does not raise."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...

    async def list_tools(self) -> list[ServedTool]: ...

    async def call_tool(self, name: str, arguments: dict[str, Any], *, tool_use_id: str = "") -> dict[str, Any]: ...
