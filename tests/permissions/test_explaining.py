"""explain(): the decision again, with every rule and every command it was made of."""

from __future__ import annotations

from typing import Any, Unpack

from hypothesis import given, settings
from hypothesis import strategies as st

from support_permissions import KNOWN_FILES, PLACE, RuleTexts, bash, judge, read
from toolwright.permissions import Call, Place, RuleSet, explain, parse_rule


def told(call: Call, **rules: Unpack[RuleTexts]) -> dict[str, Any]:
    return explain(call, rules=RuleSet.parse(**rules), mode="default", place=PLACE).to_dict()


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


def test_what_was_not_understood_is_said() -> None:
    assert "not valid bash" in told(bash("echo 'x"))["commands"][0]["why"]
    assert any("evaluates" in entry.get("why", "") for entry in told(bash("echo ${!x}"))["commands"])


def test_hidden_characters_are_shown() -> None:
    found = told(bash("echo \u202e\x1b[2K"))
    assert "\u202e" not in str(found)
    assert "\\u202e\\x1b" in found["commands"][0]["command"]


def test_a_rule_tells_where_it_was_written() -> None:
    rule = parse_rule("Bash(npm:*)", where="/work/app/.claude/settings.json:3")
    found = explain(bash("npm x"), rules=RuleSet([rule]), mode="default", place=PLACE).to_dict()
    assert found["considered"][0]["source"] == "/work/app/.claude/settings.json:3"


def test_calls_without_a_command_have_none() -> None:
    assert told(read("/work/app/a"), deny=["Read(a)"])["commands"] == []


RULES = st.sampled_from(["Bash", "Bash(npm:*)", "Bash(rm *)", "Bash(npm test)", "Read(src/**)", "Edit(x)"])
COMMANDS = st.sampled_from(["npm test", "npm x && rm y", "cat src/a > x", "ls", "echo $X", "cd src && rm a"])


@settings(max_examples=60, deadline=None)
@given(command=COMMANDS, allow=st.lists(RULES, max_size=3), ask=st.lists(RULES, max_size=2), deny=st.lists(RULES, max_size=2))
def test_the_explained_decision_is_the_decision(command: str, allow: list[str], ask: list[str], deny: list[str]) -> None:
    decision = judge(bash(command), allow=allow, ask=ask, deny=deny)
    found = told(bash(command), allow=allow, ask=ask, deny=deny)
    assert (found["decision"], found["reason"]) == (decision.behavior, decision.reason)


def test_rules_that_would_allow_it_as_well_say_so() -> None:
    by_name = told(bash("npm test"), allow=["Bash", "Bash(npm test)", "Bash(npm:*)", "Read"])
    assert sorted(entry["said"] for entry in by_name["considered"]) == ["decides", "differs", "matches", "matches"]
    by_path = told(read("/work/app/src/a"), allow=["Read(src/**)", "Edit(src/**)", "Read(lib/**)"])
    assert sorted(entry["said"] for entry in by_path["considered"]) == ["decides", "differs", "matches"]


def test_the_reason_speaks_of_the_part_that_does_most() -> None:
    place = Place(PLACE.cwd, PLACE.roots, PLACE.home, KNOWN_FILES)
    for command in ("test -f a || touch a", "x=1; touch a", "touch a; ls"):
        assert judge(bash(command), "acceptEdits", place).reason == "Mode acceptEdits allows edits inside the working folders."
    assert judge(bash("ls | sort > x"), "acceptEdits", place).reason == "It only looks, and writes where edits are allowed."
    assert judge(bash("ls > /dev/null"), "acceptEdits", place).reason == "It only looks, inside the working folders."
