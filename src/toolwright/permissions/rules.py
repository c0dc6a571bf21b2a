"""Rules: `Tool`, `Tool(content)`, with a behavior and the place they came from. Parsed once, checked when parsed.

A rule that could never do what it says is refused here with `OptionsError`, so that none is ignored in silence. Knows the
languages of the contents, not the calls they are matched with.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from toolwright.permissions.patterns import path_problem
from toolwright.types import OptionsError, PermissionBehavior

RuleSource: TypeAlias = Literal["policySettings", "userSettings", "projectSettings", "localSettings", "options", "session"]
Canonical: TypeAlias = Callable[[str], str]
"""Gives a tool's own name for any of its names."""

PATH_TOOLS = {"Read": "Read", "Edit": "Edit"}
"""Tools whose content is a path pattern; the pattern then speaks for every tool that reads or writes files."""

_READ, _EDIT = ("Glob", "Grep", "LS", "NotebookRead"), ("Write", "MultiEdit", "NotebookEdit")
PATHS_BELONG_TO = dict.fromkeys(_READ, "Read") | dict.fromkeys(_EDIT, "Edit")
"""Tools that take no path pattern of their own: the rule that covers them."""

FORMS_OF = {"MultiEdit": "Edit", "NotebookEdit": "Edit", "NotebookRead": "Read"}
"""Tools that do what another one does, in another form: a rule about every call of that one is about them too."""

NAMED_FIELD = {"Agent": "subagent_type", "Skill": "skill"}
"""Tools whose content names one thing, and the input field it is in."""

_RULE = re.compile(r"([^\s(),]+)(?:\((.*)\))?", re.DOTALL)
_PARAMETER = re.compile(r"[A-Za-z_-][A-Za-z0-9_-]*:.+", re.DOTALL)
_MCP_TOOLS = re.compile(r"mcp__[^*]+?__[^*]*\*.*")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `content` None means every call of the tool.

    `base` is the folder that a path pattern beginning with one `/` is relative to: that of the settings file. Without one it
    is the session's own.
    """

    tool: str
    content: str | None
    behavior: PermissionBehavior
    source: RuleSource = "session"
    base: str | None = None
    where: str | None = field(default=None, compare=False)
    """The file and line it was written in, if it was. Says nothing about what the rule means."""

    def __str__(self) -> str:
        return self.tool if self.content is None else f"{self.tool}({self.content})"


def parse_rule(
    text: str,
    behavior: PermissionBehavior = "allow",
    *,
    source: RuleSource = "options",
    base: str | None = None,
    canonical: Canonical | None = None,
    where: str | None = None,
) -> Rule:
    """The rule that `text` says, e.g. `Bash(npm run test:*)`. Raises `OptionsError` when it cannot work."""
    match = _RULE.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        origin = f" (from {where})" if where else ""
        raise OptionsError(f"Permission rule {text!r}{origin} cannot be read: write Tool or Tool(content), one rule per entry.")
    tool, content = match.groups()
    return checked(Rule(canonical(tool) if canonical else tool, whole_tool(content), behavior, source, base, where))


def whole_tool(content: str | None) -> str | None:
    """None for the contents that mean "every call": `Tool()` and `Tool(*)`."""
    return None if content in (None, "", "*") else content


def checked(rule: Rule) -> Rule:
    """`rule`, or `OptionsError` that says why it could never work."""
    problem = _name_problem(rule) or (_content_problem(rule, rule.content) if rule.content is not None else None)
    if problem:
        place = rule.where or rule.source
        raise OptionsError(f"Permission rule {str(rule)!r} ({rule.behavior}, from {place}) cannot work: {problem}.")
    return rule


def _name_problem(rule: Rule) -> str | None:
    if _RULE.fullmatch(rule.tool) is None or "(" in rule.tool:
        return "the tool's name is empty or holds spaces, commas or brackets"
    if "*" not in rule.tool:
        return None
    if rule.content is not None:
        return "a name with * takes no content"
    if rule.behavior == "allow" and not _MCP_TOOLS.fullmatch(rule.tool):
        return "an allow rule may use * in a name only after mcp__<server>__"
    return None


def _content_problem(rule: Rule, content: str) -> str | None:
    if rule.tool in PATH_TOOLS:
        return path_problem(content)
    if rule.tool in PATHS_BELONG_TO:
        return f"{rule.tool} takes no path; {PATHS_BELONG_TO[rule.tool]}({content}) covers it"
    if rule.tool == "Bash":
        return _command_problem(rule, content)
    if rule.tool == "WebFetch":
        return _domain_problem(content)
    if rule.tool in NAMED_FIELD:
        return None
    return _parameter_problem(rule, content)


def _command_problem(rule: Rule, content: str) -> str | None:
    if not content.strip("*: "):
        return "it names no command"
    from toolwright.permissions.shell.command_rules import (
        fixed_words,  # what is known of commands: for rules and calls that are about some
    )
    from toolwright.permissions.shell.wrappers import runs_its_arguments

    words = fixed_words(content)
    if words == ["xargs"]:  # what it runs is judged by itself
        return None
    if rule.behavior == "allow" and "*" in content and len(words) == 1 and runs_its_arguments(words[0]):
        return f"{words[0]} runs whatever follows it, so this would allow every command; name the command after it"
    return None


def _domain_problem(content: str) -> str | None:
    host = content.removeprefix("domain:")
    if host == content or not re.fullmatch(r"\*|(\*\.)?[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*", host):
        return "write WebFetch(domain:example.com), WebFetch(domain:*.example.com) or WebFetch(domain:*)"
    return None


def _parameter_problem(rule: Rule, content: str) -> str | None:
    if rule.behavior == "allow":
        return f"an allow rule for {rule.tool} takes no content"
    return None if _PARAMETER.fullmatch(content) else "write parameter:value, where * stands for any text"
