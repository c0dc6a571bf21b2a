"""A session's gate: options and settings → rules, the mode it starts in, what answers may change, who judges in mode auto."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from toolwright.permissions import Place, RuleSet
from toolwright.runtime.gate import Changing, Gate, no_judge
from toolwright.runtime.ground import Ground, keep_update, settings_rules
from toolwright.runtime.model_choice import chosen_model, retry_policy, small_model
from toolwright.runtime.turn import prompt_text
from toolwright.tools.registry import canonical_name
from toolwright.types import ClaudeAgentOptions, OptionsError, PermissionMode

if TYPE_CHECKING:
    from toolwright.models.registry import ResolvedModel
    from toolwright.runtime.asking import Asking
    from toolwright.runtime.judging import ModelJudge
    from toolwright.runtime.ledger import Ledger
    from toolwright.runtime.session import LocalSession
    from toolwright.settings import SourcedRule
    from toolwright.workspace import Workspace

BYPASS_FLAG = "allow-dangerously-skip-permissions"


def gate_of(
    options: ClaudeAgentOptions,
    ground: Ground,
    *,
    workspace: Workspace,
    asking: Asking,
    judge: ModelJudge | None,
    tell_mode: Callable[[PermissionMode], None],
) -> Gate:
    rules = shared_rules(tuple(options.allowed_tools), tuple(options.disallowed_tools), ground.settings.rules)
    changing = Changing(
        place=lambda: place_of(ground, workspace),
        add_directory=workspace.add_directory,
        remove_directory=workspace.remove_directory,
        refuse_mode=lambda new: refuse_mode(new, ground) or refuse_switch(new, mode, options),
        keep=lambda update: keep_update(update, ground),
        mode_changed=tell_mode,
        directory_added=lambda directory: asking.hooks.folder_is_added(os.path.realpath(directory)),
    )
    mode = starting_mode(options, ground)
    return Gate(rules, mode, asking=asking, changing=changing, judge=no_judge if judge is None else judge)


def judge_of(ground: Ground, session: LocalSession, ledger: Ledger, *, session_id: str) -> ModelJudge | None:
    """Who answers for the person in mode auto: the small model, if one is configured."""
    name = small_model(ground.env)
    if name is None:
        return None
    from toolwright.runtime.judging import ModelJudge  # few sessions have a small model

    def request() -> str:
        turn = session.turn
        return prompt_text(turn.prompt) if turn is not None and not turn.prompt.own else ""

    def make() -> ResolvedModel:
        return chosen_model(name, ground.env, retry_policy(0))  # whoever waits longer had better ask the person

    return ModelJudge(make, ledger, request, ground.cwd, session_id)


def place_of(ground: Ground, workspace: Workspace) -> Place:
    from toolwright.runtime.machine_files import MACHINE_FILES  # for calls that are judged

    return Place(workspace.home, workspace.roots, ground.env.get("HOME"), MACHINE_FILES, own_folders(ground.where.config))


@lru_cache(maxsize=64)
def own_folders(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Where settings of the user and whom they trust are kept, as written and as it leads through links."""
    return tuple({spelled(folder) for folder in folders for spelled in (os.path.abspath, os.path.realpath)})


@lru_cache(maxsize=64)
def shared_rules(allow: tuple[str, ...], deny: tuple[str, ...], of_settings: tuple[SourcedRule, ...]) -> RuleSet:
    return RuleSet.parse(allow=allow, deny=deny, canonical=canonical_name) | settings_rules(of_settings)[0]


def starting_mode(options: ClaudeAgentOptions, ground: Ground) -> PermissionMode:
    mode = options.permission_mode or ground.settings.default_mode or "default"
    refusal = refuse_mode(mode, ground)
    if refusal is not None:
        where = "permission_mode" if options.permission_mode else f"{ground.settings.default_mode_source}: defaultMode"
        raise OptionsError(f"{where}: {refusal}")
    return mode  # type: ignore[return-value]  # options and settings were checked


def refuse_mode(mode: str, ground: Ground) -> str | None:
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
