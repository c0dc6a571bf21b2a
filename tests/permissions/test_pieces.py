"""Pieces of shell put together at random: every program that bash runs is one that was read, with the words that were read."""

from __future__ import annotations

import subprocess
from itertools import takewhile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolwright.permissions import read_command
from toolwright.permissions.words import Word

PIECES = [
    *(
        "p",
        "p ",
        "p a",
        " ",
        "a",
        "-b",
        "1",
        "=",
        "'p'",
        '"',
        "'",
        "\\",
        "\\\n",
        "$'",
        "\\x{61}",
        "{a,",
        "b}",
        "${v:-",
        "}",
        "$",
        "#",
    ),
    *(
        "\n",
        ";",
        "&&",
        "||",
        "|",
        "|&",
        "! ",
        "time ",
        "`",
        "$(",
        ")",
        "(",
        "{ ",
        "; }",
        "if ",
        "; then ",
        "; fi",
        "[[ ",
        " ]]",
        "((",
        "))",
    ),
    *("<&-", "2>&-", "2>&1", ">&2", "&>", "{v}<&-", " >/dev/null ", "<<<", "<<E\n", "\nE\n"),
]
DEFINED = 'p() { printf "%s\\1" p "$@" >> "$LOG"; printf "\\2" >> "$LOG"; }'


def run_by_bash(command: str, log: Path) -> list[tuple[str, ...]]:
    """The words that each `p` was run with. There are no other programs."""
    log.write_text("")
    subprocess.run(
        ["/bin/bash", "--norc", "-c", f"{DEFINED}\n{command}"],
        cwd=log.parent,
        env={"PATH": "/nonexistent", "LOG": str(log)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return [tuple(words.split("\1")[:-1]) for words in log.read_bytes().decode(errors="replace").split("\2")[:-1]]


def fits(read: tuple[Word, ...], run: tuple[str, ...]) -> bool:
    """Whether the words are the same up to the first that was not known."""
    known = tuple(word.text for word in takewhile(lambda word: word.known, read))
    return known == (run if len(known) == len(read) else run[: len(known)])


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pieces") / "log"


@settings(max_examples=150, deadline=None)
@given(command=st.lists(st.sampled_from(PIECES), min_size=2, max_size=9).map("".join))
@example(command="p #\\\np a")
@example(command="p <&-a")
@example(command="p <&-{a,b}")
@example(command="p $'\\x{61}'")
def test_what_bash_runs_is_what_was_read(command: str, log: Path) -> None:
    line = read_command(command)
    if line.unparsed is None and not line.doubts and not line.opaque:
        for run in run_by_bash(command, log):
            assert any(fits(part.words, run) for part in line.parts), run
