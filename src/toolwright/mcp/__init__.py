"""The mcp room: tools as Python functions, in-process servers of them, and the JSON-RPC that carries them over a wire."""
