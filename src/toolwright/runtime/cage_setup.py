"""The rules of the cage, from a session's folders and permission rules: what a command may read that nobody was asked about."""

from __future__ import annotations

from collections.abc import Mapping
from os.path import realpath
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # loaded only for sessions that run commands
    from toolwright.permissions import Place, RuleSet
    from toolwright.workspace import Workspace
    from toolwright.workspace.sandbox.cage import CageRules


def readable_places(env: Mapping[str, str], home: str | None) -> tuple[str, ...]:
    """The files and folders outside the working folders that may be read unasked: of the system, and of toolchains."""
    from toolwright.workspace.sandbox.home_places import readable_of_home
    from toolwright.workspace.sandbox.system_places import system_places

    return (*system_places(home or "/nonexistent", env), *(readable_of_home(home) if home else ()))


def cage_rules(workspace: Workspace, env: Mapping[str, str], state_dir: str, rules: RuleSet, place: Place) -> CageRules:
    """The rules as they are now. Secrets, our own state and what deny rules hide cannot be read in a working folder either."""
    from toolwright.runtime.sandboxing import permission_paths
    from toolwright.workspace.sandbox.cage import CageRules
    from toolwright.workspace.sandbox.secret_places import secret_places

    home, state = env.get("HOME") or "/nonexistent", realpath(state_dir)
    denied = permission_paths(rules, place)
    return CageRules(
        roots=tuple(root for root in workspace.roots if not root.startswith(f"{state}/")),
        readable=place.readable,
        home=home,
        hidden=(*secret_places(home, env), state, *denied.hidden),
        is_hidden=denied.is_hidden,
    )
