"""The rules of the cage, from a session's folders and permission rules: what a command may read that nobody was asked about."""

from __future__ import annotations

from collections.abc import Mapping
from os.path import realpath
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # loaded only for sessions that run commands
    from toolwright.permissions import RuleSet, SessionFolders
    from toolwright.sandbox.cage.cage import CageRules
    from toolwright.workspace import Workspace


def cage_rules(
    workspace: Workspace, env: Mapping[str, str], state_dir: str, rules: RuleSet, place: SessionFolders
) -> CageRules:
    """The rules as they are now. Secrets, our own state and what deny rules hide cannot be read in a working folder either."""
    from toolwright.sandbox.cage.cage import CageRules
    from toolwright.sandbox.secret_places import secret_places
    from toolwright.sandbox.session.sandbox_setup import permission_paths

    home, state = env.get("HOME") or "/nonexistent", realpath(state_dir)
    denied = permission_paths(rules, place)
    return CageRules(
        roots=tuple(root for root in workspace.roots if not root.startswith(f"{state}/")),
        readable=place.readable,
        home=home,
        hidden=(*secret_places(home, env), state, *denied.hidden),
        is_hidden=denied.is_hidden,
    )
