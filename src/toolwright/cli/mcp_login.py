"""`toolwright mcp login` and `logout`: OAuth for a server over HTTP, with the person's browser."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from toolwright.cli.failures import EXIT_FAILED, complain
from toolwright.cli.plain_output import write_now
from toolwright.cli.signals import run
from toolwright.cli.terminal import visible

if TYPE_CHECKING:
    from toolwright.mcp.client.configs import ServerConfig as CheckedConfig
    from toolwright.settings.values import ServerEntry


def log_in_to(written: ServerEntry, *, client_id: str | None, folder: str, opens_browser: bool) -> int:
    return run(lambda stopping: _log_in(written, client_id=client_id, folder=folder, opens_browser=opens_browser))


def log_out_of(written: ServerEntry, folder: str) -> int:
    from toolwright.mcp.client.oauth.store import TokenStore

    TokenStore(folder).put(_checked(written).url, None)
    write_now(1, f"Logged out of {written.name}: its token was forgotten here.\n")
    return 0


async def _log_in(written: ServerEntry, *, client_id: str | None, folder: str, opens_browser: bool) -> int:
    from toolwright.mcp.client.oauth.addresses import LoginError
    from toolwright.mcp.client.oauth.login import KnownClient, log_in
    from toolwright.mcp.client.oauth.store import TokenStore

    config = _checked(written)
    challenge = await _challenge(config)
    if challenge is None:
        write_now(1, f"{written.name} wants no login.\n")
        return 0
    known = None if client_id is None else KnownClient(client_id, os.environ.get("MCP_CLIENT_SECRET"))

    async def open_browser(url: str) -> None:
        write_now(1, f"Log in with your browser:\n\n  {visible(url)}\n\n")
        if opens_browser:
            import webbrowser  # starts a browser by its arguments, never by a shell

            webbrowser.open(url)

    try:
        login = await log_in(config.url, challenge, env=os.environ, open_browser=open_browser, client=known)
    except LoginError as error:
        complain(f"{written.name}: {error}")
        return EXIT_FAILED
    TokenStore(folder).put(config.url, login)
    write_now(1, f"Logged in to {written.name}. Try it: toolwright mcp test {written.name}\n")
    return 0


async def _challenge(config: CheckedConfig) -> str | None:
    """What the server says to somebody who is not logged in; None if it lets us in. Raises `OptionsError`."""
    from toolwright.mcp.client.connections import ServerContext, external_server
    from toolwright.mcp.rpc import ToolServerError
    from toolwright.types import OptionsError

    server = external_server(config, ServerContext(os.getcwd(), os.environ, dict, tuple))
    try:
        await server.connect()
    except ToolServerError as error:
        if server.status != "needs-auth":
            raise OptionsError(str(error)) from None
        return server.challenge
    finally:
        await server.aclose()
    return None


def _checked(written: ServerEntry) -> CheckedConfig:
    from toolwright.mcp.client.configs import BadServerConfig, parse_config
    from toolwright.types import OptionsError

    try:
        config = parse_config(written.name, written.config, env=os.environ, where=str(written.source))
    except BadServerConfig as error:
        raise OptionsError(str(error)) from None
    if config.kind == "stdio":
        raise OptionsError(f"{written.name} is a program on this machine; only servers over HTTP have a login")
    return config
