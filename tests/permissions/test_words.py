"""Words, held against bash itself: what is said to be known of one is what a program gets."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_permissions import bash, judge
from toolwright.permissions import read_command

KNOWN = r"""a /b = : , . - 'd' "f" "h\"i" "j\\k" "l\$m" "n\`o" "\q" \r \' \" \\ \~ \* $'\x41' $'\n' $'\101' $'\u00e9' $'\''
    $'\cA' $'\z' $'\e' '' "" {g,h} {i,j}k {l} {} {m,} {,n} a{n,o}p{q,r} [ ] "{w,x}" '{y,z}' "é" "~" 'a'"b"\c""".split()  # noqa: SIM905 — a word list
UNKNOWN = """~ ~/c {1..3} {s,{t,u}} * ? [v] "$X" $X "${X}y" "$@" "a$X" `true` $"t" a=~ b:~/x""".split()  # noqa: SIM905


def by_bash(words: str, folder: Path) -> list[str]:
    done = subprocess.run(
        ["/bin/bash", "--norc", "-c", f"printf '%s\\0' {words}"],
        cwd=folder,
        env={"HOME": "/home/ada", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        check=False,
    )
    return done.stdout.decode(errors="replace").split("\0")[:-1]


def agrees(words: str, folder: Path) -> bool:
    """Whether all words are known, and are what bash makes of them."""
    line = read_command(f"printf '%s\\0' {words}")
    if line.unparsed is not None or len(line.parts) != 1:
        return False
    found = line.parts[0].words[2:]
    if not found or not all(word.known for word in found):
        return False
    assert [word.text for word in found] == by_bash(words, folder)
    return True


@pytest.mark.parametrize("piece", KNOWN)
def test_a_word_that_is_known_is_what_bash_makes_of_it(piece: str, tmp_path: Path) -> None:
    assert agrees(piece, tmp_path)


@pytest.mark.parametrize("piece", UNKNOWN)
def test_what_the_shell_has_still_to_find_out_is_not_known(piece: str, tmp_path: Path) -> None:
    assert not agrees(piece, tmp_path)


WORD = st.lists(st.sampled_from([*KNOWN, *UNKNOWN, "\\{", "!", "#"]), min_size=1, max_size=4).map("".join)


@settings(max_examples=60)
@given(words=st.lists(WORD, min_size=1, max_size=3).map(" ".join))
def test_words_put_together_are_what_bash_makes_of_them(words: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    agrees(words, tmp_path_factory.getbasetemp())


@pytest.mark.parametrize("command", ["{rm,} -rf x", "{,rm} -rf x", "{rm,-rf,x}"])
def test_empty_words_of_braces_hide_no_command(command: str) -> None:
    assert judge(bash(command), "bypassPermissions", deny=["Bash(rm -rf:*)"]).behavior == "deny"
