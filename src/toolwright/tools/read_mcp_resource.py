"""ReadMcpResource: one resource of an MCP server. Text is shown, anything else is saved to a file and described."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from toolwright.tools.base import BuiltinTool, ToolContext, ToolOutput
from toolwright.tools.mcp_resources import ResourcePart, Resources

if TYPE_CHECKING:
    from toolwright.workspace import Workspace

PREVIEW = 2000


class ReadMcpResourceInput(msgspec.Struct, forbid_unknown_fields=True):
    server: Annotated[str, msgspec.Meta(min_length=1, description="The MCP server's name")]
    uri: Annotated[str, msgspec.Meta(min_length=1, description="The resource's URI")]


class ReadMcpResource(BuiltinTool):
    name = "ReadMcpResourceTool"
    description = "Reads a resource of an MCP server by its URI. Binary content is saved to a file."
    Input = ReadMcpResourceInput
    read_only = True
    timeout = 120.0

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    async def perform(self, parsed: ReadMcpResourceInput, context: ToolContext) -> ToolOutput:
        contents = await self._resources.read(parsed.server, parsed.uri)
        parts = [await _shown(content, context) for content in contents]
        text = "\n\n".join(text for text, _ in parts) or "The resource is empty."
        return ToolOutput(text, {"contents": [row for _, row in parts]})


async def _shown(content: ResourcePart, context: ToolContext) -> tuple[str, dict[str, Any]]:
    row: dict[str, Any] = {"uri": content.uri, "mimeType": content.media_type}
    if content.text is None:
        path = await context.workspace.keep("mcp-resource", content.data, ending=_ending(content.media_type))
        kind = content.media_type or "unknown type"
        return f"[{content.uri}: {kind}, {len(content.data):,} bytes, saved to {path}]", {**row, "blobSavedTo": path}
    if len(content.text) <= context.longest_served:
        return content.text, {**row, "text": content.text}
    path = await _kept(content.text, context.workspace)
    said = f"The resource is {len(content.text):,} characters long. The whole of it was saved to {path}. It begins:"
    left_out = f"[{len(content.text) - PREVIEW:,} characters left out]"
    return f"{said}\n\n{content.text[:PREVIEW]}\n\n{left_out}", {**row, "blobSavedTo": path}


async def _kept(text: str, workspace: Workspace) -> str:
    return await workspace.keep("mcp-resource", text.encode("utf-8", "replace"))


def _ending(media_type: str) -> str:
    from mimetypes import guess_extension  # only for binary content

    return guess_extension(media_type) or ".bin"
