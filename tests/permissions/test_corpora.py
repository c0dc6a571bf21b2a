"""Two collections of commands with the decision each must get: known attacks, and the ordinary work of projects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support_permissions import KNOWN_FILES, PLACE, bash
from toolwright.permissions import Place, RuleSet, decide
from toolwright.types import OptionsError, PermissionMode

DATA = Path(__file__).parent / "data"
ATTACKS = json.loads((DATA / "shell_attacks.json").read_text())
ORDINARY = json.loads((DATA / "ordinary_commands.json").read_text())
ORDINARY_RULES = RuleSet.parse(**ORDINARY["rules"])
MODES: tuple[PermissionMode, ...] = ("acceptEdits", "plan", "dontAsk", "auto")
EDITS_OF_ONE_FILE = frozenset(
    """op-and op-50 op-linecont op-ws-hide op-comment sub-herestr sub-proc-in sub-btick sub-param-default sub-ansi quote-split
    bslash-split command timew bang subshell group if for case w-stdbuf w-nohup tee csplit redir-both redir-clobber redir-rw
    cd-write uni-homoglyph""".split()  # noqa: SIM905 — a word list
)
"""These only touch a file inside the working folder, which is what acceptEdits is for."""
WORKING = Place(PLACE.cwd, PLACE.roots, PLACE.home, KNOWN_FILES)


def rules_of(text: str) -> RuleSet:
    """A rule that is refused allows nothing."""
    try:
        return RuleSet.parse(allow=[text])
    except OptionsError:
        return RuleSet()


@pytest.mark.parametrize("form", ["Bash({})", "Bash({}:*)", "Bash({} *)"])
@pytest.mark.parametrize("case", ATTACKS, ids=lambda case: case["id"])
def test_a_rule_for_a_command_allows_that_command_and_none_of_the_tricks_with_it(case: dict[str, str], form: str) -> None:
    decision = decide(bash(case["command"]), rules=rules_of(form.format(case["rule"])), mode="default", place=WORKING)
    assert (decision.behavior == "allow") == (case["expect"] == "allow"), decision.reason


@pytest.mark.parametrize("case", [case for case in ATTACKS if case["expect"] != "allow"], ids=lambda case: case["id"])
@pytest.mark.parametrize("mode", MODES)
def test_no_trick_runs_unasked_in_any_mode_but_bypass(case: dict[str, str], mode: PermissionMode) -> None:
    decision = decide(bash(case["command"]), rules=rules_of(f"Bash({case['rule']}:*)"), mode=mode, place=WORKING)
    only_edits = mode == "acceptEdits" and case["id"] in EDITS_OF_ONE_FILE
    assert (decision.behavior == "allow") == only_edits, decision.reason


@pytest.mark.parametrize(("command", "expected"), ORDINARY["commands"])
def test_ordinary_work_gets_the_decision_a_person_would_expect(command: str, expected: str) -> None:
    decision = decide(bash(command), rules=ORDINARY_RULES, mode="default", place=WORKING)
    assert decision.behavior == expected, decision.reason


def test_ordinary_work_is_not_asked_about_too_often() -> None:
    answers = [expected for _, expected in ORDINARY["commands"]]
    assert len(answers) > 400
    asked = answers.count("ask")
    assert asked / len(answers) < 0.25
    told = (Path(__file__).parents[2] / "docs" / "permissions.md").read_text()
    assert f"Of {len(answers)} commands" in told
    assert f"{answers.count('allow')} run, {asked} are asked about ({asked / len(answers):.0%}".replace("%", " %") in told
    unasked = [
        decide(bash(command), rules=RuleSet(), mode="default", place=WORKING).behavior for command, _ in ORDINARY["commands"]
    ]
    assert f"without any rule {unasked.count('allow')} of the {len(answers)} run unasked" in told
