"""Whatever a looking program is given: what runs unasked shows nothing that lies outside the working folder."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support_permissions import RealFiles, bash, judge
from toolwright.permissions import SessionFolders
from toolwright.permissions.shell.program_table import READERS

ENDLESS = {"yes", "sleep", "wait", "tail"}
PROGRAMS = sorted({*READERS, "find", "sed", "awk", "test", "cd"} - ENDLESS)
VARIABLES = "x='. ../outside/secret'; y=../outside/secret; z=-f../outside/secret; r=-r; e='|env'; s='$(cat ../outside/secret)'"
WORDS = [
    *("$x", '"$x"', "$y", '"$y"', "a$y", '"./$y"', "$z", '"$z"', "$r", '"$r"', "$s", '"$@"', '".$e"', "$(cat a)", "`cat b`"),
    *(
        "../outside/secret",
        "../outside",
        "..",
        "a",
        "b",
        "sub",
        "sub/../a",
        "sub/../../outside/secret",
        "{a,../outside/secret}",
    ),
    *("*", "s*", "?", "[ab]", "../*", "../out*/secret", "*/../../outside/secret", "~", "~/secret", "~+/a", ".", "''"),
    *("x=../outside/secret", "@a", "@../outside/secret", "--file=a", "-fa", "-e.", "--", "-", "p", "1"),
    *("-r", "-n", "-e", "-f", "-c", "-a", "-l", "-d", "-R", "-L"),
]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("leaks").resolve()
    for name in ("app/sub", "outside"):
        (base / name).mkdir(parents=True)
    (base / "outside/secret").write_text("CANARY\n")
    for name, text in {"a": ". ../outside/secret\n", "b": "../outside/secret\n", "sub/c": "c\n"}.items():
        (base / "app" / name).write_text(text)
    return base


COMMAND = st.tuples(st.sampled_from(PROGRAMS), st.lists(st.sampled_from(WORDS), max_size=4)).map(
    lambda drawn: " ".join((drawn[0], *drawn[1]))
)
AROUND = [
    *("{}", "cat a | {}", "cat a | xargs {}", "cd sub && {}", "cd sub; {}", "echo $({})", "{} < a"),
    "for f in {{a,b,$y}}; do {} $f; done",
]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(AROUND), COMMAND)
@example("{}", "grep $x")
@example("{}", "grep $(cat a)")
@example("cat a | xargs {}", "grep")
@example("{}", 'jq -n ".$e"')
def test_what_runs_unasked_shows_nothing_from_outside(folder: Path, around: str, command: str) -> None:
    script = f"{VARIABLES}; {around.format(command)}"
    place = SessionFolders(f"{folder}/app", (), f"{folder}/outside", RealFiles())
    if judge(bash(script), place=place).behavior != "allow":
        return
    done = subprocess.run(
        ["/bin/bash", "--norc", "-c", script],
        cwd=folder / "app",
        env={"HOME": f"{folder}/outside", "PATH": "/usr/bin:/bin", "SECRET": "CANARY"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert b"CANARY" not in done.stdout + done.stderr
