"""`toolwright mcp add|list|get|remove|test`: the tool servers of a person and of a folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from toolwright.cli.failures import EXIT_FAILED, complain
from toolwright.cli.flags import Flag, ParsedFlags, UsageError, parse
from toolwright.cli.plain_output import write_now
from toolwright.cli.terminal import visible

if TYPE_CHECKING:
    from toolwright.settings import SettingsLocations
    from toolwright.settings.servers import WritableScope
    from toolwright.settings.values import ServerEntry

SCOPES = ("local", "project", "user")
TRANSPORTS = ("stdio", "http", "sse")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
FLAGS = (
    Flag("scope", "text", short="s", choices=SCOPES),
    Flag("transport", "text", short="t", choices=TRANSPORTS),
    Flag("env", "each", short="e"),
    Flag("header", "each", short="H"),
    Flag("timeout", "integer"),
    Flag("replace", "switch"),
    Flag("client-id", "text"),
    Flag("no-browser", "switch"),
    Flag("help", "switch", short="h"),
)

USAGE = {
    "add": """\
Usage: toolwright mcp add NAME [flags] -- COMMAND [ARGS]
       toolwright mcp add NAME [flags] URL

  --scope, -s WHERE      local (this folder, only for you; the default), project (.mcp.json,
                         for everybody who works on it) or user (all your folders)
  --transport, -t KIND   stdio, http or sse (default: stdio for a command, http for a URL)
  --env, -e NAME=VALUE   A variable for the command (repeatable); VALUE may be ${VARIABLE}
  --header, -H 'N: V'    A header for the URL (repeatable)
  --timeout SECONDS      How long a call may take
  --replace              Take the place of a server with this name
""",
    "list": "Usage: toolwright mcp list\n\nShows the servers that settings files name, and where.\n",
    "get": "Usage: toolwright mcp get NAME\n\nShows one server. Values of variables and headers are hidden.\n",
    "remove": "Usage: toolwright mcp remove NAME [--scope local|project|user]\n\nTakes a server out of its file.\n",
    "login": """\
Usage: toolwright mcp login NAME [--client-id ID] [--no-browser]

Logs in to a server over HTTP (OAuth 2.1 with PKCE) with your browser; the token is kept for
you alone. --client-id is for servers where programs cannot register themselves; a secret for
it is read from MCP_CLIENT_SECRET. --no-browser only shows the address.
""",
    "logout": "Usage: toolwright mcp logout NAME\n\nForgets the token of a server.\n",
    "test": "Usage: toolwright mcp test [NAME]\n\nConnects to one server or to all, shows their tools and how long it took.\n",
}


def servers_command(command: str, arguments: Sequence[str]) -> int:
    from toolwright.config.session_config import whereabouts
    from toolwright.types import OptionsError

    line = _read(command, arguments)
    if line.values.get("help"):
        write_now(1, USAGE[command])
        return 0
    where = whereabouts(os.getcwd(), os.environ)
    try:
        return COMMANDS[command](line, where)
    except OptionsError as error:
        complain(str(error))
        return EXIT_FAILED


def _read(command: str, arguments: Sequence[str]) -> ParsedFlags:
    try:
        return parse(arguments, FLAGS)
    except UsageError as error:
        unknown, _, advice = str(error).partition(";")
        if command != "add" or not advice or "--" in arguments:
            raise
        hint = "if it belongs to the server's command, write -- before that: toolwright mcp add NAME -- COMMAND [ARGS]"
        raise UsageError(f"{unknown}; {hint}") from None


# add, remove


def _add(line: ParsedFlags, where: SettingsLocations) -> int:
    from toolwright.mcp.client.configs import BadServerConfig, parse_config
    from toolwright.settings.servers import put_server, servers_in

    if len(line.words) < 2:
        raise UsageError("mcp add needs a name and a command or URL: toolwright mcp add NAME -- COMMAND [ARGS]")
    name, scope = line.words[0], cast("WritableScope", line.values.get("scope", "local"))
    if not NAME.fullmatch(name):
        raise UsageError(
            f"a server's name has letters, digits, '.', '_' and '-' and begins with a letter or digit; got {name!r}"
        )
    entry = entry_of(line)
    try:
        parse_config(name, entry, where="mcp add")
    except BadServerConfig as error:
        raise UsageError(str(error)) from None
    if not line.values.get("replace") and any(server.name == name for server in servers_in(scope, where)):
        raise UsageError(f"there is a server {name!r} in the {scope} scope already; --replace takes its place")
    path = put_server(scope, name, entry, where)
    write_now(1, f"Added {name} to {visible(path)}. Try it: toolwright mcp test {name}\n")
    if scope == "project" and (line.values.get("env") or line.values.get("header")):
        complain("this file is shared with others: write secrets as ${VARIABLE}, not as they are")
    return 0


def entry_of(line: ParsedFlags) -> dict[str, Any]:
    """The server's entry as it is written to a file."""
    target, *rest = line.words[1:]
    is_url = re.match(r"https?://", target) is not None
    kind = line.values.get("transport", "http" if is_url else "stdio")
    if kind == "stdio":
        entry: dict[str, Any] = {"type": "stdio", "command": target, "args": rest}
        entry |= {"env": pairs(line.values["env"], "=", "--env")} if "env" in line.values else {}
    elif rest:
        raise UsageError(f"a URL takes no arguments, got {rest[0]!r}")
    else:
        entry = {"type": kind, "url": target}
        entry |= {"headers": pairs(line.values["header"], ":", "--header")} if "header" in line.values else {}
    wrong = "header" if kind == "stdio" else "env"
    if wrong in line.values:
        raise UsageError(f"--{wrong} does not go with {kind}")
    return entry | ({"timeout": line.values["timeout"] * 1000} if "timeout" in line.values else {})


def pairs(given: Sequence[str], mark: str, flag: str) -> dict[str, str]:
    split = [text.partition(mark) for text in given]
    if not all(name.strip() and found for name, found, _ in split):
        raise UsageError(f"{flag} must be NAME{mark}VALUE")
    return {name.strip(): value.strip() if mark == ":" else value for name, _, value in split}


def _remove(line: ParsedFlags, where: SettingsLocations) -> int:
    from toolwright.settings.servers import WRITABLE, put_server, servers_in

    name = _one_name(line, "remove")
    wanted = [line.values["scope"]] if "scope" in line.values else list(WRITABLE)
    scopes = [scope for scope in wanted if any(server.name == name for server in servers_in(scope, where))]
    if len(scopes) > 1:
        raise UsageError(f"{name!r} is in several scopes ({', '.join(scopes)}); say which with --scope")
    if not scopes:
        complain(f"there is no server {name!r} to take out; see toolwright mcp list")
        return EXIT_FAILED
    path = put_server(scopes[0], name, None, where)
    write_now(1, f"Took {name} out of {visible(path)}.\n")
    return 0


# list, get


def _list(line: ParsedFlags, where: SettingsLocations) -> int:
    from toolwright.settings.servers import written_servers

    if line.words:
        raise UsageError(f"mcp list takes no argument, got {line.words[0]!r}")
    servers = written_servers(where)
    if not servers:
        write_now(1, "No servers. Add one: toolwright mcp add NAME -- COMMAND [ARGS]\n")
        return 0
    rows = [(server.name, server.source.scope, server.kind, what(server)) for server in servers]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        write_now(1, visible("  ".join([*cells, row[3]])) + "\n")
    if _held_back(servers, where):
        complain("this folder is not trusted: its own servers (local, project) are not in force; see toolwright trust")
    return 0


def what(server: ServerEntry) -> str:
    """What a server is, in a line: the command or the URL, without anything secret."""
    shown = shown_config(server)
    return str(shown.get("url") or " ".join([str(shown.get("command", "")), *map(str, shown.get("args", ()))]))


def shown_config(server: ServerEntry) -> Mapping[str, Any]:
    from toolwright.mcp.client.configs import BadServerConfig, parse_config

    try:
        return parse_config(server.name, server.config, where=server.source.path).shown()
    except BadServerConfig as error:
        return {"command": f"(cannot be used: {error})"}


def _get(line: ParsedFlags, where: SettingsLocations) -> int:
    server = _found(_one_name(line, "get"), where)
    for row in _details(server):
        write_now(1, visible(row) + "\n")
    if _held_back([server], where):
        complain("this folder is not trusted: this server is not in force; see toolwright trust")
    return 0


def _details(server: ServerEntry) -> Iterator[str]:
    yield server.name
    yield f"  written in  {server.source} ({server.source.scope})"
    for key, value in shown_config(server).items():
        shown = " ".join(map(str, value)) if isinstance(value, list) else value
        yield f"  {key:10}  {', '.join(f'{name}={text}' for name, text in value.items()) if isinstance(value, dict) else shown}"


# test


def _test(line: ParsedFlags, where: SettingsLocations) -> int:
    from toolwright.cli.mcp_test import test_servers
    from toolwright.settings.servers import written_servers

    if len(line.words) > 1:
        raise UsageError("mcp test takes one name, or none for all servers")
    servers = [_found(line.words[0], where)] if line.words else list(written_servers(where))
    if not servers:
        complain("there are no servers to test; add one: toolwright mcp add NAME -- COMMAND [ARGS]")
        return EXIT_FAILED
    held_back = _held_back(servers, where)
    for server in held_back:
        complain(f"{server.name} is not started, because this folder is not trusted ({what(server)}); see toolwright trust")
    code = test_servers([server for server in servers if server not in held_back], where)
    return EXIT_FAILED if held_back else code


# login, logout


def _login(line: ParsedFlags, where: SettingsLocations) -> int:
    from toolwright.cli.mcp_login import log_in_to

    server = _found(_one_name(line, "login"), where)
    if _held_back([server], where):
        complain(f"{server.name} comes with a folder that is not trusted ({what(server)}); see toolwright trust")
        return EXIT_FAILED
    browser = not line.values.get("no-browser")
    return log_in_to(server, client_id=line.values.get("client-id"), folder=where.config[0], opens_browser=browser)


def _logout(line: ParsedFlags, where: SettingsLocations) -> int:
    from toolwright.cli.mcp_login import log_out_of

    return log_out_of(_found(_one_name(line, "logout"), where), where.config[0])


# common


def _one_name(line: ParsedFlags, command: str) -> str:
    if len(line.words) != 1:
        raise UsageError(f"mcp {command} takes the name of one server")
    return line.words[0]


def _found(name: str, where: SettingsLocations) -> ServerEntry:
    from toolwright.settings.servers import written_servers
    from toolwright.types import OptionsError

    servers = written_servers(where)
    for server in servers:
        if server.name == name:
            return server
    known = ", ".join(server.name for server in servers) or "none"
    raise OptionsError(f"there is no server {name!r}; there are: {known}")


def _held_back(servers: Sequence[ServerEntry], where: SettingsLocations) -> list[ServerEntry]:
    """Those that come with a folder which nobody has trusted."""
    from toolwright.settings.trust import TrustStore, fingerprint, folder_files
    from toolwright.settings.values import OF_THE_FOLDER

    own = [server for server in servers if server.source.scope in OF_THE_FOLDER]
    if not own or TrustStore(where.config[0]).holds(where.cwd, fingerprint(folder_files(where))):
        return []
    return own


COMMANDS = {"add": _add, "list": _list, "get": _get, "remove": _remove, "test": _test, "login": _login, "logout": _logout}
