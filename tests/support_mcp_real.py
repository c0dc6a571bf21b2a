"""A server made with the `mcp` package, as a program over stdio: the real thing for our client to speak to."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("real", version="2.0")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("as asked")


if __name__ == "__main__":
    server.run("stdio")
