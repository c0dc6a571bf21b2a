"""`toolwright mcp serve`: our tools for any MCP client, over standard streams or HTTP."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from toolwright.cli.failures import complain, tell
from toolwright.cli.flags import BOUNDARIES, PERMISSION_MODES, Flag, UsageError, parse
from toolwright.cli.plain_output import write_now
from toolwright.cli.signals import Stopping, run

if TYPE_CHECKING:
    from toolwright.mcp.server.tool_provider import Offer, OpenOffer
    from toolwright.types import ClaudeAgentOptions

TOKEN_VARIABLE = "TOOLWRIGHT_MCP_TOKEN"
MIN_TOKEN_LENGTH = 16
SERVE_FLAGS = (
    Flag("http", "text"),
    Flag("allowed-host", "each"),
    Flag("allowed-origin", "each"),
    Flag("cwd", "text"),
    Flag("add-dir", "each"),
    Flag("boundary", "text", choices=BOUNDARIES),
    Flag("tools", "rules"),
    Flag("allowed-tools", "rules"),
    Flag("disallowed-tools", "rules"),
    Flag("permission-mode", "text", choices=PERMISSION_MODES),
    Flag("settings", "text"),
    Flag("setting-sources", "names"),
    Flag("trust-workspace", "switch"),
    Flag("debug", "switch", short="d"),
    Flag("help", "switch", short="h"),
)

USAGE = f"""\
Usage: toolwright mcp serve [--http [HOST:]PORT] [flags]

Offers the built-in tools to an MCP client, on standard input and output, or over HTTP.
The same permissions hold as in a session. What would be asked of a person is asked of the
client (elicitation); if it has nobody to ask, the call is denied with the reason.

  --http [HOST:]PORT       Serve http://HOST:PORT/mcp (HOST is 127.0.0.1 unless given; port 0: any).
                           Clients need the token of {TOKEN_VARIABLE}; if that is not
                           set, one is made and shown once on stderr
  --allowed-host NAME      A further name that clients may use for this server (repeatable)
  --allowed-origin URL     A web page's origin that may use this server (repeatable)
  --cwd DIR                The folder to work in (default: this one)
  --add-dir DIR            A further folder the tools may work in (repeatable)
  --boundary strict        A yes opens no path outside these folders: for servers with several users
  --tools NAMES            The tools to offer (default: all)
  --allowed-tools RULES    Calls that need no permission, e.g. 'Edit,Bash(make test)'
  --disallowed-tools RULES Calls that are denied
  --permission-mode MODE   {", ".join(PERMISSION_MODES)}
  --settings JSON          Settings: a file or JSON text
  --setting-sources NAMES  Which settings files to read: user, project, local
  --trust-workspace        Trust this folder's settings for this run
"""


def serve_command(arguments: Sequence[str]) -> int:
    from toolwright.processes.hardening import refuse_inspection

    line = parse(arguments, SERVE_FLAGS)
    if line.values.get("help"):
        write_now(1, USAGE)
        return 0
    if line.words:
        raise UsageError(f"mcp serve takes no argument, got {line.words[0]!r}; see toolwright mcp serve --help")
    refuse_inspection()
    options = serve_options(line.values)
    debug = bool(line.values.get("debug"))
    if "http" not in line.values:
        return run(lambda stopping: _serve_stdio(options, stopping), debug=debug)
    host, port = address_of(line.values["http"])
    tokens = tokens_of(os.environ.get(TOKEN_VARIABLE, ""))
    return run(lambda stopping: _serve_http(options, host, port, tokens=tokens, values=line.values), debug=debug)


def serve_options(values: dict[str, Any]) -> ClaudeAgentOptions:
    from toolwright.cli.options import options_from_flags

    options = options_from_flags(values, os.environ)
    options.cwd = values.get("cwd") or os.getcwd()
    options.stderr = tell
    return options


def address_of(given: str) -> tuple[str, int]:
    match = re.fullmatch(r"(?:(\[[0-9a-fA-F:.]+\]|[^:\[\]]+):)?([0-9]{1,5})", given.strip())
    if match is None or int(match[2]) > 65535:
        raise UsageError(f"--http must be PORT or HOST:PORT, got {given!r}")
    host = (match[1] or "127.0.0.1").strip("[]")
    return ("127.0.0.1" if host == "localhost" else host), int(match[2])


def tokens_of(given: str) -> tuple[str, ...]:
    """The tokens of the variable (several are separated by commas: each is a client of its own), or a new one, shown once."""
    tokens = tuple(token.strip() for token in given.split(",") if token.strip())
    for token in tokens:
        if len(token) < MIN_TOKEN_LENGTH or not re.fullmatch(r"[\x21-\x7e]+", token):
            raise UsageError(f"a token in {TOKEN_VARIABLE} needs at least {MIN_TOKEN_LENGTH} characters, without spaces")
    if tokens:
        return tokens
    made = secrets.token_urlsafe(32)
    tell(f"toolwright: the token for this run (set {TOKEN_VARIABLE} to choose it): {made}")
    return (made,)


def offers(options: ClaudeAgentOptions) -> OpenOffer:
    from toolwright.runtime.builtin_tool_server import OfferedTools

    async def open_offer() -> Offer:
        offer = OfferedTools()
        await offer.start(options)
        return offer

    return open_offer


async def _serve_stdio(options: ClaudeAgentOptions, stopping: Stopping) -> int:
    from toolwright.cli.stdio import Output, read_lines
    from toolwright.mcp.server.stdio import serve_stdio

    output = Output(1)
    stopping.before = output.abandon
    open_offer = offers(options)
    first = await open_offer()  # what is wrong with the options is said before a client asks
    given = [first]

    async def offer_once() -> Offer:
        return given.pop() if given else await open_offer()

    try:
        await serve_stdio(read_lines(0), output.write, offer_once)
    finally:
        for unused in given:
            await unused.aclose()
    return 0


async def _serve_http(
    options: ClaudeAgentOptions, host: str, port: int, *, tokens: tuple[str, ...], values: dict[str, Any]
) -> int:
    from toolwright.mcp.server.access import Access, hosts_of
    from toolwright.mcp.server.http_endpoint import Endpoint
    from toolwright.mcp.server.http_server import listen, port_of, serve_http

    open_offer = offers(options)
    await (await open_offer()).aclose()  # what is wrong with the options is said before a client asks
    try:
        listener = await listen(host, port)
    except OSError as error:
        complain(f"cannot listen on {host}:{port}: {error.strerror or error}")
        return 1
    real_port = port_of(listener)
    names = [re.sub(r"^https?://", "", name).rstrip("/") for name in values.get("allowed-host", ())]
    access = Access(tokens, hosts_of(host, real_port, names), frozenset(values.get("allowed-origin", ())))
    shown = f"[{host}]" if ":" in host else host
    complain(f"serving http://{shown}:{real_port}/mcp (Ctrl-C ends it)")
    endpoint = Endpoint(open_offer, access)
    try:
        await serve_http(listener, endpoint.serve, endpoint.room)
    finally:
        await endpoint.aclose()
    return 0
