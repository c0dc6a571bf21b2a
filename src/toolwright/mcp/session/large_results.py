"""Results of tool servers that are too long or no text: kept in files of the session, where the file tools can read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolwright.mcp.session.result_blocks import binaries
from toolwright.tools.base import ToolOutput

if TYPE_CHECKING:
    from toolwright.workspace import Workspace

PREVIEW = 2000
"""Characters of a long result that are shown in its place."""
_ENDINGS = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "image/svg+xml": ".svg",
    "audio/mpeg": ".mp3",
    "audio/wav": ".wav",
    "audio/ogg": ".ogg",
    "application/pdf": ".pdf",
    "application/zip": ".zip",
    "application/json": ".json",
    "text/plain": ".txt",
    "text/html": ".html",
    "text/csv": ".csv",
}


async def keep_binaries(result: Any, workspace: Workspace) -> dict[int, str]:
    """Save images, sound and binary resources; their places in the content → the paths."""
    found = binaries(result)
    return {
        index: await workspace.keep("mcp-content", data, ending=_ENDINGS.get(media_type, ".bin"))
        for index, (data, media_type) in found.items()
    }


async def keep_large(output: ToolOutput, limit: int, workspace: Workspace) -> ToolOutput:
    """An output whose text fits, or one that shows its beginning and says where the whole is."""
    text = output.text
    if len(text) <= limit:
        return output
    path = await workspace.keep("mcp-result", text.encode("utf-8", "replace"))
    said = (
        f"The result is {len(text):,} characters long, more than the {limit:,} that are shown (MAX_MCP_OUTPUT_TOKENS). "
        f"The whole of it was saved to {path}: read it in parts (Read with offset and limit) or search it (Grep). It begins:"
    )
    blocks = output.content if isinstance(output.content, list) else []
    others = [block for block in blocks if block.get("type") != "text"]
    shown = {"type": "text", "text": f"{said}\n\n{text[:PREVIEW]}\n\n[{len(text) - PREVIEW:,} characters left out]"}
    return ToolOutput([shown, *others], output.structured, output.is_error)
