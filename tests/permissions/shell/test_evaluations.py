"""Commands of the shell that evaluate their words: held against bash, and no more of them than must be."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from toolwright.permissions.shell.command_walker import read_line
from toolwright.permissions.shell.evaluations import NUMBERS

INDEX = "'a[$(touch CANARY)]'"
EVALUATING = [
    *(
        f"printf -v {INDEX} x",
        f"[ -v {INDEX} ]",
        f"test -v {INDEX}",
        f"test ! -v {INDEX}",
        f"unset {INDEX}; a=(1); unset {INDEX}",
    ),
    *(
        f"read {INDEX} <<< x",
        f"read -r {INDEX} <<< x",
        f"declare {INDEX}=1",
        f"declare -i x={INDEX}",
        f"declare -i x; x={INDEX}",
    ),
    *(f"declare -n x={INDEX}; echo $x", f"export -n x; typeset -i x={INDEX}", f"f() {{ local -i x={INDEX}; }}; f"),
    *(
        f"getopts a {INDEX} -a",
        f"x=-v; y={INDEX}; printf $x $y 1",
        f"x=-v; y={INDEX}; [ $x $y ]",
        f'x=-v; y={INDEX}; [ "$x" "$y" ]',
    ),
    *(
        f"x={INDEX}; unset $x; a=(1); unset $x",
        f'x={INDEX}; read "$x" <<< a',
        f"printf -v{INDEX} x",
        f"read RANDOM <<< {INDEX}",
    ),
    *(
        f"RANDOM={INDEX}",
        f"OPTIND={INDEX}",
        f"for RANDOM in {INDEX}; do :; done",
        f"printf -v RANDOM %s {INDEX}",
        f"mapfile {INDEX} < x",
    ),
    *(
        f"x='-v {INDEX[1:-1].replace(' ', '${IFS}')}'; [ $x ]",
        "sleep 0 & jobs -x touch CANARY",
        "PS4='$(touch CANARY)'; set -x; :",
    ),
]
PLAIN = [
    *(
        "printf '%s [%s]\\n' a b",
        'printf "%s" "$x"',
        "printf -v x a",
        '[ -n "$x" ]',
        '[ "$x" = a ]',
        "[ -f a[1] ]",
        "test -v x",
        "[ -v x ]",
    ),
    *(
        "read x",
        "read -r x y",
        "unset x",
        "export x",
        'export x=1 y="$z"',
        "declare -r x=1",
        "declare -a x",
        "local x=$y",
        "readonly x",
    ),
    *(
        "set -e",
        "set -euo pipefail",
        "set -x",
        "set -- -k $x",
        "set a b",
        "set +o xtrace",
        "jobs",
        "jobs -l",
        "wait",
        "wait -n",
    ),
]
CHANGING = ["set -k", "set -o posix", "set +B", "set -eo keyword", "set $x", "set -o $x", 'set "$x"', "set -o braceexpand"]


@pytest.mark.parametrize("command", EVALUATING)
def test_whatever_evaluates_its_words_cannot_be_seen_through(command: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("a\n")
    subprocess.run(
        ["/bin/bash", "--norc", "-c", command], cwd=tmp_path, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    line = read_line(command)
    made = (tmp_path / "CANARY").exists()
    assert line.opaque or not made or any(part.name == "touch" for part in line.parts), command


def test_most_of_these_do_something(tmp_path: Path) -> None:
    made = 0
    for number, command in enumerate(EVALUATING):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "x").write_text("a\n")
        subprocess.run(
            ["/bin/bash", "--norc", "-c", command], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, check=False
        )
        made += (folder / "CANARY").exists()
    assert made > len(EVALUATING) * 0.7


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("[ $x -gt 3 ]", "[ evaluates what variables hold"),
        ('[ "$x" "$y" ]', "[ evaluates what variables hold"),
        ('printf "$x"', "printf evaluates what variables hold"),
        ('read "$x"', "read evaluates what variables hold"),
        ("[ \"$x\" 'a[$(rm b)]' ]", "[ may run what stands in its words"),
        ("read $x 'a[$(rm b)]'", "read may run what stands in its words"),
        ("unset 'a[`rm b`]'", "unset may run what stands in its words"),
        ("declare -i x=1", "declare may run what stands in its words"),
        ("jobs -x rm b", "jobs may run what stands in its words"),
    ],
)
def test_what_hides_in_the_words_is_told_from_what_variables_hold(command: str, reason: str) -> None:
    assert read_line(command).opaque == (reason,)


@pytest.mark.parametrize("command", CHANGING)
def test_options_that_change_how_later_words_are_read_are_said(command: str) -> None:
    assert read_line(command).opaque == ("set changes what later words mean",)


@pytest.mark.parametrize("command", PLAIN)
def test_ordinary_uses_of_the_same_commands_are_understood(command: str) -> None:
    assert read_line(command).opaque == ()


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_no_value_of_such_a_variable_is_taken_for_text(name: str) -> None:
    for command in ("{}=a", "{}=a ls", "export {}=a", "for {} in a; do ls; done", "read {}", "printf -v {} a"):
        assert read_line(command.format(name)).opaque, command
