"""A session's gate: options and settings → rules, the mode it starts in, what answers may change, who judges in mode auto."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from toolwright.config.model_selection import chosen_model, model_environment, retry_policy, small_model
from toolwright.config.session_config import SessionConfig, keep_update, settings_rules
from toolwright.permissions import RuleSet, SessionFolders
from toolwright.tools.registry import canonical_name
from toolwright.types import ClaudeAgentOptions, OptionsError, PermissionMode, PermissionUpdate

if TYPE_CHECKING:
    from toolwright.hooks.session.session_hooks import SessionHooks
    from toolwright.models.registry import ResolvedModel
    from toolwright.models.usage import UsageTracker
    from toolwright.permissions.session.auto_mode import AutoApprover
    from toolwright.runtime.session import LocalSession
    from toolwright.settings import SourcedRule
    from toolwright.workspace import Workspace

BYPASS_FLAG = "allow-dangerously-skip-permissions"


class SessionBounds:
    """What answers may change in a session, and within which bounds. Implements `Bounds`."""

    __slots__ = ("_ground", "_hooks", "_options", "_place", "_tell_mode", "_workspace", "first_mode")

    def __init__(
        self,
        options: ClaudeAgentOptions,
        ground: SessionConfig,
        workspace: Workspace,
        *,
        hooks: SessionHooks,
        tell_mode: Callable[[PermissionMode], None],
    ) -> None:
        self._options = options
        self._ground = ground
        self._workspace = workspace
        self._hooks = hooks
        self._tell_mode = tell_mode
        self._place: SessionFolders | None = None
        self.first_mode = starting_mode(options, ground)

    def place(self) -> SessionFolders:
        """Asked for twice with each call; only folders that are added or removed change it."""
        if self._place is None or self._place.roots is not self._workspace.roots:
            self._place = place_of(self._ground, self._workspace)
        return self._place

    def add_directory(self, directory: str) -> None:
        self._workspace.add_directory(directory)

    def remove_directory(self, directory: str) -> None:
        self._workspace.remove_directory(directory)

    def directory_added(self, directory: str) -> None:
        self._hooks.folder_is_added(os.path.realpath(directory))

    def refuse_mode(self, mode: str) -> str | None:
        return refuse_mode(mode, self._ground) or refuse_switch(mode, self.first_mode, self._options)

    def mode_changed(self, mode: PermissionMode) -> None:
        self._tell_mode(mode)

    def keep(self, update: PermissionUpdate) -> None:
        keep_update(update, self._ground)


def rules_of(options: ClaudeAgentOptions, ground: SessionConfig) -> RuleSet:
    return shared_rules(tuple(options.allowed_tools), tuple(options.disallowed_tools), ground.settings.rules)


def judge_of(ground: SessionConfig, session: LocalSession, ledger: UsageTracker, *, session_id: str) -> AutoApprover | None:
    """Who answers for the person in mode auto: the small model, if one is configured."""
    name = small_model(ground.env)
    if name is None:
        return None
    from toolwright.permissions.session.auto_mode import AutoApprover  # few sessions have a small model

    def request() -> str:
        turn = session.turn
        return turn.prompt.text if turn is not None and not turn.prompt.own else ""

    def make() -> ResolvedModel:
        return chosen_model(name, model_environment(ground), retry_policy(0))  # whoever waits longer had better ask the person

    return AutoApprover(make, ledger, request, ground.cwd, session_id)


def place_of(ground: SessionConfig, workspace: Workspace) -> SessionFolders:
    from toolwright.permissions.session.filesystem_facts import MACHINE_FILES  # for calls that are judged
    from toolwright.sandbox.cage.selection import cage_mechanism

    home = ground.env.get("HOME")
    return SessionFolders(
        workspace.home,
        workspace.roots,
        home,
        MACHINE_FILES,
        own_folders(ground.where.config),
        programs_within((workspace.home, *workspace.roots), ground.env.get("PATH", "")),
        cage=cage_mechanism() is not None,
        readable=ground.readable_places(),
        strict=ground.strict,
    )


@lru_cache(maxsize=64)
def programs_within(folders: tuple[str, ...], path: str) -> tuple[str, ...]:
    """The folders of a PATH that lie in `folders`, where whoever writes there chooses what a program's name means."""
    listed = [os.path.join(folders[0], folder) for folder in path.split(":")]
    real = tuple(os.path.realpath(folder) for folder in folders)
    return tuple(folder for folder in listed if f"{os.path.realpath(folder)}/".startswith(tuple(f"{root}/" for root in real)))


@lru_cache(maxsize=64)
def own_folders(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Where settings of the user and whom they trust are kept, as written and as it leads through links."""
    return tuple({spelled(folder) for folder in folders for spelled in (os.path.abspath, os.path.realpath)})


@lru_cache(maxsize=64)
def shared_rules(allow: tuple[str, ...], deny: tuple[str, ...], of_settings: tuple[SourcedRule, ...]) -> RuleSet:
    return RuleSet.parse(allow=allow, deny=deny, canonical=canonical_name) | settings_rules(of_settings)[0]


def starting_mode(options: ClaudeAgentOptions, ground: SessionConfig) -> PermissionMode:
    mode = options.permission_mode or ground.settings.default_mode or "default"
    refusal = refuse_mode(mode, ground)
    if refusal is not None:
        where = "permission_mode" if options.permission_mode else f"{ground.settings.default_mode_source}: defaultMode"
        raise OptionsError(f"{where}: {refusal}")
    return mode  # type: ignore[return-value]  # options and settings were checked


def refuse_mode(mode: str, ground: SessionConfig) -> str | None:
    if mode == "bypassPermissions" and ground.settings.bypass_disabled:
        return "bypassPermissions is turned off by the settings (permissions.disableBypassPermissionsMode)"
    if mode == "bypassPermissions" and os.geteuid() == 0 and ground.env.get("IS_SANDBOX") != "1":
        return "bypassPermissions is refused for root outside a sandbox (set IS_SANDBOX=1 inside a container that holds)"
    return None


def refuse_switch(mode: str, started: PermissionMode, options: ClaudeAgentOptions) -> str | None:
    """Why a running session may not change to `mode`: to skip all questions has to be foreseen when it is started."""
    if mode != "bypassPermissions" or started == "bypassPermissions" or BYPASS_FLAG in options.extra_args:
        return None
    return (
        "this session was not started with bypassPermissions, so it cannot change to it "
        f"(start it in that mode, or with extra_args={{{BYPASS_FLAG!r}: None}})"
    )
