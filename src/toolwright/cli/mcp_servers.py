"""`toolwright mcp add|list|get|remove|test`: the tool servers of a person and of a folder."""

from __future__ import annotations

from collections.abc import Sequence

from toolwright.cli.flags import UsageError


def servers_command(command: str, arguments: Sequence[str]) -> int:
    raise UsageError(f"mcp {command} is not there yet")
