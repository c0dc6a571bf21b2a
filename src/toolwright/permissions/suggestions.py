"""What a person may answer besides yes and no: updates that would let calls like this one pass from now on.

A suggestion never reaches further than it reads: a command with a `*` in it gets no rule, because in a rule the `*` would
mean any text. What would not stop the question is not offered: each is tried against the policy itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from posixpath import dirname

from msgspec.structs import replace

from toolwright.permissions.calls import PermissionCall, SessionFolders, normal_path
from toolwright.permissions.policy import decide, judge_of
from toolwright.permissions.protected import is_protected
from toolwright.permissions.rules import Rule, whole_tool
from toolwright.permissions.ruleset import RuleSet
from toolwright.permissions.shell.breadth import breadth_note
from toolwright.types import OptionsError, PermissionMode, PermissionRuleValue, PermissionUpdate

NO_RULES = RuleSet()


def offered_breadth(updates: Iterable[PermissionUpdate]) -> str | None:
    """What a person has to know before choosing one of `updates`: that it would allow everything. None if none would."""
    return breadth_note(
        Rule(rule.tool_name, whole_tool(rule.rule_content), "allow")
        for update in updates
        if update.type == "addRules" and update.behavior == "allow"
        for rule in update.rules or ()
    )


RUNS_TASKS = frozenset(
    {
        *("npm run", "pnpm run", "yarn run", "bun run", "cargo build", "cargo check", "cargo test", "cargo clippy", "go build"),
        *("go test", "go vet", "make", "just", "pytest", "npm test", "yarn test", "pnpm test", "mvn test", "gradle test"),
    }
)
"""Commands that run what the project itself has named: whoever allows one of its tasks often means all of them."""


def suggestions(
    call: PermissionCall, *, rules: RuleSet = NO_RULES, mode: PermissionMode, place: SessionFolders
) -> list[PermissionUpdate]:
    """The updates to offer with a permission question about `call`; none for a call that must always be asked about."""
    if call.must_ask:
        return []
    if call.command is not None:
        return _for_command(call, rules, mode, place)
    if call.writes:
        return _for_writes(call, mode, place)
    if call.reads and not call.is_mcp:
        return _for_reads(call, place)
    if call.hosts:
        return [_rules(_rule("WebFetch", f"domain:{host}") for host in call.hosts)] if call.name == "WebFetch" else []
    return [_rules([PermissionRuleValue(call.name)])]


def _for_command(call: PermissionCall, rules: RuleSet, mode: PermissionMode, place: SessionFolders) -> list[PermissionUpdate]:
    """The command itself, the tasks of its kind, and, if all it does is edit files, the folder and mode for that."""
    named = [_rules([_rule(call.name, content)]) for content in _contents(call)]
    helping = [update for update in named if _helps(update, call, rules, mode, place)]
    return helping + _for_edits(call, rules, mode, place)


def _contents(call: PermissionCall) -> list[str]:
    command = call.command or ""
    if not command or "*" in command or any(character < " " for character in command):
        return []  # without content a rule is about every command
    words = command.split()
    task = next((start for start in (" ".join(words[:2]), " ".join(words[:1])) if start in RUNS_TASKS), None)
    return [command, f"{task} *"] if task is not None and words != task.split() else [command]


def _helps(update: PermissionUpdate, call: PermissionCall, rules: RuleSet, mode: PermissionMode, place: SessionFolders) -> bool:
    try:
        wider = rules.with_update(update)
    except OptionsError:  # a command that cannot be written as a rule
        return False
    return decide(call, rules=wider, mode=mode, place=place).behavior == "allow"


def _for_edits(call: PermissionCall, rules: RuleSet, mode: PermissionMode, place: SessionFolders) -> list[PermissionUpdate]:
    judge = judge_of(call, place)
    if judge is None or mode == "plan":
        return []
    writes = [path for part in judge.line.parts for path in judge.touched(part)[1] if path.startswith("/")]
    outside = _folders_outside(writes, place)
    with_folders = replace(place, roots=(*place.roots, *outside))
    if not writes or decide(call, rules=rules, mode="acceptEdits", place=with_folders).behavior != "allow":
        return []
    return _to_accept_edits(outside, mode)


def _for_writes(call: PermissionCall, mode: PermissionMode, place: SessionFolders) -> list[PermissionUpdate]:
    paths = [normal_path(path) for path in call.writes]
    if any(path is None or is_protected(path, place) for path in paths):
        return []
    return _to_accept_edits(_folders_outside([path for path in paths if path], place), mode)


def _folders_outside(paths: list[str], place: SessionFolders) -> list[str]:
    return sorted({dirname(path) for path in paths if place.root_of(path) is None} - {"/"})


def _to_accept_edits(outside: list[str], mode: PermissionMode) -> list[PermissionUpdate]:
    updates = [PermissionUpdate(type="addDirectories", directories=outside, destination="session")] if outside else []
    if mode != "acceptEdits":
        updates.append(PermissionUpdate(type="setMode", mode="acceptEdits", destination="session"))
    return updates


def _for_reads(call: PermissionCall, place: SessionFolders) -> list[PermissionUpdate]:
    paths = (normal_path(path) for path in call.reads)
    outside = sorted({path for path in paths if path and not place.may_read(path)})
    folders = {path if call.searches else dirname(path) for path in outside} - {"/"}
    if place.strict:
        return [PermissionUpdate(type="addDirectories", directories=sorted(folders), destination="session")] if folders else []
    folders = {folder for folder in folders if _can_be_a_pattern(folder)}
    return [_rules((_rule("Read", f"/{folder}/**") for folder in sorted(folders)), "session")] if folders else []


def _can_be_a_pattern(folder: str) -> bool:
    return not any(character in "*?[]\\!#" or character < " " for character in folder)


def _rule(tool: str, content: str) -> PermissionRuleValue:
    return PermissionRuleValue(tool, content)


def _rules(rules: Iterable[PermissionRuleValue], destination: str = "localSettings") -> PermissionUpdate:
    return PermissionUpdate(
        type="addRules",
        rules=list(rules),
        behavior="allow",
        destination="session" if destination == "session" else "localSettings",
    )
