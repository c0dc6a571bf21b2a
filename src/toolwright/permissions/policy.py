"""decide(): may this call run? A pure function of the call, the rules, the mode and the place.

    deny rules ▸ ask rules and must-ask ▸ mode ▸ allow rules ▸ ask

Hooks come before and a person's answer after; both are the runtime's. What cannot be judged is asked about, and what nobody
can be asked about is denied there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from toolwright.base.hidden_characters import hides_something
from toolwright.permissions.calls import PermissionCall, SessionFolders, normal_path
from toolwright.permissions.grants import granted_paths, where_it_leads
from toolwright.permissions.patterns import glob_matches
from toolwright.permissions.protected import is_protected
from toolwright.permissions.rules import NAMED_FIELD, Rule
from toolwright.permissions.ruleset import RuleIndex, RuleSet
from toolwright.permissions.shell.caging import obstacle_to_cage, shows_kept
from toolwright.permissions.shell.command_line import CommandLine, visible
from toolwright.permissions.shell.command_rules import forbidding
from toolwright.permissions.shell.command_walker import read_line
from toolwright.permissions.shell.dangerous_removals import critical_removal, unread_removal
from toolwright.permissions.shell.grammar import NotParsed, Tree, plain_tree
from toolwright.permissions.shell.policy import CommandJudge, Obstacle
from toolwright.types import PermissionBehavior, PermissionMode

ReasonType: TypeAlias = Literal["rule", "mode", "workingDir", "safetyCheck", "preapproved", "hook", "other"]
ONLY_LOOKS_CAGED = "It only looks: it runs where nothing can be written, no host reached and no secret read."
STOPPED_IN_CAGE = (
    "It was run where nothing can be written, no host reached and no secret read, and that stopped it: it needs permission."
)
NOT_IN_PLAN = "changes something, and mode plan only looks."
_Verdict: TypeAlias = Literal["matches", "differs", "unclear"]


class Decision(Struct, frozen=True):
    """What is to happen with a call, why, and the rule that decided, if one did."""

    behavior: PermissionBehavior
    reason: str
    rule: Rule | None = None
    reason_type: ReasonType = "other"
    blocked_path: str | None = None
    """The path that stood in the way, if one did."""
    caged: bool = False
    """Allowed because the command only looks: it must run in the cage."""
    granted: tuple[str, ...] = ()
    """Allowed by a rule or the mode: these real paths are opened, of which at least one lies outside the working folders."""


def decide(call: PermissionCall, *, rules: RuleSet, mode: PermissionMode, place: SessionFolders) -> Decision:
    """The decision for `call`. Adding a deny or ask rule never lets more through; a deny rule always wins."""
    judge = judge_of(call, place)
    decision = (
        _forbidden(call, judge, rules, place)
        or (_hidden_read(call, judge, rules, mode) if judge else None)
        or _by_mode(call, judge, rules, mode, place)
        or _out_of_reach(call, judge, place)
        or (Decision("ask", call.no_longer_approved, None, "safetyCheck") if call.no_longer_approved else None)
        or _allowed(call, rules.index("allow"), place)
        or (_command_allowed(call, judge, rules, mode) if judge else None)
        or Decision("ask", f"{call.name} needs permission: no rule allows this call.")
    )
    if decision.behavior == "ask" and mode == "dontAsk":
        reason = f"{decision.reason} (Mode dontAsk denies what would be asked.)"
        return Decision("deny", reason, decision.rule, "mode", decision.blocked_path)
    if decision.behavior == "allow" and call.opens and decision.reason_type in ("rule", "mode"):
        return replace(decision, granted=granted_paths(call, place))
    return decision


def judge_of(call: PermissionCall, place: SessionFolders) -> CommandJudge | None:
    """Who judges the call's command line, if it has one."""
    return CommandJudge(call, line_of(call), place) if call.command is not None else None


def line_of(call: PermissionCall) -> CommandLine:
    """The call's command as it was read; if nobody read it, as far as plain words go."""
    return call.line if call.line is not None else plain_line(call.command or "")


@lru_cache(maxsize=128)
def plain_line(command: str) -> CommandLine:
    """`command` read without a process: lines of plain words are understood, no others."""
    return read_line(command, _plain_only)


def _plain_only(text: str) -> Tree:
    tree = plain_tree(text)
    if tree is None:
        raise NotParsed("it was not parsed, and it is more than plain words")
    return tree


def denies_reading(path: str, *, rules: RuleSet, place: SessionFolders) -> Rule | None:
    """The deny rule that hides `path`: searches leave such files out of what they show."""
    normal = normal_path(path)
    return rules.index("deny").reads.covering(normal, place) if normal else None


def hidden_paths(*, rules: RuleSet, place: SessionFolders) -> Callable[[str], bool] | None:
    """`denies_reading` for very many paths: whether a deny rule hides one; None if no rule hides any."""
    reads = rules.index("deny").reads
    if not reads:
        return None
    covers = reads.tester(place)

    def is_hidden(path: str) -> bool:
        if "/." in path or "//" in path:  # most paths can be seen to be normal already
            normal = normal_path(path)
            return normal is not None and covers(normal)
        return path.startswith("/") and "\0" not in path and covers(path)

    return is_hidden


def _forbidden(call: PermissionCall, judge: CommandJudge | None, rules: RuleSet, place: SessionFolders) -> Decision | None:
    """Deny rules, then all that asks in every mode."""
    if call.command is not None and "\0" in call.command:
        return Decision("deny", "The command holds a NUL character, which no command line can.", None, "safetyCheck")
    denied, doubt = _strictest(call, judge, rules.index("deny"), place)
    if denied:
        return Decision("deny", f"{call.name} is denied by the rule {denied}.", denied, "rule")
    asked, also_doubt = _strictest(call, judge, rules.index("ask"), place)
    if asked:
        return Decision("ask", f"The rule {asked} asks for permission.", asked, "rule")
    return _doubtful(call, doubt or also_doubt) or (_dangerous(judge, place) if judge else None)


def _doubtful(call: PermissionCall, doubt: Rule | None) -> Decision | None:
    if doubt:
        reason = f"It cannot be told whether the rule {doubt} ({doubt.behavior}) is about this call."
        return Decision("ask", reason, doubt, "safetyCheck")
    unclear = next((path for path in (*call.reads, *call.writes) if normal_path(path) is None), None)
    if unclear is not None:
        return Decision("ask", f"{unclear!r} is not an absolute path that can be judged.", None, "safetyCheck", unclear)
    return Decision("ask", f"{call.name} always needs a person's answer.") if call.must_ask else None


def _dangerous(judge: CommandJudge, place: SessionFolders) -> Decision | None:
    """Commands that a person has to see in every mode."""
    if hides_something(judge.line.text):
        return Decision(
            "ask", "The command holds control or invisible characters, so it is not what it looks like.", None, "safetyCheck"
        )
    target = critical_removal(judge.line, judge.paths, place)
    if target is not None:
        return Decision("ask", f"Removing {target!r} always needs a person's answer.", None, "safetyCheck", target)
    remover = unread_removal(judge.line)
    if remover is not None:
        reason = f"The command names {remover} and cannot be read ({judge.line.unparsed}): it needs a person's answer."
        return Decision("ask", reason, None, "safetyCheck")
    return None


def _hidden_read(call: PermissionCall, judge: CommandJudge, rules: RuleSet, mode: PermissionMode) -> Decision | None:
    """A command that may read a path that a rule hides. The cage hides what deny rules hide; elsewhere a person is asked."""
    denied, asked = judge.hidden_reads(rules.index("deny")), judge.hidden_reads(rules.index("ask"))
    part = denied or asked
    if part is None:
        return None
    caged = _caged(call, judge, rules) if asked is None and mode != "bypassPermissions" else None
    if caged is not None and caged.behavior == "allow":
        return replace(caged, reason_type="safetyCheck")  # outside the cage nobody but a person may let it run
    reason = f"`{visible(part.shown)}` may read a path that a rule hides. (Read and Grep leave such paths out by themselves.)"
    return Decision("ask", reason, None, "safetyCheck")


def _strictest(
    call: PermissionCall, judge: CommandJudge | None, index: RuleIndex, place: SessionFolders
) -> tuple[Rule | None, Rule | None]:
    """The rule that is about `call`, and one of which that cannot be told."""
    doubt: Rule | None = None
    for rule in index.named(call.name):
        verdict = _is_about(rule, call)
        if verdict == "matches":
            return rule, None
        doubt = rule if verdict == "unclear" else doubt
    if call.name == "Bash" and index.commands:
        matched, unclear = forbidding(index.commands, line_of(call))
        if matched:
            return matched, None
        doubt = unclear or doubt
    return _path_rule_about(call, index, place) or (judge.path_rule(index) if judge else None), doubt


def _path_rule_about(call: PermissionCall, index: RuleIndex, place: SessionFolders) -> Rule | None:
    if not (index.reads or index.edits):
        return None
    reads = index.reads.covering  # what may not be read may not be written either
    found = (reads(path, place) for path in _normal((*call.reads, *call.writes)))
    written = (index.edits.covering(path, place) for path in _normal(call.writes))
    return next(filter(None, found), None) or next(filter(None, written), None)


def _normal(paths: Iterable[str]) -> Iterable[str]:
    return (path for path in map(normal_path, paths) if path is not None)


def _is_about(rule: Rule, call: PermissionCall) -> _Verdict:
    """Whether a deny or ask rule, whose name fits, is about this call."""
    if rule.content is None:
        return "matches"
    if rule.tool == "WebFetch":
        return _host_verdict(rule.content, call.hosts)
    if rule.tool in NAMED_FIELD:
        return _field_verdict(call, NAMED_FIELD[rule.tool], rule.content)
    parameter, _, value = rule.content.partition(":")
    return _field_verdict(call, parameter, value)


def rule_says(rule: Rule, call: PermissionCall, judge: CommandJudge | None, place: SessionFolders) -> _Verdict:
    """What one rule says about `call` by itself, whatever the others say."""
    index = RuleSet((rule,)).index(rule.behavior)
    if rule.behavior != "allow":
        matched, doubt = _strictest(call, judge, index, place)
        return "matches" if matched else "unclear" if doubt else "differs"
    return "matches" if _naming_rule(call, index) or _path_rule_covering(call, index, place) else "differs"


def _host_verdict(content: str, hosts: tuple[str, ...]) -> _Verdict:
    if not hosts:
        return "unclear"
    return "matches" if any(_is_host(content, host) for host in hosts) else "differs"


def _is_host(content: str, host: str) -> bool:
    wanted, given = content.removeprefix("domain:").lower(), host.lower().rstrip(".")
    return wanted == "*" or (given.endswith(wanted[1:]) if wanted.startswith("*.") else given == wanted)


def _field_verdict(call: PermissionCall, name: str, pattern: str) -> _Verdict:
    value = call.input.get(name)
    if isinstance(value, (dict, list)):
        return "unclear"
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
    return "matches" if value is not None and glob_matches(pattern, text) else "differs"


def _by_mode(
    call: PermissionCall, judge: CommandJudge | None, rules: RuleSet, mode: PermissionMode, place: SessionFolders
) -> Decision | None:
    match mode:
        case "bypassPermissions":
            return Decision("allow", "Mode bypassPermissions allows every call.", reason_type="mode")
        case "plan" if judge is not None:
            return _planned(call, judge, rules)
        case "plan" if not call.read_only:
            return Decision("ask", f"{call.name} {NOT_IN_PLAN}", reason_type="mode")
        case "acceptEdits" if _is_edit(call) and _obstacle(call, place) is None:
            return Decision("allow", "Mode acceptEdits allows edits inside the working folders.", reason_type="mode")
        case _:
            return None


def _planned(call: PermissionCall, judge: CommandJudge, rules: RuleSet) -> Decision | None:
    """In mode plan a command runs in the cage; where there is none, only if it plainly looks."""
    if not judge.place.cage and judge.plainly_looks():
        return None
    return _caged(call, judge, rules) or Decision("ask", f"{call.name} {NOT_IN_PLAN}", reason_type="mode")


def _caged(call: PermissionCall, judge: CommandJudge, rules: RuleSet) -> Decision | None:
    """A line of programs that only look: it runs in the cage, unless the cage stopped it before."""
    if not judge.place.cage or obstacle_to_cage(judge) is not None or _shows_hidden(judge, rules):
        return None
    if call.stopped_in_cage:
        return Decision("ask", STOPPED_IN_CAGE, None, "safetyCheck")
    covering = (judge.rule_covering(part, rules.index("allow")) for part in judge.line.certain_parts if part.words)
    rule = next(filter(None, covering), None)
    return Decision("allow", ONLY_LOOKS_CAGED, rule, "rule" if rule else "workingDir", caged=True)


def _shows_hidden(judge: CommandJudge, rules: RuleSet) -> bool:
    """Whether the line may show what a rule hides although it runs in the cage, which hides only files, and by deny rules."""
    denied, asked = rules.index("deny").reads, rules.index("ask").reads
    return bool(denied and shows_kept(judge, denied)) or bool(asked and not judge.looks_exactly())


def _is_edit(call: PermissionCall) -> bool:
    return bool(call.writes) and call.command is None and not call.is_mcp and not call.hosts


def _obstacle(call: PermissionCall, place: SessionFolders) -> str | None:
    """The first path of the call that lies outside the working folders or may not be written unseen."""
    for path in (*call.reads, *call.writes):
        normal = normal_path(path)
        if normal is None or place.root_of(normal) is None:
            return path
    return _protected_write(call, place)


def _protected_write(call: PermissionCall, place: SessionFolders) -> str | None:
    for path in call.writes:
        normal = normal_path(path)
        if normal is None or is_protected(normal, place):
            return path
    return None


def _out_of_reach(call: PermissionCall, judge: CommandJudge | None, place: SessionFolders) -> Decision | None:
    """Writes that no allow rule can let through."""
    path = _protected_write(call, place) or (judge.protected_write() if judge else None)
    if path is None:
        return None
    return Decision("ask", f"Writing {path} needs a person's answer: it is a protected path.", None, "safetyCheck", path)


def _allowed(call: PermissionCall, index: RuleIndex, place: SessionFolders) -> Decision | None:
    rule = _naming_rule(call, index) or _path_rule_covering(call, index, place)
    if rule:
        return Decision("allow", f"The rule {rule} allows it.", rule, "rule")
    if call.preapproved:
        return Decision("allow", f"{call.name} was given to the session by its developer.", reason_type="preapproved")
    return _looking(call, place) if call.read_only and not call.is_mcp and call.reads and call.command is None else None


def _naming_rule(call: PermissionCall, index: RuleIndex) -> Rule | None:
    """The rule that covers the call by its name, a field or, word for word, its command; parts of commands are judged apart."""
    word_for_word = index.commands.exact.get(call.command) if call.name == "Bash" and call.command is not None else None
    return word_for_word or next((rule for rule in index.named(call.name, server=call.server) if _covers(rule, call)), None)


def _command_allowed(call: PermissionCall, judge: CommandJudge, rules: RuleSet, mode: PermissionMode) -> Decision:
    """A command line: covered part by part, or run in a sandbox that is trusted."""
    if call.sandboxed and judge.line.unparsed is None:
        return Decision("allow", "The command runs in a sandbox.", reason_type="mode")
    caged = _caged(call, judge, rules)
    if caged is not None:
        return caged
    found = judge.obstacle(rules, mode)
    if isinstance(found, Obstacle):
        return Decision("ask", found.reason, found.rule, "workingDir" if found.path else "other", found.path)
    if found.rule is not None:
        return Decision("allow", found.reason, found.rule, "rule")
    return Decision("allow", found.reason, reason_type="workingDir")


def _looking(call: PermissionCall, place: SessionFolders) -> Decision:
    """A built-in tool that only reads files."""
    path = next((path for path in call.reads if not _may_read(path, place)), None) or next(iter(call.writes), None)
    if path is None:
        return Decision("allow", "Reading inside the working folders needs no permission.", reason_type="workingDir")
    reason = where_it_leads(call, place) or f"{path} is outside the working folders."
    return Decision("ask", reason, None, "workingDir", path)


def _may_read(path: str, place: SessionFolders) -> bool:
    normal = normal_path(path)
    return normal is not None and place.may_read(normal)


def _covers(rule: Rule, call: PermissionCall) -> bool:
    """Whether an allow rule, whose name fits, covers this call entirely."""
    if rule.content is None:
        return True
    if rule.tool == "WebFetch":
        return bool(call.hosts) and all(_is_host(rule.content, host) for host in call.hosts)
    return rule.tool in NAMED_FIELD and _field_verdict(call, NAMED_FIELD[rule.tool], rule.content) == "matches"


def _path_rule_covering(call: PermissionCall, index: RuleIndex, place: SessionFolders) -> Rule | None:
    """The path rule that covers every path of a file tool's call: `Edit` for writes, either for reads.

    What is read unasked anyway, such as a link inside that leads out, needs no rule of its own.
    """
    if call.command is not None or call.is_mcp or not (call.reads or call.writes) or not (index.reads or index.edits):
        return None
    found: Rule | None = None
    for path in (*call.reads, *call.writes):
        normal = normal_path(path)
        if normal is None or any(character < " " for character in normal):
            return None
        rule = index.edits.covering(normal, place, whole=call.searches)
        if path not in call.writes:
            rule = rule or index.reads.covering(normal, place, whole=call.searches)
            if rule is None and place.may_read(normal):
                continue
        if rule is None:
            return None
        found = rule
    return found
