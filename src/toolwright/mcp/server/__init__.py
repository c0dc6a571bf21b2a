"""Our tools as an MCP server: the protocol's other side, over standard streams or HTTP."""
