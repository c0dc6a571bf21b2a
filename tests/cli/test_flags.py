"""The argument list and how it is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.cli.flags import FLAGS, UsageError, parse, split_rules

WITH_TEXT = [flag.name for flag in FLAGS if flag.kind == "text" and not flag.choices]


def test_both_spellings_name_the_same_flag() -> None:
    assert parse(["--allowedTools", "Read"]) == parse(["--allowed-tools", "Read"])
    assert parse(["--maxTurns=3"]).values == {"max-turns": 3}


@given(st.sampled_from(WITH_TEXT), st.text())
def test_any_text_is_taken_as_a_value_in_both_forms(name: str, value: str) -> None:
    assert parse([f"--{name}", value]).values == {name: value}
    assert parse([f"--{name}={value}"]).values == {name: value}


def test_a_value_that_looks_like_a_flag_stays_a_value() -> None:
    line = parse(["--system-prompt", "--dangerously-skip-permissions", "--model", "-x"])
    assert line.values == {"system-prompt": "--dangerously-skip-permissions", "model": "-x"}


def test_text_that_begins_with_a_dash_is_a_prompt() -> None:
    assert parse(["-p", "- first item"]).words == ("- first item",)
    assert parse(["-p", "--- a title"]).words == ("--- a title",)


def test_everything_behind_two_dashes_is_the_prompt() -> None:
    assert parse(["--print", "--", "--model", "-v"]).words == ("--model", "-v")


def test_the_last_one_counts_and_folders_collect() -> None:
    line = parse(["--model", "a", "--model", "b", "--add-dir", "x", "--add-dir", "y"])
    assert line.values == {"model": "b", "add-dir": ["x", "y"]}


def test_short_flags_may_stand_together() -> None:
    assert parse(["-pc", "go on"]).values == {"print": True, "continue": True}
    assert parse(["-r", "id"]).values == parse(["-rid"]).values == parse(["-r=id"]).values == {"resume": "id"}


def test_a_switch_can_be_written_as_true_or_false() -> None:
    assert parse(["--verbose=true", "--continue=false"]).values == {"verbose": True, "continue": False}
    with pytest.raises(UsageError, match="takes no value"):
        parse(["--continue=yesterday"])


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("", []),
        ("Read,Edit", ["Read", "Edit"]),
        ("Read Edit,  Write", ["Read", "Edit", "Write"]),
        ("Bash(git log:*),Read", ["Bash(git log:*)", "Read"]),
        ("Bash(echo a, b) Bash(f(x, y))", ["Bash(echo a, b)", "Bash(f(x, y))"]),
        ("Read)(x", ["Read)(x"]),
    ],
)
def test_rules_are_split_outside_parentheses(text: str, rules: list[str]) -> None:
    assert split_rules(text) == rules


def test_rules_may_be_given_as_several_words_and_leave_the_prompt_alone() -> None:
    line = parse(["--allowed-tools", "Bash(git diff:*)", "Read", "mcp__calc__add", "Fix the test", "now"])
    assert line.values == {"allowed-tools": ["Bash(git diff:*)", "Read", "mcp__calc__add"]}
    assert line.words == ("Fix the test", "now")


def test_no_tools_is_an_empty_list() -> None:
    assert parse(["--tools", ""]).values == parse(["--tools="]).values == {"tools": []}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--modle", "x"], r"unknown flag --modle \(did you mean --model\?\)"),
        (["--alowedTools", "x"], r"did you mean --allowed-tools\?"),
        (["--qqqqqq"], "--help lists the flags"),
        (["-x"], "unknown flag -x; .* write -- before"),
        (["--model"], "--model needs a value"),
        (["--max-turns", "many"], "--max-turns must be a whole number; got 'many'"),
        (["--max-budget-usd", "lots"], "--max-budget-usd must be a number; got 'lots'"),
        (["--output-format", "xml"], "--output-format must be one of text, json, stream-json; got 'xml'"),
        (["--permission-mode", "yolo"], "must be one of default, acceptEdits"),
        (["--json-schema", "{"], "--json-schema is not valid JSON"),
        (["--json-schema", "[1]"], "--json-schema must be a JSON object"),
    ],
)
def test_a_wrong_command_line_says_what_would_be_right(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(arguments)


def test_every_flag_that_an_sdk_sends_is_known() -> None:
    sent = """--output-format --verbose --system-prompt --tools --allowedTools --max-turns --max-budget-usd
        --disallowedTools --task-budget --model --fallback-model --betas --permission-prompt-tool --permission-mode
        --continue --resume --session-id --settings --add-dir --mcp-config --include-partial-messages
        --include-hook-events --strict-mcp-config --fork-session --resume-session-at --resume-drops-turn
        --session-mirror --setting-sources --plugin-dir --thinking --max-thinking-tokens --thinking-display --effort
        --json-schema --input-format --append-system-prompt --system-prompt-file --print --agents
        --append-system-prompt-file --rewind-files --replay-user-messages --debug-to-stderr"""
    names = {flag.name for flag in FLAGS}
    spelled = {"".join(f"-{c.lower()}" if c.isupper() else c for c in word[2:]) for word in sent.split()}
    assert spelled <= names
