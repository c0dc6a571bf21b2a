"""MCP servers outside of this process: configuration, transports, connections, what they may ask."""
