"""An immutable set of rules, indexed by tool, and the change of one set into another. Order of rules has no meaning.

Finds rules; what a found rule means for a call is `policy`'s to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import get_args

from toolwright.permissions.path_rules import PathRules
from toolwright.permissions.patterns import glob_matches
from toolwright.permissions.rules import FORMS_OF, PATH_TOOLS, Canonical, Rule, RuleSource, checked, parse_rule, whole_tool
from toolwright.types import OptionsError, PermissionBehavior, PermissionUpdate

_SERVER = re.compile(r"(mcp__[^*]+)__\*")
"""`mcp__srv__*` says the same as `mcp__srv`."""


class RuleSet:
    """Any number of rules. One instance may serve any number of sessions; nothing of a session is kept in it."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        unique = {checked(rule) for rule in rules}
        self.rules: tuple[Rule, ...] = tuple(sorted(unique, key=_sort_key))

    @classmethod
    def parse(
        cls,
        *,
        allow: Iterable[str] = (),
        ask: Iterable[str] = (),
        deny: Iterable[str] = (),
        source: RuleSource = "options",
        base: str | None = None,
        canonical: Canonical | None = None,
    ) -> RuleSet:
        """The rules written as text, e.g. those of `allowed_tools` and `disallowed_tools`."""
        texts: dict[PermissionBehavior, Iterable[str]] = {"allow": allow, "ask": ask, "deny": deny}
        return cls(
            parse_rule(text, behavior, source=source, base=base, canonical=canonical)
            for behavior, group in texts.items()
            for text in group
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuleSet) and self.rules == other.rules

    def __hash__(self) -> int:
        return hash(self.rules)

    def __or__(self, other: RuleSet) -> RuleSet:
        return RuleSet((*self.rules, *other.rules))

    def with_update(self, update: PermissionUpdate, *, canonical: Canonical | None = None) -> RuleSet:
        """The set after `update`. An update that is not about rules (setMode, addDirectories, …) leaves it as it is.

        `replaceRules` replaces the rules of the same behavior from the same destination; without a destination, the session's.
        """
        if not update.type.endswith("Rules"):
            return self
        new = set(_rules_of(update, canonical))
        match update.type:
            case "addRules":
                return RuleSet((*self.rules, *new))
            case "removeRules":
                return RuleSet(rule for rule in self.rules if replace(rule, base=None) not in new)
            case _:
                source = update.destination or "session"
                kept = (rule for rule in self.rules if (rule.behavior, rule.source) != (update.behavior, source))
                return RuleSet((*kept, *new))

    def index(self, behavior: PermissionBehavior) -> RuleIndex:
        return self._indexes[behavior]

    @cached_property
    def _indexes(self) -> dict[PermissionBehavior, RuleIndex]:
        behaviors: tuple[PermissionBehavior, ...] = get_args(PermissionBehavior)
        return {
            behavior: RuleIndex([rule for rule in self.rules if rule.behavior == behavior], widely=behavior != "allow")
            for behavior in behaviors
        }


class RuleIndex:
    """The rules of one behavior: those about a name, those about a path to read or to write."""

    __slots__ = ("_by_name", "_globs", "commands", "edits", "reads")

    def __init__(self, rules: list[Rule], *, widely: bool) -> None:
        from toolwright.permissions.shell.command_rules import (
            CommandRules,  # what is known of commands: not before a call is judged
        )

        self._by_name: dict[str, list[Rule]] = {}
        self._globs: list[Rule] = []
        for rule in rules:
            self._place(rule)
        self.commands = CommandRules({rule.content: rule for rule in rules if rule.tool == "Bash" and rule.content is not None})
        """Those about the commands of Bash."""
        self.reads = PathRules((rule for rule in rules if _is_path_rule(rule, "Read")), widely=widely)
        self.edits = PathRules((rule for rule in rules if _is_path_rule(rule, "Edit")), widely=widely)

    def _place(self, rule: Rule) -> None:
        server = _SERVER.fullmatch(rule.tool)
        name = server[1] if server else rule.tool
        if "*" in name:
            self._globs.append(rule)
        elif rule.content is None or not (rule.tool in PATH_TOOLS or rule.tool == "Bash"):
            self._by_name.setdefault(name, []).append(rule)

    def named(self, tool: str, *, server: str | None = None) -> Iterator[Rule]:
        """The rules whose name is, or covers, the name `tool`; rules about paths and commands are not among them.

        With `server`, a rule about a whole server or with a * counts only if it is about that one: `mcp__a` is not about
        the tools of a server `a__b`.
        """
        yield from self._by_name.get(tool, ())
        if tool in FORMS_OF:
            yield from self._by_name.get(FORMS_OF[tool], ())
        if tool.startswith("mcp__"):
            for name in _servers(tool) if server is None else (server,):
                yield from self._by_name.get(name, ())
        for rule in self._globs:
            if glob_matches(rule.tool, tool) and (server is None or rule.tool.startswith(f"{server}__")):
                yield rule


def _servers(tool: str) -> Iterator[str]:
    """The names under which a rule may mean a whole server: `mcp__a` of `mcp__a__b`."""
    end = tool.find("__", len("mcp__"))
    while end > 0:
        yield tool[:end]
        end = tool.find("__", end + 1)


def _is_path_rule(rule: Rule, tool: str) -> bool:
    return rule.tool == tool and rule.content is not None


def _sort_key(rule: Rule) -> tuple[str, ...]:
    return (rule.tool, rule.content or "", rule.behavior, rule.source, rule.base or "")


def _rules_of(update: PermissionUpdate, canonical: Canonical | None) -> Iterator[Rule]:
    behavior = update.behavior
    if behavior is None or behavior not in get_args(PermissionBehavior):
        raise OptionsError(f"A permission update {update.type} needs a behavior: allow, ask or deny, not {behavior!r}.")
    for value in update.rules or ():
        tool = canonical(value.tool_name) if canonical else value.tool_name
        yield Rule(tool, whole_tool(value.rule_content), behavior, update.destination or "session")
