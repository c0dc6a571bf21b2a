"""From a server's configuration to its link: the only file that knows every transport."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from toolwright.mcp.client.configs import SamplingBudget, ServerConfig
from toolwright.mcp.client.pinned_tools import Approvals
from toolwright.mcp.client.server_connection import ExternalServer
from toolwright.mcp.client.server_events import Audience, Timing
from toolwright.mcp.client.server_requests import Answering, Ask
from toolwright.mcp.client.tool_pinning import Definitions
from toolwright.mcp.client.transport import Link

if TYPE_CHECKING:
    from toolwright.processes.child_process import Account

SHARED_IDLE_SECONDS = 1800.0


class ServerContext(Struct, frozen=True):
    """What servers are started in: folder, environment (little of it is passed on), user, who answers their questions."""

    cwd: str
    env: Mapping[str, str]
    """The session's own environment: proxies and certificates for HTTP."""
    child_env: Callable[[], Mapping[str, str]]
    """The environment of children, of which a server gets six variables."""
    roots: Callable[[], Sequence[str]]
    account: Account | None = None
    isolation: Hashable = None
    idle_seconds: float = SHARED_IDLE_SECONDS
    answering: Answering = field(default_factory=Answering)
    """For every server; without `sample`, which is made for each server that has a budget."""
    sampler: Callable[[SamplingBudget], Ask] | None = None
    timing: Timing = field(default_factory=Timing)
    tokens: str | None = None
    """The folder in which logins to HTTP servers are kept, and what the tools of servers in settings files were."""


def external_server(config: ServerConfig, around: ServerContext, audience: Audience | None = None) -> ExternalServer:
    """A server that is not connected yet."""
    own = object()  # what makes a process that is not shared one of its own
    around = replace(around, answering=_answering_for(config, around))

    def make_link() -> Link:
        return _stdio_link(config, around, own) if config.kind == "stdio" else _http_link(config, around)

    server = ExternalServer(
        config.name, make_link, config=config, answering=around.answering, timing=around.timing, audience=audience
    )
    if around.tokens is not None and config.scope != "dynamic":
        server.definitions = Definitions(Approvals(around.tokens, config))
    return server


def _answering_for(config: ServerConfig, around: ServerContext) -> Answering:
    """One budget for as long as the server is there: connecting again does not fill it up."""
    if config.sampling is None or around.sampler is None:
        return around.answering
    return replace(around.answering, sample=around.sampler(config.sampling))


def _stdio_link(config: ServerConfig, around: ServerContext, own: object) -> Link:
    from toolwright.mcp.client.sharing import Sharing, VirtualLink
    from toolwright.mcp.client.stdio import ServerLaunch, environment_for, find_program

    cwd = os.path.join(around.cwd, os.path.expanduser(config.cwd or ""))
    environment = environment_for(config.env, around.child_env())
    untrusted = () if "PATH" in config.env else tuple(around.roots())
    program = find_program(config.command, path=dict(environment)["PATH"], cwd=cwd, untrusted=untrusted)
    launch = ServerLaunch(program, config.args, environment, cwd, around.account, around.isolation)
    introduction = msgspec.json.encode([around.answering.capabilities(), config.protocol])
    key = Sharing(launch, introduction, tuple(around.roots()), None if config.shared else own)
    return VirtualLink(key, idle_seconds=around.idle_seconds)


def _http_link(config: ServerConfig, around: ServerContext) -> Link:
    if config.kind == "sse":
        from toolwright.mcp.client.legacy_sse import SseLink

        return SseLink(config.url, config.headers, around.env)
    from toolwright.mcp.client.streamable_http import StreamableHttpLink

    return StreamableHttpLink(config.url, config.headers, around.env, tokens=around.tokens)
