"""May this call run? Rules, modes and the pure function that decides.

    policy          decide(): deny ▸ ask ▸ mode ▸ allow ▸ ask
    explaining      decide() again, with every rule it looked at
    calls           the facts of a call and of the place it happens in
    rules           one rule: parsed and checked
    ruleset         many rules, indexed; changed by updates
    path_rules      path patterns of many rules as one search
    led_rules       rules behind links, as rules about where they lead
    patterns        the two pattern languages
    protected       paths that are never written unseen
    grants          paths outside that a yes opens
    suggestions     what a person may answer to stop being asked

Shell commands:

    grammar         text → syntax tree (plain words here, all else by shfmt)
    words, lines    values: a word, a simple command, a line
    reading         syntax tree → every simple command in it
    wrappers        programs that run other programs
    programs        what a command would do; program_table, options, scripts, git_commands: what is known of programs
    reach           arguments that no `*` in a rule covers
    breadth         rules whose `*` covers everything
    variables       variables that change what a program runs
    lookers         programs that look: what may run in the cage
    caging          may this line run in the cage?
    command_paths   which paths a command's words are
    command_rules   rules about commands
    critical        removals that are always asked about
    characters      what a reader would not see
    shell_policy    may this line run?

Nothing here awaits, opens a file or reads the environment; `grammar` alone starts a process.

Each name is loaded when it is first used: most of this is about commands, and not every session runs one.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .calls import Call, Files, Place
    from .characters import hides_something, made_visible
    from .explaining import Explanation, explain
    from .git_commands import keys_are_plain
    from .grammar import parser_problem, plain_tree
    from .grants import granted_paths, outside_paths, where_it_leads
    from .led_rules import with_real_paths
    from .lines import CommandLine
    from .policy import Decision, ReasonType, decide, denies_reading, hidden_paths
    from .reading import read_command
    from .rules import Rule, RuleSource, parse_rule
    from .ruleset import RuleSet

__all__ = [
    "Call",
    "CommandLine",
    "Decision",
    "Explanation",
    "Files",
    "Place",
    "ReasonType",
    "Rule",
    "RuleSet",
    "RuleSource",
    "keys_are_plain",
    "decide",
    "denies_reading",
    "explain",
    "granted_paths",
    "hidden_paths",
    "hides_something",
    "made_visible",
    "outside_paths",
    "parse_rule",
    "parser_problem",
    "plain_tree",
    "read_command",
    "where_it_leads",
    "with_real_paths",
]

_HOMES = {
    "Call": "calls",
    "Files": "calls",
    "Place": "calls",
    "hides_something": "characters",
    "made_visible": "characters",
    "Explanation": "explaining",
    "explain": "explaining",
    "keys_are_plain": "git_commands",
    "parser_problem": "grammar",
    "plain_tree": "grammar",
    "granted_paths": "grants",
    "outside_paths": "grants",
    "where_it_leads": "grants",
    "with_real_paths": "led_rules",
    "CommandLine": "lines",
    "Decision": "policy",
    "ReasonType": "policy",
    "decide": "policy",
    "denies_reading": "policy",
    "hidden_paths": "policy",
    "read_command": "reading",
    "Rule": "rules",
    "RuleSource": "rules",
    "parse_rule": "rules",
    "RuleSet": "ruleset",
}
"""Which module a name lives in."""

# Hidden from type checkers, which would otherwise accept any attribute.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
