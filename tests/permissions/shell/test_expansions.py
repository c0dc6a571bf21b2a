"""What words expand: files that redirections open, held against bash itself, and what cannot be judged beforehand."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support_permissions import bash, judge
from toolwright.permissions import read_command

QUOTES = "quotes inside ${…} inside quotes are read in more than one way"
DOCUMENT = "where the here-document ends is read in more than one way"
BACKQUOTES = "where the backquotes end is read in more than one way"
REDIRECTIONS = [
    *(f"{operator} a" for operator in (">", ">>", ">|", "&>", "&>>", "<>", ">&", "2>", "{x}>")),
    *(
        "> '>' > b",
        ">&1",
        "2>&1",
        ">&'1'",
        ">& 2",
        ">&-",
        ">&1-",
        ">&1--",
        ">&'-'",
        ">&'-a'",
        ">&1x",
        ">&x1",
        ">&+1",
        "<&0",
        "<&-",
        "<&0-",
    ),
    *("<<<a", "<<E\na\nE\n", "<<E > a\nb\nE\n", "<<-E >> a <<<b\nc\nE\n", "> {a}", "> a >&2 > b"),
]


@pytest.mark.parametrize("redirections", REDIRECTIONS)
def test_files_that_a_redirection_makes_are_seen(redirections: str, tmp_path: Path) -> None:
    command = f": {redirections}"
    done = subprocess.run(["/bin/bash", "--norc", "-c", command], cwd=tmp_path, capture_output=True, check=False)
    seen = {redirection.target.text for part in read_command(command).parts for redirection in part.redirections}
    made = {path.name for path in tmp_path.iterdir()}
    assert seen == made if done.returncode == 0 else seen > made


@pytest.mark.parametrize("target", ["$X", '"$X"', "{a,}", '{"a",}', "*", "~/a", ">(tee a)"])
def test_a_target_that_is_not_known_is_not_taken_for_nothing(target: str) -> None:
    assert judge(bash(f"ls > {target}"), allow=["Bash(ls:*)"]).behavior == "ask"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("[[ a == @($(rm x)) ]]", "ExtGlob is not understood"),
        ("echo ${!x}", "${!name} evaluates what a variable holds"),
        ("echo ${!x*}", "${!name} evaluates what a variable holds"),
        ("echo ${x:=1}", "${name:=…} changes or evaluates a variable"),
        ("echo ${x@P}", "${name@…} changes or evaluates a variable"),
        ("echo $((x))", "arithmetic evaluates what variables hold"),
        ("echo $((1 + x))", "arithmetic evaluates what variables hold"),
        ("echo ${x[y]}", "arithmetic evaluates what variables hold"),
        ("echo ${x:y}", "arithmetic evaluates what variables hold"),
        ("echo ${x:1:y}", "arithmetic evaluates what variables hold"),
        ("cat <&-/etc/passwd", "bash reads what follows <&- as a word of its own"),
        ("cat <&-{/etc/passwd,b}", "bash reads what follows <&- as a word of its own"),
        ("ls <&-''", "bash reads what follows <&- as a word of its own"),
        ("ls 2>&-'/etc'", "bash reads what follows >&- as a word of its own"),
        ("echo \"${x:-'a'}\"", QUOTES),
        ('echo "${x:-"a"}"', QUOTES),
        ("echo \"${x+$'a'}\"", QUOTES),
        ('echo "${x%$"a"}"', QUOTES),
        ('echo "${x:-`ls`}"', QUOTES),
        ('echo "${x#\\}}"', QUOTES),
        ("echo \"${x/'a'/b}\"", QUOTES),
        ("echo \"${x:-${y:-'a'}}\"", QUOTES),
        ("echo \"${x:-a$((1))${y:-'a'}}\"", QUOTES),
        ("cat <<E\n${x:-'a'}\nE", QUOTES),
        ("echo \"$(echo ${x:-'a'})\"", QUOTES),
        ("echo ${x:-$'a'}", QUOTES),
        ('echo $(echo ${x:-$"a"})', QUOTES),
        ('cat <<E\n${x:-"a"}\nE', QUOTES),
        ("cat <<\\E\na\nE", DOCUMENT),
        ("cat <<$'E'\na\nE", DOCUMENT),
        ('cat <<$"E"\na\nE', DOCUMENT),
        ("cat <<'E'N\na\nEN", DOCUMENT),
        ("cat <<'E N'\na\nE N", DOCUMENT),
        ("cat <<E\\\nN\na\nEN", DOCUMENT),
        ("cat <<''\na\n\n", DOCUMENT),
        ("cat <<EOF\nE\\\nOF\nEOF", DOCUMENT),
        ("cat <<-EOF\n\t\\\n\tEOF\nEOF", DOCUMENT),
        ("cat <<E\n\\\nE\nE", DOCUMENT),
        ("echo `echo \\`ls\\``", BACKQUOTES),
        ("echo `ls # a`", BACKQUOTES),
        ("echo `cat <<E\na\nE\n`", BACKQUOTES),
        ('echo "`ls "a"`"', BACKQUOTES),
        ("echo ${x:-<(ls)}", "'<(ls)' is read in more than one way"),
        ("echo ${x/a/>(ls)}", "'>(ls)' is read in more than one way"),
        ("echo a >&'x'", "bash expands what follows >& twice"),
        ('echo a >&"$x"', "bash expands what follows >& twice"),
        ("echo a <&\\1", "bash expands what follows <& twice"),
        ("RANDOM=1; ls", "bash may run what RANDOM is set to"),
        ("RANDOM=1 ls", "bash may run what RANDOM is set to"),
        ("export PS4=a", "bash may run what PS4 is set to"),
        ("for SECONDS in a; do ls; done", "bash may run what SECONDS is set to"),
        ("PATH=x; ls", "setting PATH may change what later commands do"),
    ],
)
def test_what_cannot_be_judged_beforehand_is_said(command: str, why: str) -> None:
    line = read_command(command)
    assert why in (*line.opaque, *line.doubts)
    assert judge(bash(command), allow=["Bash(echo:*)", "Bash(ls:*)"]).behavior == "ask"


def test_no_word_hides_behind_a_closed_stream() -> None:
    assert judge(bash("git 2>&-push"), "bypassPermissions", deny=["Bash(git push:*)"]).behavior == "ask"


@pytest.mark.parametrize(
    "word",
    [
        "${x[@]}",
        "${x[*]}",
        "${x[1]}",
        "${x:1:2}",
        "${x%y}",
        "${x/y/z}",
        "$((1 + 2))",
        "$(( (1) ))",
        "${x:-y}",
        "${#x}",
        "2>&-",
        "2>&1-",
        ">&2",
        "3>&1",
        '"${x:-default}"',
        '"${x%.py}"',
        '"${x##*/}" "${x:+a b}"',
        '"${x:-$(date "+%s")}"',
        "${x:-'a b'}",
        "$(echo ${x:-'a b'})",
        '"$(basename "${x:-a}")" "${y%.*}"',
        '${x:-"$y"}',
        "`date '+%s'`",
        '"`date`"',
        "<<E\na 'b' \"c\" $x ${y:-z} \\\nb\nE",
        "<<'E'\n${x:-'a'} `\nE",
        '<<"EOF"\na\nEOF',
        "<<-EOF\n\ta\n\tEOF",
        "<<END_OF-1.txt\na\nEND_OF-1.txt",
    ],
)
def test_expansions_that_run_nothing_are_understood(word: str) -> None:
    line = read_command(f"echo {word}")
    assert (line.unparsed, line.doubts, line.opaque) == (None, (), ())
