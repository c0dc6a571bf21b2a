"""`toolwright mcp …`: the tool servers of a person, and our own tools as a server."""

from __future__ import annotations

from collections.abc import Sequence

from toolwright.cli.flags import UsageError
from toolwright.cli.plain_output import write_now

USAGE = """\
Usage: toolwright mcp serve [--http [HOST:]PORT] …    offer our tools to an MCP client
       toolwright mcp add NAME … -- COMMAND [ARGS]     add a server that is started here
       toolwright mcp add NAME URL                     add a server that is reached over HTTP
       toolwright mcp list                             the servers of this folder and of this user
       toolwright mcp get NAME                         one server, and where it is written
       toolwright mcp test [NAME]                      connect, list the tools, show how long it took
       toolwright mcp remove NAME                      take a server out
       toolwright mcp login NAME, logout NAME          log in to a server over HTTP, and out

Each has a --help.
"""
COMMANDS = ("serve", "add", "list", "get", "test", "remove", "login", "logout")


def mcp_command(arguments: Sequence[str]) -> int:
    command, rest = (arguments[0], arguments[1:]) if arguments else ("--help", ())
    match command:
        case "serve":
            from toolwright.cli.mcp_serve import serve_command

            return serve_command(rest)
        case "add" | "list" | "get" | "remove" | "test" | "login" | "logout":
            from toolwright.cli.mcp_servers import servers_command

            return servers_command(command, rest)
        case "--help" | "-h" | "help":
            write_now(1, USAGE)
            return 0
    from difflib import get_close_matches  # only for slips

    near = get_close_matches(command, COMMANDS, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise UsageError(f"unknown command mcp {command!r}{hint}; there are {', '.join(COMMANDS)}")
