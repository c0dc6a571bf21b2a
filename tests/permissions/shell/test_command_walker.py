"""From a tree to simple commands: what the grammar may hold that the reader does not know, and its limits."""

from __future__ import annotations

from typing import Any

import pytest

from support_permissions import PLACE, bash, judge, strictly
from toolwright.permissions import PermissionCall, read_command
from toolwright.permissions.shell.command_walker import MAX_NESTED_TEXTS, read_line

LS = {"Cmd": {"Type": "CallExpr", "Args": [{"Parts": [{"Type": "Lit", "Value": "ls"}]}]}}


def deep(depth: int) -> dict[str, Any]:
    statement: dict[str, Any] = LS
    for _ in range(depth):
        statement = {"Cmd": {"Type": "Subshell", "Stmts": [statement]}}
    return {"Stmts": [statement]}


@pytest.mark.parametrize(
    "tree",
    [
        {"Stmts": [{"Cmd": {"Type": "NewClause"}}]},
        {"Stmts": [{"Cmd": {"Type": "BinaryCmd", "Op": "|?", "X": LS, "Y": LS}}]},
        {"Stmts": [{"Cmd": {"Type": "CallExpr", "Args": [{"Parts": [{"Type": "SglQuoted"}, {"Kind": "Lit"}]}]}}]},
        {"Stmts": [{"Cmd": {"Type": "CallExpr", "Args": [{"Parts": [{"Type": "Lit", "Value": 1}]}]}}]},
        {"Stmts": [{"Redirs": [{"Op": ">", "Word": None}]}]},
        deep(100_000),
    ],
)
def test_a_tree_that_is_not_understood_runs_nothing_unasked(tree: dict[str, Any]) -> None:
    line = read_line("ls", lambda _: tree)
    assert line.text == "ls"
    assert judge(PermissionCall("Bash", command="ls", line=line), allow=["Bash(ls:*)"]).behavior == "ask"


@pytest.mark.parametrize("command", ["cat <<E\n\\\n$(ls)\nE", 'echo "\\\n$(ls)"', "echo \\\n$(ls)", 'echo "\\\n"'])
def test_pieces_that_are_nothing_but_the_end_of_a_line_are_read(command: str) -> None:
    line = read_line(command)
    assert (line.unparsed, line.opaque) == (None, ()) or "here-document" in line.opaque[0]


def test_a_tree_that_is_understood_runs_what_it_says() -> None:
    line = read_line("ls", lambda _: deep(3))
    assert judge(PermissionCall("Bash", command="ls", line=line), place=PLACE).behavior == "allow"


def test_texts_for_other_shells_are_read_up_to_a_number() -> None:
    texts = ["eval ls"] * MAX_NESTED_TEXTS
    assert not read_command("; ".join(texts)).opaque
    assert read_command("; ".join([*texts, "eval ls"])).opaque


def test_what_stands_behind_a_text_is_still_found_in_the_line() -> None:
    assert [part.source for part in read_command("npm 'a b'; eval 'rm \"x\"'; npm 'é c'").parts] == [
        "npm 'a b'",
        "eval 'rm \"x\"'",
        'rm "x"',
        "npm 'é c'",
    ]


@pytest.mark.parametrize("operator", ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"])
def test_tests_of_numbers_evaluate_what_they_are_given(operator: str) -> None:
    assert judge(bash(f"[[ a {operator} b ]]")).behavior == "ask"


@pytest.mark.parametrize("test", ["-v a", "-R a"])
def test_tests_of_variables_evaluate_their_names(test: str) -> None:
    assert judge(bash(f"[[ {test} ]]")).behavior == "ask"


@pytest.mark.parametrize("test", ["-r a", "-n a", "a", "a == b", "a < b", "! -e a"])
def test_other_tests_only_look(test: str) -> None:
    assert judge(bash(f"[[ {test} ]]")).behavior == "allow"


@pytest.mark.parametrize(
    "fed", ["{} < x", "{} << E\nE", "{} <<< x", "cat x | {}", "cat x |& {}", "{{ {}; }} < x", "cat x | ({})"]
)
@pytest.mark.parametrize(("rule", "expected"), [("python3 a.py:*", "ask"), ("python3:*", "allow")])
def test_what_is_fed_to_an_interpreter_needs_a_rule_for_it(fed: str, rule: str, expected: str) -> None:
    assert judge(bash(fed.format("python3")), allow=[f"Bash({rule})", "Read(x)"]).behavior == expected
    assert judge(bash(f"{fed.format('ls')}\npython3 a.py"), allow=["Bash(python3:*)"]).behavior == "allow"


@pytest.mark.parametrize("command", ["> x", "{ npm x; } > x", "(npm x) 2> x", "if npm x; then npm y; fi > x", "npm x <> x"])
def test_every_file_that_is_opened_for_writing_is_an_edit(command: str) -> None:
    assert judge(bash(command), allow=["Bash(npm:*)"]).behavior == "ask"
    assert judge(bash(command), allow=["Bash(npm:*)", "Edit(x)"]).behavior == "allow"
    assert judge(bash(f"cd .git && {command.replace('x', 'config')}"), allow=["Bash", "Edit"]).behavior == "ask"


@pytest.mark.parametrize("before", ["sh a.sh", "sh a.sh x", "{ sh a.sh; }", "sh a.sh | cat"])
def test_what_stands_behind_a_shell_needs_its_own_leave(before: str) -> None:
    assert judge(bash(before), allow=["Bash(sh a.sh:*)"]).behavior == "allow"
    assert judge(bash(f"{before}; npm x"), allow=["Bash(sh a.sh:*)"]).behavior == "ask"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("declare x=1; ls", "allow"),
        ("export x=a", "allow"),
        ("export PATH=a", "ask"),
        ("declare 'ls'", "ask"),
        ("declare -p x", "ask"),
        ('declare "$X"', "ask"),
    ],
)
def test_declarations_only_set_harmless_variables(command: str, expected: str) -> None:
    assert strictly(command) == expected


def test_a_harmless_wrapper_inside_another_is_taken_off() -> None:
    assert judge(bash("env timeout 5 rm x"), "bypassPermissions", deny=["Bash(rm:*)"]).behavior == "deny"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("f() { ls; }", "it defines the function f"),
        ("while cd a; do ls; done", "a loop changes the working folder"),
        ("coproc ls", "what coproc runs cannot be read"),
        ("[[ a -eq b ]]", "[[ … -eq … ]] evaluates what variables hold"),
        ("a$X b", "the program 'a…' is only known when it runs"),
        ("alias a=b", "alias changes what later words mean"),
        ('bash -c "$X"', "bash runs something that cannot be seen"),
        ("eval 'a'$'\\U110000'", "eval runs something that cannot be seen"),
        ("eval 'echo $('", "a text in it cannot be read: it is not valid bash"),
        pytest.param(
            "eval a;" * (MAX_NESTED_TEXTS + 1), "a text in it cannot be read: there are too many texts in it", id="many texts"
        ),
    ],
)
def test_why_a_line_cannot_be_judged_is_said(command: str, reason: str) -> None:
    line = read_command(command)
    assert [said for said in (*line.doubts, *line.opaque) if said.startswith(reason)]
