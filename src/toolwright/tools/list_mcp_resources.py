"""ListMcpResources: what the MCP servers of a session have to read."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from toolwright.tools.base import BuiltinTool, ToolContext, ToolOutput
from toolwright.tools.mcp_resources import Resource, Resources


class ListMcpResourcesInput(msgspec.Struct, forbid_unknown_fields=True):
    server: Annotated[str | None, msgspec.Meta(description="Only this server's (default: all)")] = None


class ListMcpResources(BuiltinTool):
    name = "ListMcpResourcesTool"
    description = (
        "Lists the resources (documents, data) that MCP servers offer, with their URIs. Read one with ReadMcpResourceTool."
    )
    Input = ListMcpResourcesInput
    read_only = True
    timeout = 120.0

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    async def perform(self, parsed: ListMcpResourcesInput, context: ToolContext) -> ToolOutput:
        found, problems = await self._resources.listed(parsed.server)
        rows = [_row(resource) for resource in found]
        lines = [msgspec.json.encode(row).decode() for row in rows] or ["No resources."]
        return ToolOutput("\n".join([*lines, *problems]), rows)


def _row(resource: Resource) -> dict[str, Any]:
    row = {"uri": resource.uri, "name": resource.name, "server": resource.server}
    optional = {"mimeType": resource.media_type, "description": resource.description}
    return row | {key: value for key, value in optional.items() if value}
