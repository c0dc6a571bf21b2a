"""explain(): the decision again, with every rule and every command it was made of."""

from __future__ import annotations

from typing import Any, Unpack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_permissions import KNOWN_FILES, PLACE, RuleTexts, bash, judge, read
from toolwright.permissions import PermissionCall, RuleSet, SessionFolders, explain, parse_rule
from toolwright.permissions.shell.policy import NO_CAGE
from toolwright.types import PermissionMode


def told(call: PermissionCall, mode: PermissionMode = "default", **rules: Unpack[RuleTexts]) -> dict[str, Any]:
    return explain(call, rules=RuleSet.parse(**rules), mode=mode, place=PLACE).to_dict()


def test_the_deciding_rule_and_what_the_others_say() -> None:
    found = told(
        bash("npm test && rm x"), allow=["Bash(npm:*)", "Bash(ls)"], ask=["Bash(rm:*)"], deny=["Bash($X)", "Read(.env)"]
    )
    assert (found["decision"], found["rule"]) == ("ask", "Bash(rm:*)")
    said = {entry["rule"]: entry["said"] for entry in found["considered"]}
    assert said == {
        "Bash($X)": "differs",
        "Read(.env)": "differs",
        "Bash(rm:*)": "decides",
        "Bash(ls)": "differs",
        "Bash(npm:*)": "part",
    }


def test_the_command_as_it_is_read() -> None:
    found = told(bash("cd src && timeout 5 npm test > ../out; bash -c 'rm x'"))
    commands = {entry["command"]: entry for entry in found["commands"]}
    assert commands["cd src"]["reads"] == ["/work/app/src"]
    wrapped = commands["timeout 5 npm test"]
    assert (wrapped["wrapped_by"], wrapped["writes"], wrapped["folder"]) == ("timeout 5", ["/work/app/out"], ["/work/app/src"])
    assert commands["rm x"]["inside"]


UNCLOSED = "it is not valid bash (1:6: reached EOF without closing quote `'`)"
INDIRECT = "${!name} evaluates what a variable holds"
SETS = "setting EDITOR may change what later commands do"
HERE = {"folder": ["/work/app"]}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ls", [{"command": "ls", "does": "looks", "reads": ["/work/app"], **HERE}]),
        ("A=1 npm x", [{"command": "A=1 npm x", "does": "runs", "sets": ["A"], **HERE}]),
        ("echo a > b", [{"command": "echo a", "does": "looks", "writes": ["/work/app/b"], **HERE}]),
        ("echo 'x", [{"command": "echo 'x", "does": "unknown", "why": UNCLOSED}]),
        (
            "rm ${!x}",
            [
                {"command": "rm ${!x}", "does": "runs", **HERE, "writes": ["…"]},
                {"command": "rm ${!x}", "does": "unknown", "why": INDIRECT},
            ],
        ),
        (
            "EDITOR=1",
            [
                {"command": "EDITOR=1", "does": "looks", "sets": ["EDITOR"], **HERE},
                {"command": "EDITOR=1", "does": "unknown", "why": SETS},
            ],
        ),
        (
            "cd $X; cat a",
            [
                {"command": "cd $X", "does": "looks", "reads": ["…"], **HERE},
                {"command": "cat a", "does": "looks", "reads": ["a"], "folder": None},
            ],
        ),
    ],
)
def test_all_that_is_told_of_a_command(command: str, expected: list[dict[str, Any]]) -> None:
    assert told(bash(command))["commands"] == expected


def test_hidden_characters_are_shown() -> None:
    found = told(bash("echo \u202e\x1b[2K"))
    assert "\u202e" not in str(found)
    assert "\\u202e\\x1b" in found["commands"][0]["command"]


def test_a_rule_tells_where_it_was_written() -> None:
    rule = parse_rule("Bash(ours:*)", where="/work/app/.claude/settings.json:3")
    found = explain(bash("ours x"), rules=RuleSet([rule]), mode="default", place=PLACE).to_dict()
    where = "/work/app/.claude/settings.json:3"
    assert found["considered"] == [{"rule": "Bash(ours:*)", "behavior": "allow", "source": where, "said": "decides"}]


def test_a_rule_that_allows_everything_is_told_as_such() -> None:
    found = told(bash("npm x"), allow=["Bash(npm:*)", "Bash(npm run build)"])["considered"]
    notes = {entry["rule"]: entry.get("note", "") for entry in found}
    assert notes["Bash(npm run build)"] == ""
    assert "Bash(npm:*) allows everything" in notes["Bash(npm:*)"]


@pytest.mark.parametrize(
    ("cage", "command", "expected"),
    [
        (True, "git log | head", ("kernel", True)),
        (True, "npm x", ("kernel", False)),
        (False, "ls", ("none", False)),
        (True, "rm x", ("kernel", False)),
    ],
)
def test_whether_a_command_would_run_in_the_cage_is_told(cage: bool, command: str, expected: tuple[str, bool]) -> None:
    place = SessionFolders(PLACE.cwd, PLACE.roots, PLACE.home, KNOWN_FILES, cage=cage)
    rules = RuleSet.parse(allow=["Bash(npm:*)"])
    found = explain(bash(command), rules=rules, mode="default", place=place).to_dict()
    assert (found["cage"], found["caged"]) == expected


def test_calls_without_a_command_have_none() -> None:
    assert told(read("/work/app/a"), deny=["Read(a)"])["commands"] == []


RULES = st.sampled_from(["Bash", "Bash(npm:*)", "Bash(rm *)", "Bash(npm test)", "Read(src/**)", "Edit(x)", "Read(npm test)"])
COMMANDS = st.sampled_from(
    ["npm test", "npm x && rm y", "cat src/a > x", "ls | tee x", "npm < src/a", "echo $X", "$X test", "cd src && rm a"]
)
MODES: st.SearchStrategy[PermissionMode] = st.sampled_from(["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk"])
SOME = st.lists(RULES, max_size=3)


@settings(max_examples=60, deadline=None)
@given(command=COMMANDS, mode=MODES, allow=SOME, ask=SOME, deny=SOME)
def test_the_explained_decision_is_the_decision(
    command: str, mode: PermissionMode, allow: list[str], ask: list[str], deny: list[str]
) -> None:
    decision = judge(bash(command), mode, allow=allow, ask=ask, deny=deny)
    found = told(bash(command), mode, allow=allow, ask=ask, deny=deny)
    rule = str(decision.rule) if decision.rule else None
    assert (found["decision"], found["reason"], found["rule"]) == (decision.behavior, decision.reason, rule)


@settings(max_examples=60, deadline=None)
@given(command=COMMANDS, rule=RULES, others=SOME)
def test_what_a_rule_is_said_to_say_is_what_it_does_alone(command: str, rule: str, others: list[str]) -> None:
    call = bash(command)

    def said(behavior: str, **rules: Unpack[RuleTexts]) -> str:
        entries = told(call, "bypassPermissions", **rules)["considered"]
        return next(str(entry["said"]) for entry in entries if (entry["rule"], entry["behavior"]) == (rule, behavior))

    denied = judge(call, "bypassPermissions", deny=[rule]).behavior
    meant = {"deny": ("matches", "decides"), "ask": ("unclear", "decides"), "allow": ("differs",)}[denied]
    assert said("deny", deny=[*others, rule]) in meant
    asked = judge(call, "bypassPermissions", ask=[rule]).behavior == "ask"
    assert (said("ask", ask=[rule], deny=others) != "differs") == asked
    if judge(call, allow=[rule]).behavior == "allow" and judge(call).behavior == "ask":
        assert said("allow", allow=[rule], deny=others) != "differs"


def test_rules_that_would_allow_it_as_well_say_so() -> None:
    by_name = told(bash("npm test"), allow=["Bash", "Bash(npm test)", "Bash(npm:*)", "Read(npm test)"])
    assert sorted(entry["said"] for entry in by_name["considered"]) == ["decides", "differs", "matches", "matches"]
    by_path = told(read("/work/app/src/a"), allow=["Read(src/**)", "Edit(src/**)", "Read(lib/**)"])
    assert sorted(entry["said"] for entry in by_path["considered"]) == ["decides", "differs", "matches"]


@pytest.mark.parametrize(
    ("command", "rule", "expected"),
    [
        ("npm x > a", "Edit(a)", "part"),
        ("npm x | tee a", "Edit(a)", "part"),
        ("npm x < a", "Read(a)", "part"),
        ("npm x < a", "Edit(b)", "differs"),
        ("npm x > a", "Read(a)", "differs"),
        ("npm x a", "Edit(a)", "differs"),
        ("> a", "Edit(a)", "part"),
        ("> a", "Bash(npm:*)", "differs"),
        ("npm x; rm a", "Bash(npm:*)", "part"),
        ("npm x; npm y > a", "Bash(npm:*)", "matches"),
    ],
)
def test_a_rule_that_allows_a_piece_says_so(command: str, rule: str, expected: str) -> None:
    assert [entry["said"] for entry in told(bash(command), allow=[rule])["considered"]] == [expected]


def test_the_reason_speaks_of_the_part_that_does_most() -> None:
    place = SessionFolders(PLACE.cwd, PLACE.roots, PLACE.home, KNOWN_FILES)
    for command in ("test -f a || touch a", "x=1; touch a", "touch a; ls"):
        assert judge(bash(command), "acceptEdits", place).reason == "Mode acceptEdits allows edits inside the working folders."
    assert judge(bash("ls | sort > x"), "acceptEdits", place).reason == "It only looks, and writes where edits are allowed."
    assert judge(bash("ls"), "acceptEdits", place).reason == "It only looks, inside the working folders."
    assert judge(bash("ls > /dev/null"), "acceptEdits", place).reason == NO_CAGE
