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
from toolwright.permissions import Place, RuleSet, decide

WORKING = Place(PLACE.cwd, PLACE.roots, PLACE.home, KNOWN_FILES)
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
