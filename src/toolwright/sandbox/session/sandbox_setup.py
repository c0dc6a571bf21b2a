"""Settings and permission rules → the sandbox of a session's commands. The rules are read anew for every command."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import anyio.to_thread
from msgspec import Struct
from msgspec.structs import asdict, replace

from toolwright.permissions.patterns import split_anchor
from toolwright.sessions import config_dir
from toolwright.settings.sandbox import SandboxConfig, SandboxLimits, merge_sandbox
from toolwright.settings.schema import sandbox_of
from toolwright.types import ClaudeAgentOptions, OptionsError

if TYPE_CHECKING:  # the sandbox is loaded only for sessions that have one
    from toolwright.egress.domains import Ask
    from toolwright.egress.session import Egress
    from toolwright.permissions import RuleSet, SessionFolders
    from toolwright.permissions.rules import Rule
    from toolwright.processes.resource_limits import ChildLimits
    from toolwright.sandbox.exemptions import Terms
    from toolwright.sandbox.launch import Backend
    from toolwright.sandbox.policy import PermissionPaths, SandboxRules
    from toolwright.workspace import Workspace

_WILDCARDS = frozenset("*?[")


class SandboxContext(Struct, frozen=True):
    """What the sandbox has to know of the session."""

    workspace: Workspace
    env: Mapping[str, str]
    rules: Callable[[], RuleSet]
    """The permission rules as they are now."""
    place: Callable[[], SessionFolders]
    tell: Callable[[str], None]
    ask: Ask | None = None
    """Asks whether a host may be reached that no rule names."""


def said_of_sandbox(options: ClaudeAgentOptions, of_settings: SandboxConfig | None) -> SandboxConfig | None:
    """What options and settings together say, whether a sandbox is wanted or not. Raises `OptionsError`."""
    return merge_sandbox(sandbox_of(options.sandbox) if options.sandbox else None, of_settings)


def sandbox_config(options: ClaudeAgentOptions, of_settings: SandboxConfig | None) -> SandboxConfig | None:
    """The same; None if no sandbox is wanted. Raises `OptionsError`."""
    said = said_of_sandbox(options, of_settings)
    return said if said is not None and said.enabled else None


def limits_of(config: SandboxConfig | None) -> ChildLimits | None:
    """What a command may take, in a sandbox or not; None if nothing is said about it."""
    if config is None or (config.limits, config.caps) == (SandboxLimits(), SandboxLimits()):
        return None
    from toolwright.processes.resource_limits import chosen_limits, lowered

    return lowered(chosen_limits(asdict(config.limits)), asdict(config.caps))


async def set_up_sandbox(config: SandboxConfig, around: SandboxContext) -> Egress | None:
    """Give the workspace its sandbox; the answer is its way out to allowed domains, to be closed with the session.

    Raises `OptionsError` if there is no mechanism and the settings do not say that commands may run without.
    """
    from toolwright.sandbox.backends.selection import choose
    from toolwright.sandbox.errors import SandboxUnavailable
    from toolwright.sandbox.placeholders import register_folder

    if config.network.allow_managed_domains_only:
        raise OptionsError("sandbox.network.allowManagedDomainsOnly is not supported in this version and must not be ignored")
    workspace, state_dir = around.workspace, str(config_dir(around.env))
    account, weaker = workspace.commands.other_account, bool(config.enable_weaker_nested_sandbox)
    try:
        mechanism = await anyio.to_thread.run_sync(
            lambda: choose(register_folder(state_dir), forbidden=workspace.roots, weaker=weaker, account=account)
        )
    except SandboxUnavailable as error:
        if config.fail_if_unavailable is not False:
            raise OptionsError(f"sandbox: {error}") from None
        workspace.commands.unenclosed = str(error)
        around.tell(f"toolwright: commands run WITHOUT a sandbox: {error}")
        return None
    if mechanism.name == "Landlock":  # without a network there is nothing to ask about
        around = replace(around, ask=None)
    if config.self_test:
        await anyio.to_thread.run_sync(check_mechanism, mechanism)
    way_out = way_out_of(config, around)
    terms = terms_of(config)
    workspace.commands.enclose(mechanism, lambda: rules_of(config, around, state_dir), way_out=way_out, terms=terms)
    return way_out


def terms_of(config: SandboxConfig) -> Terms:
    """Which commands are enclosed, and what is said of it."""
    from toolwright.sandbox.exemptions import Terms

    return Terms(
        excluded=config.excluded_commands,
        allows_exceptions=config.allow_unsandboxed_commands is not False,
        auto_allow=config.auto_allow_bash is not False,
        ignored=dict(config.ignore_violations),
        withheld=frozenset(each.name for each in config.credentials if each.kind == "variable"),
    )


def check_mechanism(mechanism: Backend) -> None:
    """`selfTest`: the probes of `toolwright doctor`, before the first command. Raises `OptionsError`."""
    from toolwright.sandbox.probes.probes import run_probes

    holes = [f"{each.title} ({each.detail})" for each in run_probes(mechanism) if each.failed]
    if holes:
        raise OptionsError(f"sandbox: the self-test failed, so no command is run. Not held: {'; '.join(holes)}")


def rules_of(config: SandboxConfig, around: SandboxContext, state_dir: str) -> SandboxRules:
    """What commands may touch, as settings and permission rules are now."""
    from toolwright.sandbox.policy import FilesystemWishes, NetworkWishes, sandbox_rules
    from toolwright.sandbox.secret_places import secret_places

    workspace, files, network = around.workspace, config.filesystem, config.network
    home = around.env.get("HOME") or "/nonexistent"
    state = os.path.realpath(state_dir)
    files_of_secrets = [each.name for each in config.credentials if each.kind == "file"]
    return sandbox_rules(
        workspace.home,
        [root for root in workspace.roots if root != workspace.home and not root.startswith(state + "/")],
        home=home,
        secrets=(*secret_places(home, around.env), state),
        filesystem=FilesystemWishes(
            files.allow_write,
            (*files.deny_write, *own_programs(config, workspace.roots)),
            (*files.deny_read, *files_of_secrets),
            files.allow_read,
            bool(files.disabled),
        ),
        network=NetworkWishes(
            network.allowed_domains,
            network.allow_unix_sockets,
            bool(network.allow_all_unix_sockets),
            has_proxy=wants_way_out(config, around),
        ),
        permissions=_also_env_files(permission_paths(around.rules(), around.place()), bool(files.hide_env_files)),
        weaker=bool(config.enable_weaker_nested_sandbox),
        commands_home=_commands_home(workspace),
    )


def _commands_home(workspace: Workspace) -> str:
    """The home of the user that commands run as, if that is another one than ours."""
    ids = workspace.commands.account_ids
    if ids is None or ids[0] == os.geteuid():
        return ""
    import pwd  # few run commands as somebody else

    try:
        return pwd.getpwuid(ids[0]).pw_dir
    except KeyError:
        return "/nonexistent"


def own_programs(config: SandboxConfig, roots: Sequence[str]) -> list[str]:
    """The folders that this very program runs from, where they lie in the workspace: whoever could change them would have us
    run anything outside the sandbox (`.venv/bin/python`, a module that is imported later)."""
    places = {os.path.realpath(sys.prefix), os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))}
    inside = [place for place in places if any(place.startswith(f"{os.path.realpath(root)}/") for root in roots)]
    opened = tuple(os.path.abspath(os.path.expanduser(path)) for path in config.filesystem.allow_write)
    return sorted(place for place in inside if place not in opened)


def _also_env_files(paths: PermissionPaths, hidden: bool) -> PermissionPaths:
    """`filesystem.hideEnvFiles`. A folder of such a name is a virtual environment."""
    if not hidden:
        return paths
    from toolwright.sandbox.secret_places import is_env_file

    denied = paths.is_hidden
    return replace(paths, is_hidden=lambda path: denied(path) or (is_env_file(path) and not os.path.isdir(path)))


# permission rules


def permission_paths(rules: RuleSet, place: SessionFolders) -> PermissionPaths:
    """What the rules say about paths: deny rules as matchers, and whatever they name in full as paths."""
    from toolwright.sandbox.policy import PermissionPaths, no_path

    deny = rules.index("deny")
    return PermissionPaths(
        is_hidden=deny.reads.tester(place) if deny.reads else no_path,
        is_frozen=deny.edits.tester(place) if deny.edits else no_path,
        hidden=tuple(_named(rules, "deny", "Read", place)),
        opened=tuple(_named(rules, "allow", "Edit", place)),
    )


def _named(rules: RuleSet, behavior: str, tool: str, place: SessionFolders) -> Iterator[str]:
    for rule in rules.rules:
        if rule.behavior == behavior and rule.tool == tool and rule.content is not None:
            path = named_path(rule, place)
            if path is not None:
                yield path


def named_path(rule: Rule, place: SessionFolders) -> str | None:
    """The one path that a rule speaks of, with all below it; None if its pattern could mean several."""
    anchor, pattern = split_anchor(rule.content or "")
    start = {"root": "/", "home": place.home, "source": rule.base or place.cwd, "cwd": place.cwd}.get(anchor)
    rest = pattern.removesuffix("/**").removesuffix("/*") if pattern.endswith("/**") else pattern
    if start is None or _WILDCARDS & set(rest) or not rest.strip("/"):
        return None
    return os.path.normpath(os.path.join(start, rest.strip("/")))


# the network


def wants_way_out(config: SandboxConfig, around: SandboxContext) -> bool:
    network = config.network
    may_ask = around.ask is not None and not network.strict_allowlist
    return bool(network.allowed_domains or network.http_proxy_port or network.socks_proxy_port or may_ask)


def way_out_of(config: SandboxConfig, around: SandboxContext) -> Egress | None:
    """The proxy for allowed domains; made here, started with the first command. Raises `OptionsError` for a bad domain."""
    if not wants_way_out(config, around):
        return None
    from toolwright.egress.domains import DomainPolicy
    from toolwright.egress.errors import BadDomainRule
    from toolwright.egress.proxy import OwnProxies
    from toolwright.egress.session import Egress, EgressOptions

    network = config.network
    try:
        policy = DomainPolicy.parse(
            network.allowed_domains,
            network.denied_domains,
            strict=bool(network.strict_allowlist),
            asks_if_empty=around.ask is not None,
        )
    except BadDomainRule as error:
        raise OptionsError(f"sandbox.network: {error}") from None
    own = OwnProxies(network.http_proxy_port, network.socks_proxy_port)
    return Egress(EgressOptions(policy, ask=around.ask, own=own, account=around.workspace.commands.account_ids))
