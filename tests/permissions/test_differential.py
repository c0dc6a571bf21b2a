"""Generated lines of shell against bash: what bash ran and opened was read, or the line is asked about.

DIFFERENTIAL_LINES says how many (some hundreds unless told), DIFFERENTIAL_SEED which ones (others each time unless told);
`make differential` tries 100,000. What it found is kept in data/reader_cases.json.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import replace

import support_shell_driver as driver
from support_differential import compare_generated, fits, is_understood, new_seed, summed, unread
from support_permissions import bash, judge
from support_shell_runs import Opened, missing_programs, run_by_bash
from toolwright.permissions.shell.command_walker import read_line
from toolwright.permissions.shell.words import NO_WORD, UNKNOWN, Word
from toolwright.types import PermissionMode

LINES = int(os.environ.get("DIFFERENTIAL_LINES", "300"))
SEED = os.environ.get("DIFFERENTIAL_SEED") or new_seed()
TURNS = 4
"""The lines are tried in so many tests, which may run beside each other."""
CASES = json.loads((Path(__file__).parent / "data" / "reader_cases.json").read_text())["cases"]
MODES: tuple[PermissionMode, ...] = ("default", "plan", "dontAsk", "acceptEdits", "auto")


@pytest.fixture(scope="module")
def sandbox() -> None:
    """bubblewrap and strace, both at work."""
    try:
        problem = f"missing: {' '.join(missing_programs())}" if missing_programs() else ""
        problem = problem or ("" if run_by_bash(["c1 a"])[0].ran == [("c1", "a")] else "nothing was seen")
    except RuntimeError as error:
        problem = str(error)
    if problem:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"Lines of shell cannot be traced here: {problem}")


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("turn", range(TURNS))
def test_what_bash_does_was_read_or_is_asked_about(turn: int) -> None:
    seed = f"{SEED}-{turn}"
    total = summed(compare_generated(LINES // TURNS, seed))
    assert not total.holes, f"seed {seed}: {total}\n" + "\n".join(f"{hole.line!r} {hole.did}" for hole in total.holes)
    assert total.asked < 0.8 * total.lines, f"seed {seed}: {total}"
    assert total.ran > total.lines / 8, f"seed {seed}: {total}"


@pytest.mark.usefixtures("sandbox")
def test_what_was_not_read_is_noticed() -> None:
    lines = [
        "c2 a",
        "echo \"${z:-'$(c2 a)'}\"",
        "cat <<$'E\\x4e'\nEN\nc2 a > f\nE\\x4e",
        "c2 '' < f",
        "c4 >&'$(c2 a)'",
        "c4 $U",
    ]
    ran = run_by_bash(lines)
    assert ran[0].ran == [("c2", "a")]
    assert ran[3].opened == [Opened("f", for_writing=False)]
    believed = [replace(read_line(line), unparsed=None, opaque=()) for line in lines]
    missed = [set(unread(line, done)) for line, done in zip(believed, ran, strict=True)]
    assert missed == [
        set(),
        {"ran ('c2', 'a')"},
        {"ran ('c2', 'a')", "opened 'f' for writing"},
        set(),
        {"ran ('c2', 'a')"},
        set(),
    ]


def test_nothing_is_ended_outside_of_the_sandbox() -> None:
    """The driver ends every process that it sees."""
    done = subprocess.run([sys.executable, driver.__file__], input="{}", capture_output=True, text=True, check=False)
    assert (done.returncode, "in the sandbox" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("words", "ran", "expected"),
    [
        ([Word("a"), Word("b")], ["a", "b"], True),
        ([Word("a"), Word("b")], ["a"], False),
        ([Word("a")], ["a", "b"], False),
        ([Word("a"), Word(f"x{UNKNOWN}")], ["a", "xy z"], True),
        ([Word("a"), Word(f"x{UNKNOWN}")], ["a", "y"], False),
        ([Word("a"), Word(f"x{UNKNOWN}")], ["a", "x", "y"], False),
        ([Word("a"), NO_WORD, Word("b")], ["a", "b"], True),
        ([Word("a"), NO_WORD, Word("b")], ["a", "1", "2", "b"], True),
        ([Word("a"), NO_WORD, Word("b")], ["a", "1", "2"], False),
    ],
)
def test_words_fit_as_far_as_they_are_known(words: list[Word], ran: list[str], expected: bool) -> None:
    assert fits(words, ran) == expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_line_that_was_once_misread_is_asked_about_in_every_mode(case: dict[str, str]) -> None:
    line = bash(case["command"])
    assert line.line is not None
    assert not is_understood(line.line)
    for mode, cage in product(MODES, (True, False)):
        decision = judge(line, mode, cage=cage, allow=["Bash(echo:*)", "Bash(cat:*)", "Bash(true)", "Bash(unset:*)"])
        assert decision.behavior != "allow", (mode, cage)
    assert judge(line, "bypassPermissions", deny=["Bash(touch:*)"]).behavior != "allow"
    assert judge(line, "bypassPermissions", deny=["Bash(rm:*)"]).behavior != "allow", "any rule may be about it"
