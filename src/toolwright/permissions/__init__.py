"""May this call run? Rules, modes and the pure function that decides.

    policy       decide(): deny ▸ ask ▸ mode ▸ allow ▸ ask
    calls        the facts of a call and of the place it happens in
    rules        one rule: parsed and checked
    ruleset      many rules, indexed; changed by updates
    path_rules   path patterns of many rules as one search
    commands     shell commands, as far as plain words go
    patterns     the two pattern languages
    protected    paths that are never written unseen
    suggestions  what a person may answer to stop being asked

Nothing here awaits, opens a file or reads the environment.
"""

from .calls import Call, Place
from .policy import Decision, ReasonType, decide, denies_reading, hidden_paths
from .rules import Rule, RuleSource, parse_rule
from .ruleset import RuleSet
from .suggestions import suggestions

__all__ = [
    "Call",
    "Place",
    "Decision",
    "ReasonType",
    "decide",
    "denies_reading",
    "hidden_paths",
    "Rule",
    "RuleSource",
    "parse_rule",
    "RuleSet",
    "suggestions",
]
