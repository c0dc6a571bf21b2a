"""The mcp room."""
