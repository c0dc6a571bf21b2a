"""Why a decision is what it is: the decision, every rule that was looked at and what it said, and the command as it was read.

For people whose rule does not do what they thought, and for tests of policy files. Pure, like `decide`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from toolwright.base.hidden_characters import made_visible
from toolwright.permissions.calls import PermissionCall, SessionFolders
from toolwright.permissions.policy import Decision, decide, judge_of, rule_says
from toolwright.permissions.rules import Rule
from toolwright.permissions.ruleset import RuleSet
from toolwright.permissions.shell.breadth import breadth_note
from toolwright.permissions.shell.command_line import Part, visible
from toolwright.permissions.shell.policy import CommandJudge
from toolwright.types import PermissionMode

Word: TypeAlias = Literal["decides", "matches", "part", "unclear", "differs"]
"""What a rule said. `part`: it covers some, not all, of the commands of a line, or a file that one of them opens."""


class Considered(Struct, frozen=True):
    """One rule, and what it said about the call."""

    rule: Rule
    said: Word


class Explanation(Struct, frozen=True):
    """A decision with all that led to it."""

    decision: Decision
    considered: tuple[Considered, ...] = ()
    commands: tuple[dict[str, Any], ...] = ()
    """Each simple command: what it is, what it would do, where it reads and writes; and what was not understood."""
    cage: bool = False
    """There is a cage here that the kernel holds."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "decision": self.decision.behavior,
            "reason": made_visible(self.decision.reason),
            "rule": str(self.decision.rule) if self.decision.rule else None,
            "considered": [_considered_dict(entry) for entry in self.considered],
            "commands": list(self.commands),
            "cage": "kernel" if self.cage else "none",
            "caged": self.decision.caged,
            "granted": [made_visible(path) for path in self.decision.granted],
        }


def explain(call: PermissionCall, *, rules: RuleSet, mode: PermissionMode, place: SessionFolders) -> Explanation:
    """`decide`, and how it came to its answer."""
    decision = decide(call, rules=rules, mode=mode, place=place)
    judge = judge_of(call, place)
    considered = tuple(Considered(rule, _said(rule, call, judge, place, decision)) for rule in _in_order(rules))
    if judge is None:
        return Explanation(decision, considered, cage=place.cage)
    line = judge.line
    troubles = (*((line.unparsed,) if line.unparsed else ()), *line.doubts, *line.opaque)
    unclear = ({"command": made_visible(line.text), "does": "unknown", "why": made_visible(trouble)} for trouble in troubles)
    commands = (*(_command(part, judge) for part in line.parts), *unclear)
    return Explanation(decision, considered, commands, place.cage)


def _in_order(rules: RuleSet) -> Iterator[Rule]:
    for behavior in ("deny", "ask", "allow"):
        yield from (rule for rule in rules.rules if rule.behavior == behavior)


def _said(rule: Rule, call: PermissionCall, judge: CommandJudge | None, place: SessionFolders, decision: Decision) -> Word:
    if rule == decision.rule:
        return "decides"
    verdict: Word = rule_says(rule, call, judge, place)
    if verdict != "differs" or judge is None or rule.behavior != "allow":
        return verdict
    index, parts = RuleSet((rule,)).index("allow"), tuple(judge.line.certain_parts)
    covered = [judge.rule_covering(part, index) is not None for part in parts if part.words]
    if covered and all(covered):
        return "matches"
    return "part" if any(covered) or any(judge.file_covered(part, index) for part in parts) else "differs"


def _command(part: Part, judge: CommandJudge) -> dict[str, Any]:
    effect = judge.effect(part)
    reads, writes = judge.touched(part)
    found: dict[str, Any] = {"command": made_visible(visible(part.shown)), "does": effect.kind}
    if part.wrapped:
        found["wrapped_by"] = made_visible(" ".join(word.text for word in part.wrapped))
    if not part.certain:
        found["inside"] = True
    if part.assignments:
        found["sets"] = [assignment.name for assignment in part.assignments]
    folders = judge.paths.folders(part)
    found["folder"] = list(folders) if folders is not None else None
    return found | ({"reads": reads} if reads else {}) | ({"writes": writes} if writes else {})


def _considered_dict(entry: Considered) -> dict[str, Any]:
    rule = entry.rule
    told = {"rule": str(rule), "behavior": rule.behavior, "source": rule.where or rule.source, "said": entry.said}
    note = breadth_note((rule,))
    return told | ({"note": note} if note else {})
