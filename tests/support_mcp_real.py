"""A server made with the `mcp` package, as a program: the real thing for our client to speak to.

Without arguments over stdio; otherwise they are the transport and the port.
"""

import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("real", version="2.0", log_level="CRITICAL")  # it takes a second to print a failure in colours


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("as asked")


if __name__ == "__main__":
    if sys.argv[1:]:
        server.run(sys.argv[1], port=int(sys.argv[2]))  # type: ignore[call-overload]  # one of its words
    server.run("stdio")
