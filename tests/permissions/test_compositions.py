"""Commands hidden in other commands, at random: a deny rule finds them all, no other rule and no kindness lets one through."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from support_permissions import KNOWN_FILES, PLACE, bash
from toolwright.permissions import RuleSet, SessionFolders, decide, read_command

WORKING = SessionFolders(PLACE.cwd, PLACE.roots, PLACE.home, KNOWN_FILES)
JUDGED = json.loads((Path(__file__).parent / "data" / "judged_commands.json").read_text())
PAYLOADS = ["touch CANARY", "/usr/bin/touch CANARY", "t'o'uch CANARY", "\\touch CANARY", "A=1 touch CANARY", "$'touch' CANARY"]
AROUND = [
    *("ls; {}", "ls && {}", "ls || {}", "ls | {}", "{} | ls", "ls & {}", "ls\n{}", "echo $({})", "echo \"a$({})b\""),
    *("({})", "{{ {}; }}", "if true; then {}; fi", "if {}; then ls; fi", "while {}; do ls; done"),
    *("for i in 1; do {}; done", "case a in a) {};; esac", "cat <({})", "ls > >({})", "cat <<< \"$({})\""),
    *("cat <<E\n$({})\nE", "x=$({})", "export x=$({})", "a=(1 $({}))", "echo ${{x:-$({})}}", "[[ -n $({}) ]]"),
    *("f() {{ {}; }}; f", "time {}", "coproc {}", "echo $(( $({}) ))", "ls $({})", "{} > /dev/null", "true; {} &"),
    *("bash -c {q}", "eval {q}", "trap {q} EXIT", "sh -ec {q}", "sudo bash -c {q}", "nohup bash -c {q}"),
    *("timeout 5 sh -c {q}", "env -i bash -c {q}"),
]  # fmt: skip


@st.composite
def hidden(draw: st.DrawFn) -> str:
    command = draw(st.sampled_from(PAYLOADS))
    for template in draw(st.lists(st.sampled_from(AROUND), min_size=1, max_size=3)):
        command = template.format(command, q=shlex.quote(command))
    assume("((" not in command.replace("$(( $(", ""))  # two brackets in a row are arithmetic: nothing is run
    return command


@settings(max_examples=120, deadline=None)
@given(hidden())
@example("coproc A=1 touch CANARY")
@example("coproc touch CANARY | ls")
def test_a_deny_rule_finds_a_command_wherever_it_is_hidden(command: str) -> None:
    rules = RuleSet.parse(allow=["Bash"], deny=["Bash(touch:*)"])
    line = bash(command).line
    decision = decide(bash(command), rules=rules, mode="bypassPermissions", place=WORKING)
    assert line is not None
    understood = line.unparsed is None and not any("cannot be read" in doubt for doubt in line.opaque)
    assert decision.behavior == "deny" if understood else decision.behavior in ("ask", "deny")


@settings(max_examples=80, deadline=None)
@given(hidden())
def test_no_rule_about_the_rest_lets_a_hidden_command_run(command: str) -> None:
    rules = RuleSet.parse(allow=["Bash(ls:*)", "Bash(echo *)", "Bash(cat:*)", "Bash(true)", "Bash(e*)", "Bash(timeout 5 s:*)"])
    assert decide(bash(command), rules=rules, mode="default", place=WORKING).behavior != "allow"


@pytest.mark.parametrize("command", [command for command in JUDGED["looks"] if "/work" not in command])
def test_what_runs_unasked_leaves_no_trace(command: str, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for name in ("a", "b", "a.json"):
        (tmp_path / name).write_text("{}\n")
    before = sorted((path, path.read_bytes() if path.is_file() else b"") for path in tmp_path.rglob("*"))
    subprocess.run(
        ["bash", "--norc", "-c", command], cwd=tmp_path, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False
    )
    assert sorted((path, path.read_bytes() if path.is_file() else b"") for path in tmp_path.rglob("*")) == before


PLACES = [
    *(
        "echo @@",
        'echo "@@"',
        'echo a"@@"b',
        "echo $'a'@@",
        'echo "${x:-"@@"}"',
        "echo ${x:-${y:-@@}}",
        "echo {a,@@}",
        "echo @@{a,b}",
    ),
    *("echo ${x:-@@}", "echo ${x:+@@}", "echo ${x:?@@}", "echo ${x#@@}", "echo ${x##@@}", "echo ${x%@@}", "echo ${x%%a@@}"),
    *("echo ${x/@@/y}", "echo ${x/y/@@}", "echo ${x//@@}", "echo ${x^@@}", "echo ${x:@@}", "echo ${x:1:@@}", "echo ${x:@@:1}"),
    *("echo ${a[@@]}", "echo ${a[1]:-@@}", "echo ${a[@]:-@@}", "echo ${#a[@@]}", "echo ${a[@]/x/@@}"),
    *("echo $((@@))", "echo $((1+@@))", "echo $((@@+1))", "echo $((1 ? @@ : 2))", "echo $((1 ? 2 : @@))", "echo $((-@@))"),
    *("echo $(((@@)))", "((1, @@))", "((x = @@))", "let x=@@", "for ((@@; 1; 1)); do :; done", "for ((1; @@; 1)); do :; done"),
    *(
        "for ((1; 1; @@)); do :; done",
        "a[@@]=1",
        "a[1]=@@",
        "a=(1 @@)",
        "a=([@@]=1)",
        "a=([1]=@@)",
        "x=@@",
        "x+=@@",
        "x=@@ true",
    ),
    *("declare -a a=(@@)", "declare x=@@", "export X=@@", "readonly X=@@", "local x=@@", "[[ @@ == x ]]", "[[ x == @@ ]]"),
    *("[[ x =~ @@ ]]", "[[ -n @@ ]]", "[[ ! @@ ]]", "[[ a && (b || @@) ]]", "[ -n @@ ]", "case @@ in x) ;; esac"),
    *("case x in @@) ;; esac", "case x in a|@@) ;; esac", "case x in x) echo @@;; esac", "for i in a @@; do :; done"),
    *("for i in a; do echo @@; done", "select i in @@; do break; done", "while @@; do :; done", "until echo @@; do :; done"),
    *("if @@; then :; fi", "if :; then @@; fi", "if :; then :; elif @@; then :; fi", "if :; then :; else @@; fi"),
    *("f() { @@; }; f", "f() ( echo @@ )", "coproc @@", "time @@", "! @@", "{ @@; }", "(@@)", ": & @@", ": | @@", ": |& @@"),
    *("echo > @@", "echo >> @@", "echo 2> @@", "echo &> @@", "cat < @@", "cat <<< @@", "cat <<< a@@b", "cat <<E\n@@\nE"),
    *(
        "cat <<E\na ${x:-@@}\nE",
        "{ :; } > @@",
        "(:) < @@",
        "if :; then :; fi > @@",
        "while :; do :; done < @@",
        "f() { :; } > @@",
    ),
    *("cat <(echo @@)", "cat >(echo @@)", "echo a >(echo @@)", "@@ x", "a@@", "echo a; echo @@", "echo a && echo b || echo @@"),
    *(
        "bash -c 'echo @@'",
        'eval "echo @@"',
        "trap 'echo @@' EXIT",
        "timeout 5 echo @@",
        "xargs echo @@",
        "find . -exec echo @@ ';'",
    ),
]
"""Every corner of the grammar that can hold a command: `@@` is where it stands."""


@pytest.mark.parametrize("inner", ["$(rm x)", "`rm x`"])
@pytest.mark.parametrize("place", PLACES)
def test_a_command_is_seen_in_every_corner_of_the_grammar(place: str, inner: str) -> None:
    call = bash(place.replace("@@", inner))
    rules = RuleSet.parse(allow=["Bash"], deny=["Bash(rm:*)"])
    decision = decide(call, rules=rules, mode="bypassPermissions", place=PLACE)
    assert call.line is not None
    assert decision.behavior == "deny" or (call.line.unparsed and decision.behavior != "allow"), decision.reason


def test_nearly_all_of_these_are_bash() -> None:
    assert sum(read_command(place.replace("@@", "$(rm x)")).unparsed is None for place in PLACES) > len(PLACES) - 6
