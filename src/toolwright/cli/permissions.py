"""`toolwright permissions explain`: would this call be allowed here, and which rule says so?"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from toolwright.cli.failures import EXIT_FAILED, complain
from toolwright.cli.flags import PERMISSION_MODES, Flag, UsageError, parse
from toolwright.cli.plain_output import write_now
from toolwright.cli.terminal import visible

if TYPE_CHECKING:
    from toolwright.permissions.session.explain import ExplainedDecision

EXPLAIN_FLAGS = (
    Flag("allow", "each"),
    Flag("ask", "each"),
    Flag("deny", "each"),
    Flag("mode", "text", choices=PERMISSION_MODES),
    Flag("cwd", "text"),
    Flag("json", "switch"),
    Flag("help", "switch", short="h"),
)

USAGE = """\
Usage: toolwright permissions explain TOOL JSON [--allow RULE]… [--ask RULE]… [--deny RULE]…
                                      [--mode MODE] [--cwd DIR] [--json]

Says what a session would do with a call of TOOL with the input JSON: allow, ask or deny; why; which
rule decided; what every other rule says; and how a shell command was read. Runs nothing.
Without rules, those of the settings in force in the folder are used.

  toolwright permissions explain Bash '{"command": "git log | head"}' --allow 'Bash(git log:*)'
"""

SAID = {
    "decides": "decides",
    "matches": "matches too",
    "part": "covers a part",
    "unclear": "cannot be told",
    "differs": "is about others",
}


def permissions_command(arguments: Sequence[str]) -> int:
    line = parse(arguments, EXPLAIN_FLAGS)
    if line.values.get("help") or not line.words:
        write_now(1, USAGE)
        return 0
    if line.words[0] != "explain" or len(line.words) != 3:
        raise UsageError("write: toolwright permissions explain TOOL JSON (see toolwright permissions --help)")
    return _explain(line.words[1], _input(line.words[2]), line.values)


def _input(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"the tool's input is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise UsageError('the tool\'s input must be a JSON object, like {"command": "ls"}')
    return value


def _explain(tool: str, given: dict[str, Any], values: dict[str, Any]) -> int:
    from toolwright.permissions.session.explain import HypotheticalCall, answer
    from toolwright.types import OptionsError

    cwd = os.path.abspath(values.get("cwd", "."))
    if not os.path.isdir(cwd):
        raise UsageError(f"--cwd: {cwd} is not a folder")
    rules = {behavior: values.get(behavior, ()) for behavior in ("allow", "ask", "deny")}
    try:
        found = answer(HypotheticalCall(tool, given, cwd, rules, values.get("mode")))
    except OptionsError as error:
        complain(str(error))
        return EXIT_FAILED
    text = json.dumps(_as_json(found), indent=2, ensure_ascii=True) if values.get("json") else "\n".join(_lines(found))
    write_now(1, text + "\n")
    return 0


def _as_json(found: ExplainedDecision) -> dict[str, Any]:
    whole = {**found.explanation.to_dict(), "cage": found.cage}
    whole["considered"] += [{"rule": problem, "said": "cannot work"} for problem in found.problems]
    whole["considered"] += [{"rule": note, "said": "note"} for note in found.notes]
    return whole


def _lines(found: ExplainedDecision) -> Iterator[str]:
    told = found.explanation.to_dict()
    yield f"{told['decision']}: {visible(told['reason'])}"
    decided = found.explanation.decision.rule
    if decided is not None:
        yield f"rule: {visible(str(decided))} ({decided.behavior}, from {decided.where or decided.source})"
    if told["granted"]:
        yield f"opens, also outside the working folders: {visible(', '.join(told['granted']))}"
    if told["commands"]:
        yield f"cage: {_cage_words(found.cage, caged=told['caged'])}"
    yield from _rule_lines(found)
    if told["commands"]:
        yield "the command, as it is read:"
        yield from (f"  {line}" for command in told["commands"] for line in _command_lines(command))


def _rule_lines(found: ExplainedDecision) -> Iterator[str]:
    from toolwright.permissions.shell.breadth import breadth_note

    considered = found.explanation.considered
    if considered or found.problems or found.notes:
        yield "rules looked at:"
    for entry in considered:
        rule = entry.rule
        yield f"  {rule.behavior:<5} {visible(str(rule)):<32} {SAID[entry.said]} (from {rule.where or rule.source})"
    if broad := breadth_note(entry.rule for entry in considered):
        yield f"  {visible(broad)}"
    yield from (f"  {visible(problem)}" for problem in (*found.problems, *found.notes))


def _cage_words(mechanism: str, *, caged: bool) -> str:
    if mechanism == "none":
        return "none works here, so only plain commands run unasked"
    where = "would run in it: nothing written, no host reached, no other process seen" if caged else "would run outside of it"
    return f"this command {where} (held by {mechanism})"


DOES = {
    "looks": "only looks",
    "edits": "edits files",
    "writes": "writes files",
    "changes": "changes files",
    "runs": "runs something of its own",
    "unknown": "cannot be judged",
}


def _command_lines(command: dict[str, Any]) -> Iterator[str]:
    inside = "inside: " if command.get("inside") else ""
    yield f"{inside}{visible(command['command'])}  [{DOES[command['does']]}]"
    for name in ("why", "wrapped_by", "sets", "reads", "writes"):
        if command.get(name):
            value = command[name]
            yield f"    {name.replace('_', ' ')}: {visible(', '.join(value) if isinstance(value, list) else value)}"
