"""Words, held against bash itself: what is said to be known of one is what a program gets."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support_permissions import bash, judge
from toolwright.permissions import read_command

KNOWN = [
    *r"""a /b = : , . - 'd' "f" "h\"i" "j\\k" "l\$m" "n\`o" "\q" \r \' \" \\ \~ \* '\n' $'' $'\x41' $'\101' $'\u0041' $'\''
    $'\a\b\e\E\f\n\r\t\v\\\"\?' $'\z\XX' '' "" {g,h} {i,j}k {l} {} {m,} {,n} a{n,o}p{q,r} [ ] "{w,x}" '{y,z}' {"t"} "é" "~"
    'a'"b"\c ""~ a=""~""".split(),  # noqa: SIM905 — a word list
    *('"k\\\\\nl"', '"m\\\nn"', "'o\\\np'", "$'q\\\nr'", "s\\\nt", '"\\\\\\\nu"', "v\\\\\\\nw"),
]
UNKNOWN = [
    *r"""~ ~/c ~{/a,/b} a=~ b:~/x * ? [v] [v]b[ [v'b'] {1..3} {s,{t,u}} \{a,b} {"s",t} {s,"t"} {1.."3"} "$X" $X "${X}y" "a$X"
    "$X"a"$X" "$@" "a$@" "${A[@]}" "${Y:-$@}" "${Y:-"$@"}" `true` $"t" $'\x80' $'\x7f\200' $'\777' $'\ud800' $'\U110000' $'\cA'
    $'\x{72}m' $'a\0b' """.split(),  # noqa: SIM905
]
SETTING = "X='-x y'; A=(-r -s); set -- -p -q;"
"""What a word may meet that is not known beforehand, at its worst."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("words")
    for name in ("-f", "v", "vb["):
        (found / name).touch()
    return found


def by_bash(words: str, folder: Path) -> list[str]:
    done = subprocess.run(
        ["/bin/bash", "--norc", "-c", f"{SETTING} printf '%s\\0' first {words}"],
        cwd=folder,
        env={"HOME": "/home/ada", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        check=False,
    )
    return done.stdout.decode(errors="replace").split("\0")[1:-1]


def agrees(words: str, folder: Path) -> bool:
    """Whether all words are known. What is said of them is what bash makes of them, known or not."""
    line = read_command(f"printf '%s\\0' {words}")
    if line.unparsed is not None or line.opaque or len(line.parts) != 1:
        return False
    found, real = line.parts[0].words[2:], by_bash(words, folder)
    if all(word.one and not word.glob and not word.tilde for word in found):
        assert len(found) == len(real)
        assert all(fits(word.text, made) for word, made in zip(found, real, strict=True))
    if not any(word.may_be_option or word.text.startswith("-") for word in found):
        assert not any(made.startswith("-") for made in real)
    return all(word.known for word in found)


def fits(text: str, made: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, text.split("\0"))), made, re.DOTALL) is not None


@pytest.mark.parametrize("piece", KNOWN)
def test_a_word_that_is_known_is_what_bash_makes_of_it(piece: str, folder: Path) -> None:
    assert agrees(piece, folder)


@pytest.mark.parametrize("piece", UNKNOWN)
def test_what_the_shell_has_still_to_find_out_is_not_known(piece: str, folder: Path) -> None:
    assert not agrees(piece, folder)


def test_many_words_of_braces_are_not_known(folder: Path) -> None:
    assert agrees("{a,b}" * 6, folder)
    assert not agrees("{a,b}" * 7, folder)
    assert not agrees("{a,b,c,d,e,f}{a,b}{a,b,c,d,e,f}", folder)


ODD = ["\\{", "!", "#", "<&-", "<<<z"]
WORD = st.lists(st.sampled_from([*KNOWN, *UNKNOWN, *ODD]), min_size=1, max_size=4).map("".join)


@settings(max_examples=60, deadline=None)
@given(words=st.lists(WORD, min_size=1, max_size=3).map(" ".join))
@example(words="<&-''")
def test_words_put_together_are_what_bash_makes_of_them(words: str, folder: Path) -> None:
    agrees(words, folder)


ESCAPED = st.sampled_from([*(f"\\{letter}" for letter in "01478acexuUEXz?'\"\\\n"), *'0147adDfF{}é"\n'])


@settings(max_examples=60, deadline=None)
@given(text=st.lists(ESCAPED, max_size=6).map("".join))
def test_escapes_are_what_bash_makes_of_them(text: str, folder: Path) -> None:
    agrees(f"$'{text}'", folder)


@pytest.mark.parametrize("command", ["{rm,} -rf x", "{,rm} -rf x", "{rm,-rf,x}"])
def test_empty_words_of_braces_hide_no_command(command: str) -> None:
    assert judge(bash(command), "bypassPermissions", deny=["Bash(rm -rf:*)"]).behavior == "deny"


@pytest.mark.parametrize("command", [r"$'\x{72}m' x", r"$'\162\x6d' x", r"r$'\u006d' x", r"$'rm\0' x", '{"rm",x}', "r\\\nm x"])
def test_no_spelling_hides_a_command_from_a_deny_rule(command: str) -> None:
    assert judge(bash(command), "bypassPermissions", deny=["Bash(rm:*)"]).behavior != "allow"


@pytest.mark.parametrize(
    "path", [r"$'\x{2f}etc/passwd'", r"$'\57etc/passwd'", "~/x", "{~/x,a}", '"a/../..$X"', "[v'b']/../../x"]
)
def test_no_spelling_hides_a_path_outside(path: str) -> None:
    assert judge(bash(f"cat {path}")).behavior == "ask"
