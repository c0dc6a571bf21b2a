"""The external tool servers of a session: which there are, by options and settings, and what they are given of the session.

A server in the options that cannot work is refused; one in a settings file is there as failed, and says why: somebody else's
entry must not keep a session from starting. Connects nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from toolwright.mcp.client.configs import IN_PROCESS, BadServerConfig, SamplingBudget, ServerConfig, parse_config, read_servers
from toolwright.mcp.client.connections import ServerContext, external_server
from toolwright.mcp.client.server_connection import ExternalServer
from toolwright.mcp.client.server_events import CALL_SECONDS, CONNECT_SECONDS, Audience, Timing
from toolwright.mcp.client.server_requests import Answering, Ask
from toolwright.mcp.client.transport import Link, LinkError
from toolwright.mcp.session.timeouts import milliseconds
from toolwright.sessions import config_dir
from toolwright.types import (
    CanUseTool,
    ClaudeAgentOptions,
    ControlError,
    OptionsError,
    PermissionResultAllow,
    ToolPermissionContext,
)

if TYPE_CHECKING:
    from toolwright.processes.child_process import Account
    from toolwright.runtime.conversation import Conversation
    from toolwright.settings import Settings
    from toolwright.settings.values import ServerEntry as WrittenServer
    from toolwright.workspace import Workspace

ELICITATION = "McpElicitation"
"""The name under which a server's question to a person is asked: as a call that `can_use_tool` allows or denies."""

NOT_THE_PROJECTS = (
    "MCP server {name!r}: it may not ask for the model. {where} belongs to the project, and whose money is spent is not for a "
    "project to say: write the server with its sampling budget into settings of your own, or into the options"
)

Waiting = Callable[[bool], Awaitable[None]]


class ServersConfig(Struct, frozen=True):
    """What a session has for its servers."""

    around: ServerContext
    settings: Settings
    audience: Callable[[str], Audience]
    """For a server's name: who is told what happens to it."""


def surroundings(
    workspace: Workspace, env: Mapping[str, str], roots: tuple[str, ...], *, user: str | None, answering: Answering
) -> ServerContext:
    return ServerContext(
        workspace.home,
        env,
        workspace.commands.environment,
        lambda: roots,
        account=account_of(user),
        answering=answering,
        timing=timing_of(env),
        tokens=str(config_dir(env)),
    )


def external_servers(options: ClaudeAgentOptions, ground: ServersConfig) -> dict[str, ExternalServer]:
    """By name. The options' own come first and win over settings files. Raises `OptionsError`."""
    servers = servers_given(options.mcp_servers, ground)
    if not options.strict_mcp_config:
        for written in ground.settings.mcp_servers:
            if written.name not in servers and written.name not in names_given(options):
                server = server_of_settings(written, ground)
                servers |= {written.name: server} if server is not None else {}
    return servers


def servers_given(given: object, ground: ServersConfig) -> dict[str, ExternalServer]:
    """The servers of the option: a dict, JSON text or a file."""
    where = "mcp_servers"
    try:
        entries: Mapping[str, Any]
        if isinstance(given, Mapping):
            entries = given
        else:
            entries, where = read_servers(given, ground.around.cwd) if given else ({}, where)  # type: ignore[arg-type]  # options were checked
        configs = [parse_config(name, entry, env=ground.around.env, where=where) for name, entry in external(entries)]
    except BadServerConfig as error:
        raise OptionsError(str(error)) from None
    return {config.name: external_server(config, ground.around, ground.audience(config.name)) for config in configs}


def servers_asked_for(given: Any, ground: ServersConfig) -> tuple[dict[str, ExternalServer], dict[str, str]]:
    """The servers of a request, and for each that cannot be what is wrong with it."""
    if not isinstance(given, Mapping):
        raise ControlError("mcp_set_servers: servers must be an object: a name → its configuration", code="invalid_servers")
    servers, errors = {}, {}
    for name, entry in external(given):
        try:
            config = parse_config(name, entry, env=ground.around.env)
            servers[config.name] = external_server(config, ground.around, ground.audience(config.name))
        except BadServerConfig as error:
            errors[str(name)] = str(error)
    return servers, errors


def external(entries: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [
        (name, entry) for name, entry in entries.items() if not (isinstance(entry, Mapping) and entry.get("type") == IN_PROCESS)
    ]


def names_given(options: ClaudeAgentOptions) -> set[str]:
    """All names in the options, also of servers in this process."""
    return set(options.mcp_servers) if isinstance(options.mcp_servers, Mapping) else set()


def server_of_settings(written: WrittenServer, ground: ServersConfig) -> ExternalServer | None:
    """None for one that settings turn off."""
    scope = written.source.scope
    if scope == "project" and written.name in ground.settings.disabled_servers:
        return None
    try:
        config = parse_config(
            written.name, written.config, env=ground.around.env, where=str(written.source), scope=scope_name(scope)
        )
    except BadServerConfig as error:
        return unusable(written, str(error), ground.audience(written.name))
    if scope == "project" and config.sampling is not None:
        config = replace(config, sampling=None)
        ground.audience(config.name).tell(NOT_THE_PROJECTS.format(name=config.name, where=written.source))
    return external_server(config, ground.around, ground.audience(config.name))


def unusable(written: WrittenServer, problem: str, audience: Audience) -> ExternalServer:
    """A server that only says what is wrong with its entry."""

    def no_link() -> Link:
        raise LinkError(problem)

    config = ServerConfig(written.name, "stdio", scope=scope_name(written.source.scope))
    return ExternalServer(written.name, no_link, config=config, audience=audience)


def scope_name(scope: str) -> str:
    return {"inline": "dynamic", "managed": "enterprise"}.get(scope, scope)


def timing_of(env: Mapping[str, str]) -> Timing:
    """MCP_TIMEOUT and MCP_TOOL_TIMEOUT are milliseconds."""
    return Timing(milliseconds(env, "MCP_TIMEOUT", CONNECT_SECONDS), milliseconds(env, "MCP_TOOL_TIMEOUT", CALL_SECONDS))


def answering_of(can_use_tool: CanUseTool | None, waiting: Waiting, roots: Callable[[], tuple[str, ...]]) -> Answering:
    """Who answers what every server may ask: a person through `can_use_tool`."""
    return Answering(roots, None if can_use_tool is None else elicitation_by(can_use_tool, waiting))


def elicitation_by(can_use_tool: CanUseTool, waiting: Waiting) -> Ask:
    async def elicit(server_name: str, params: dict[str, Any]) -> dict[str, Any]:
        keys = ("message", "mode", "requestedSchema", "url", "elicitationId")
        asked = {"server": server_name, **{key: params[key] for key in keys if key in params}}
        await waiting(True)
        try:
            result = await can_use_tool(ELICITATION, asked, ToolPermissionContext())
        finally:
            await waiting(False)
        if isinstance(result, PermissionResultAllow):
            content = (result.updated_input or {}).get("content")
            return {"action": "accept", "content": content if isinstance(content, dict) else {}}
        return {"action": "cancel" if result.interrupt else "decline"}

    return elicit


def sampler_of(
    can_use_tool: CanUseTool | None, waiting: Waiting, conversation: Callable[[], Conversation]
) -> Callable[[SamplingBudget], Ask] | None:
    """Makes what answers with the session's model, for a server that has a budget. Without a person there is none."""
    if can_use_tool is None:
        return None

    def sampler(budget: SamplingBudget) -> Ask:
        from toolwright.mcp.session.sampling import ServerSampling  # few servers may ask for a model

        return ServerSampling(budget, can_use_tool, waiting, conversation)

    return sampler


def account_of(user: str | None) -> Account | None:
    """The OS user that servers run as: the same as commands do."""
    if user is None:
        return None
    from toolwright.processes.child_process import find_account  # for the few who run children as somebody else

    return find_account(user)
