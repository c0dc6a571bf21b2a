"""`toolwright mcp test`: connect to servers, all at the same time, and show what they have and how long they took."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio

from toolwright.cli.failures import EXIT_FAILED
from toolwright.cli.plain_output import write_now
from toolwright.cli.signals import run
from toolwright.cli.terminal import Terminal, visible

if TYPE_CHECKING:
    from toolwright.mcp.client.server_connection import ExternalServer
    from toolwright.settings import SettingsLocations
    from toolwright.settings.values import ServerEntry

MAX_NAME_LENGTH = 32


def test_servers(servers: Sequence[ServerEntry], where: SettingsLocations) -> int:
    return run(lambda stopping: _Trial(where).run(servers))


class _Trial:
    """One test of some servers."""

    def __init__(self, where: SettingsLocations) -> None:
        self._terminal = Terminal(1, os.environ)
        self._where = where
        self._failed = False

    async def run(self, servers: Sequence[ServerEntry]) -> int:
        async with anyio.create_task_group() as group:
            for server in servers:
                group.start_soon(self._try, server)
        return EXIT_FAILED if self._failed else 0

    async def _try(self, written: ServerEntry) -> None:
        from toolwright.mcp.client.configs import BadServerConfig
        from toolwright.mcp.rpc import ToolServerError

        started = anyio.current_time()
        try:
            server = self._opened(written)
        except BadServerConfig as error:
            self._tell_failure(written.name, str(error), 0.0)
            return
        try:
            await server.connect()
            self._tell(server, anyio.current_time() - started)
        except ToolServerError:
            self._tell_failure(written.name, server.error or "it could not be connected", anyio.current_time() - started)
        finally:
            await server.aclose()

    def _opened(self, written: ServerEntry) -> ExternalServer:
        from toolwright.mcp.client.configs import parse_config
        from toolwright.mcp.client.connections import ServerContext, external_server

        config = parse_config(written.name, written.config, env=os.environ, where=str(written.source))
        folder = self._where.cwd
        around = ServerContext(folder, os.environ, lambda: os.environ, lambda: (folder,), tokens=self._where.config[0])
        return external_server(config, around)

    def _tell(self, server: ExternalServer, seconds: float) -> None:
        about = server.introduction
        count = len(server.tools)
        facts = [f"{seconds:.2f} s", f"{count} tool{'s' if count != 1 else ''}"]
        facts += [f"{about.name} {about.version}".strip(), f"protocol {about.protocol_version}"]
        facts += [kind for kind in ("resources", "prompts") if kind in about.capabilities]
        self._line(f"{self._terminal.paint('✓', 'green')} {visible(server.name)}  {visible(' · '.join(filter(None, facts)))}")
        for tool in server.tools:
            line = visible(tool.description.strip().partition("\n")[0])
            shown = visible(tool.name)
            room = max(self._terminal.width - MAX_NAME_LENGTH - 6, 20)
            self._line(f"    {shown.ljust(MAX_NAME_LENGTH)} {line if len(line) <= room else line[: room - 1] + '…'}")
        for notice in server.notices:
            self._line(f"    {visible(notice)}")

    def _tell_failure(self, name: str, problem: str, seconds: float) -> None:
        self._failed = True
        self._line(f"{self._terminal.paint('✗', 'red')} {visible(name)}  failed after {seconds:.2f} s: {visible(problem)}")

    def _line(self, text: str) -> None:
        if self._terminal.coloured:
            self._terminal.line(text)
        else:
            write_now(1, text + "\n")
