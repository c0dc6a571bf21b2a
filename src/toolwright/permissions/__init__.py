"""May this call run? Rules, modes and the pure function that decides.

    policy          decide(): deny ▸ ask ▸ mode ▸ allow ▸ ask
    explanation     decide() again, with every rule it looked at
    calls           the facts of a call and of the place it happens in
    rules           one rule: parsed and checked
    ruleset         many rules, indexed; changed by updates
    path_rules      path patterns of many rules as one search
    linked_rules    rules behind links, as rules about where they lead
    patterns        the two pattern languages
    protected       paths that are never written unseen
    grants          paths outside that a yes opens
    suggestions     what a person may answer to stop being asked

Shell commands, in shell/:

    grammar         text → syntax tree (plain words here, all else by shfmt)
    words, command_line   values: a word, a simple command, a line
    command_walker  syntax tree → every simple command in it
    wrappers        programs that run other programs
    programs        what a command would do; program_table, program_options, scripts, git_commands: what is known of programs
    dangerous_arguments   arguments that no `*` in a rule covers
    breadth         rules whose `*` covers everything
    variables       variables that change what a program runs
    lookers         programs that look: what may run in the cage
    caging          may this line run in the cage?
    command_paths   which paths a command's words are
    command_rules   rules about commands
    dangerous_removals    removals that are always asked about
    policy          may this line run?

In a session, in session/: the gate, approval by a person, mode auto, explanations.

Nothing here awaits, opens a file or reads the environment; `grammar` alone starts a process.

Each name is loaded when it is first used: most of this is about commands, and not every session runs one.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolwright.base.hidden_characters import hides_something, made_visible
    from toolwright.permissions.calls import Files, PermissionCall, SessionFolders
    from toolwright.permissions.explanation import Explanation, explain
    from toolwright.permissions.grants import granted_paths, outside_paths, where_it_leads
    from toolwright.permissions.linked_rules import with_real_paths
    from toolwright.permissions.policy import Decision, ReasonType, decide, denies_reading, hidden_paths
    from toolwright.permissions.rules import Rule, RuleSource, parse_rule
    from toolwright.permissions.ruleset import RuleSet
    from toolwright.permissions.shell.command_line import CommandLine
    from toolwright.permissions.shell.command_walker import read_command
    from toolwright.permissions.shell.git_commands import keys_are_plain
    from toolwright.permissions.shell.grammar import parser_problem, plain_tree

__all__ = [
    "PermissionCall",
    "CommandLine",
    "Decision",
    "Explanation",
    "Files",
    "SessionFolders",
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
    "PermissionCall": "toolwright.permissions.calls",
    "Files": "toolwright.permissions.calls",
    "SessionFolders": "toolwright.permissions.calls",
    "hides_something": "toolwright.base.hidden_characters",
    "made_visible": "toolwright.base.hidden_characters",
    "Explanation": "toolwright.permissions.explanation",
    "explain": "toolwright.permissions.explanation",
    "keys_are_plain": "toolwright.permissions.shell.git_commands",
    "parser_problem": "toolwright.permissions.shell.grammar",
    "plain_tree": "toolwright.permissions.shell.grammar",
    "granted_paths": "toolwright.permissions.grants",
    "outside_paths": "toolwright.permissions.grants",
    "where_it_leads": "toolwright.permissions.grants",
    "with_real_paths": "toolwright.permissions.linked_rules",
    "CommandLine": "toolwright.permissions.shell.command_line",
    "Decision": "toolwright.permissions.policy",
    "ReasonType": "toolwright.permissions.policy",
    "decide": "toolwright.permissions.policy",
    "denies_reading": "toolwright.permissions.policy",
    "hidden_paths": "toolwright.permissions.policy",
    "read_command": "toolwright.permissions.shell.command_walker",
    "Rule": "toolwright.permissions.rules",
    "RuleSource": "toolwright.permissions.rules",
    "parse_rule": "toolwright.permissions.rules",
    "RuleSet": "toolwright.permissions.ruleset",
}
"""Which module a name lives in."""

# Hidden from type checkers, which would otherwise accept any attribute.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
