"""Two collections of commands with the decision each must get: known attacks, and the ordinary work of projects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from support_permissions import KNOWN_FILES, PLACE, bash
from toolwright.permissions import RuleSet, SessionFolders, decide
from toolwright.types import OptionsError, PermissionMode

DATA = Path(__file__).parent / "data"
ATTACKS = json.loads((DATA / "shell_attacks.json").read_text())
ORDINARY = json.loads((DATA / "ordinary_commands.json").read_text())
EVERYDAY = json.loads((DATA / "everyday_commands.json").read_text())
ORDINARY_RULES = RuleSet.parse(**ORDINARY["rules"])
MODES: tuple[PermissionMode, ...] = ("acceptEdits", "plan", "dontAsk", "auto")
EDITS_OF_ONE_FILE = frozenset(
    """op-and op-50 op-linecont op-ws-hide op-comment sub-herestr sub-proc-in sub-btick sub-param-default sub-ansi quote-split
    bslash-split command timew bang subshell group if for case w-stdbuf w-nohup tee csplit redir-both redir-clobber redir-rw
    cd-write uni-homoglyph""".split()  # noqa: SIM905 — a word list
)
"""These only touch a file inside the working folder, which is what acceptEdits is for."""
WHAT_THE_RULE_SAYS = frozenset("tar-to tar-I python-c perl-e node-e make npm-test tee".split())  # noqa: SIM905
"""With a `*` these rules allow everything the program does, and that is what it does (`Bash(tee:*)`: in the folder)."""
WORKING = SessionFolders(PLACE.cwd, PLACE.roots, PLACE.home, KNOWN_FILES, cage=True, readable=("/usr", "/etc/os-release"))
UNCAGED = replace(WORKING, cage=False)


def rules_of(text: str) -> RuleSet:
    """A rule that is refused allows nothing."""
    try:
        return RuleSet.parse(allow=[text])
    except OptionsError:
        return RuleSet()


@pytest.mark.parametrize("form", ["Bash({})", "Bash({}:*)", "Bash({} *)"])
@pytest.mark.parametrize("case", ATTACKS, ids=lambda case: case["id"])
def test_a_rule_for_a_command_allows_that_command_and_none_of_the_tricks_with_it(case: dict[str, str], form: str) -> None:
    rules = rules_of(form.format(case["rule"]))
    by_rule = "*" in form and case["id"] in WHAT_THE_RULE_SAYS
    caged = decide(bash(case["command"]), rules=rules, mode="default", place=WORKING)
    uncaged = decide(bash(case["command"]), rules=rules, mode="default", place=UNCAGED)
    if case["expect"] == "allow":
        assert caged.caged or case["id"] == "ok-9", caged.reason
        assert uncaged.behavior == "allow" or "*" not in form, uncaged.reason
    else:
        assert (caged.behavior == "allow" and not caged.caged) == by_rule, caged.reason
        assert (uncaged.behavior == "allow") == by_rule, uncaged.reason


@pytest.mark.parametrize("case", [case for case in ATTACKS if case["expect"] != "allow"], ids=lambda case: case["id"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", [WORKING, UNCAGED], ids=["cage", "none"])
def test_no_trick_runs_unasked_in_any_mode_but_bypass(
    case: dict[str, str], mode: PermissionMode, place: SessionFolders
) -> None:
    decision = decide(bash(case["command"]), rules=rules_of(f"Bash({case['rule']}:*)"), mode=mode, place=place)
    only_edits = mode == "acceptEdits" and case["id"] in EDITS_OF_ONE_FILE
    if place.cage and case["id"] == "sub-proc-in":  # which file it reads is not known, and a rule for cat only looks
        only_edits = False
    by_rule = mode != "plan" and case["id"] in WHAT_THE_RULE_SAYS
    assert (decision.behavior == "allow" and not decision.caged) == (only_edits or by_rule), decision.reason


def test_most_tricks_are_asked_about_at_once_although_the_cage_would_stop_them() -> None:
    """What still runs there is a git in a repository that names programs: they run in the cage as well."""
    found = [case["id"] for case in ATTACKS if _runs_caged(case["command"]) and case["expect"] != "allow"]
    assert found == ["git-bare"]


def _runs_caged(command: str) -> bool:
    return decide(bash(command), rules=RuleSet(), mode="default", place=WORKING).caged


@pytest.mark.parametrize(("command", "expected"), ORDINARY["commands"])
def test_ordinary_work_gets_the_decision_a_person_would_expect(command: str, expected: str) -> None:
    decision = decide(bash(command), rules=ORDINARY_RULES, mode="default", place=WORKING)
    assert decision.behavior == expected, decision.reason


@pytest.mark.parametrize(("command", "expected"), EVERYDAY["commands"])
def test_everyday_commands_under_sensible_rules_run_unless_a_question_is_right(command: str, expected: str) -> None:
    decision = decide(bash(command), rules=RuleSet.parse(allow=EVERYDAY["rules"]), mode="default", place=WORKING)
    assert decision.behavior == expected, decision.reason


UNWANTED = frozenset(
    {
        *("ls /tmp", "ls ..", "printenv PATH", "git config --list", "npm exec -- tsc --noEmit", "node -p process.version"),
        *(". .venv/bin/activate", "bash -c 'ls'", "sh -c 'npm test'", "alias ll='ls -l'", "watch -n 1 ls"),
        "export NODE_OPTIONS=--max-old-space-size=4096 && npm run build",
    }
)
"""Commands that are asked about although few people would want to see them."""


def test_ordinary_work_is_not_asked_about_too_often() -> None:
    answers = dict(ORDINARY["commands"])
    assert len(answers) > 400
    asked = [command for command, answer in answers.items() if answer == "ask"]
    assert set(asked) >= UNWANTED
    unwanted = len(UNWANTED) / (len(answers) - len(asked) - list(answers.values()).count("deny") + len(UNWANTED))
    assert unwanted < 0.08
    told = " ".join((Path(__file__).parents[2] / "docs" / "permissions.md").read_text().split())
    share = f"{len(asked) / len(answers):.0%}".replace("%", " %")
    run = list(answers.values()).count("allow")
    assert f"Of {len(answers)} commands" in told
    assert f"{run} run, {len(asked)} are asked about ({share})" in told
    assert f"{len(UNWANTED)} of the {run + len(UNWANTED)} others ({unwanted:.0%}".replace("%", " %") in told
    unasked = [decide(bash(command), rules=RuleSet(), mode="default", place=WORKING).behavior for command in answers]
    assert f"Without any rule {unasked.count('allow')} of the {len(answers)} run unasked" in told
    assert f"Of {len(EVERYDAY['commands'])} everyday commands" in told
