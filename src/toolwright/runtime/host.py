"""The host that options describe: the caller's own functions, in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolwright.runtime.interfaces import Host
from toolwright.types import ClaudeAgentOptions, OptionsError


def host_of(options: ClaudeAgentOptions) -> Host:
    """Raises `OptionsError` for an in-process tool server that we cannot call."""
    hooks = {str(event): list(matchers) for event, matchers in (options.hooks or {}).items()}
    servers: Mapping[str, Any] = options.mcp_servers if isinstance(options.mcp_servers, Mapping) else {}
    here = {name: config for name, config in servers.items() if config.get("type") == "sdk"}
    if not here:
        return Host(options.can_use_tool, hooks)
    from toolwright.mcp.author.server import tool_server_of  # not every host has tools of its own

    try:
        return Host(options.can_use_tool, hooks, {name: tool_server_of(name, config) for name, config in here.items()})
    except TypeError as error:
        raise OptionsError(str(error)) from None
