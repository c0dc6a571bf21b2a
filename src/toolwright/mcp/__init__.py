"""The mcp room: tools as Python functions, in-process servers of them, and the JSON-RPC that carries them over a wire."""

from toolwright.mcp.annotations import ToolAnnotations
from toolwright.mcp.server import create_sdk_mcp_server
from toolwright.mcp.tool import SdkMcpTool, as_tool, tool

__all__ = ["SdkMcpTool", "ToolAnnotations", "as_tool", "create_sdk_mcp_server", "tool"]
