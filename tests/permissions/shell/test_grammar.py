"""The syntax tree: our reading of plain words equals shfmt's, and every failure to read is said."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_permissions import bash, judge, strictly
from toolwright.permissions.shell import grammar
from toolwright.permissions.shell.command_walker import read_line
from toolwright.permissions.shell.grammar import plain_tree, run_shfmt, shell_tree

PLAIN = st.text("abz019_./:=@%+,-", min_size=1, max_size=6)
KEYWORDS = st.sampled_from(
    ["if", "then", "fi", "do", "done", "time", "export", "let", "case", "in", "for", "coproc", "declare"]
)
SEPARATORS = st.sampled_from([" && ", " || ", " | ", "; ", " ; ", " "])


def bare(node: Any) -> Any:
    """A tree without positions."""
    if isinstance(node, dict):
        return {name: bare(value) for name, value in node.items() if not (isinstance(value, dict) and "Offset" in value)}
    return [bare(item) for item in node] if isinstance(node, list) else node


def theirs(text: str) -> Any:
    tree = bare(grammar._decoded(run_shfmt(text)))
    return {"Type": tree["Type"], "Stmts": tree["Stmts"]}


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(st.one_of(PLAIN, KEYWORDS), SEPARATORS), min_size=1, max_size=6))
def test_plain_words_are_read_as_shfmt_reads_them(pieces: list[tuple[str, str]]) -> None:
    text = "".join(word + separator for word, separator in pieces).rstrip("; |&")
    ours = plain_tree(text)
    assert ours is None or ours == theirs(text)


def words_of_bash(kind: str) -> list[str]:
    done = subprocess.run(["/bin/bash", "-c", f"compgen {kind}"], capture_output=True, check=True, text=True)
    return [word for word in done.stdout.split() if word.isalpha()]


def test_no_keyword_is_taken_for_a_plain_word() -> None:
    for word in words_of_bash("-k"):
        for line in ("{}", "{} a", "a; {}", "a ; {} b", "a && {}", "a || {} b", "a | {} b; c"):
            assert plain_tree(line.format(word)) is None, line.format(word)


def test_programs_of_the_shell_are_plain_words_if_they_are_to_shfmt() -> None:
    for word in words_of_bash("-b"):
        line = f"a; {word} b && {word} c -d || {word} e | {word} f"
        assert plain_tree(line) in (None, theirs(line))


@settings(max_examples=150, deadline=None)
@given(st.text("ab \t\n;&|<>()$`\"'\\{}*?[]#~!=-/é\u00a0", max_size=20))
def test_nothing_but_plain_words_is_taken_for_plain(text: str) -> None:
    if any(character in text for character in "\t\n<>()$`\"'\\{}*?[]#~!é\u00a0") or "  " in text:
        assert plain_tree(text) is None


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_characters="\0"), max_size=30))
def test_any_text_is_read_or_said_not_to_be(text: str) -> None:
    line = read_line(text)
    assert line.text == text
    assert line.unparsed is None or not line.parts


def test_what_cannot_be_parsed_says_why() -> None:
    assert "not valid bash" in (read_line("echo ${x").unparsed or "")
    assert "longer than" in (read_line("echo " + "x" * 99_996).unparsed or "")
    assert read_line("echo " + "x" * 99_995).unparsed is None
    assert "surrogate" in (read_line("echo '\ud800'").unparsed or "")


@pytest.mark.parametrize(
    "command",
    [
        "echo #\\\nrm x",
        "echo # a\\\nrm x",
        "#\\\nrm x",
        "ls;# a\\\nrm x",
        "echo $(#\\\nrm x)",
        "echo `#\\\nrm x`",
        "ls &#\\\\\\\nrm x",
    ],
)
def test_no_command_hides_behind_a_comment(command: str) -> None:
    assert "end of a comment" in (read_line(command).unparsed or "")
    for mode in ("default", "bypassPermissions"):
        assert judge(bash(command), mode, deny=["Bash(rm:*)"]).behavior != "allow"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("ls \\\r\nrm x", "carriage return"),
        ("ls\r", "carriage return"),
        ('echo "$$(echo "a")"', "$$ before a bracket"),
        ("echo $${a}", "$$ before a bracket"),
        ('echo "$\\\n(rm x)"', "ends inside an operator"),
        ("cat <\\\n<E\nE", "ends inside an operator"),
    ],
)
def test_what_two_readers_see_differently_is_not_read(command: str, why: str) -> None:
    assert why in (read_line(command).unparsed or "")
    for mode in ("default", "bypassPermissions"):
        assert judge(bash(command), mode, deny=["Bash(rm:*)"]).behavior != "allow"


@pytest.mark.parametrize("command", ["echo $$", 'echo "$$"', "echo a$", "ls a$ \\\nb", "ls && \\\nls"])
def test_other_dollars_are_read(command: str) -> None:
    assert read_line(command).unparsed is None


@pytest.mark.parametrize("command", ["ls \\\n-l a#b", "echo 's#a#' \\\nb", "ls # a\nls", 'echo "#" \\\nb', "ls a \\\n # b"])
def test_other_comments_and_other_continued_lines_are_read(command: str) -> None:
    assert strictly(command) == "allow"
    assert judge(bash(command), cage=True).caged


def by_parser(text: str, program: Path, seconds: float = 30) -> str | None:
    """Why `text` is not read where `program` is the parser."""

    def run(text: str) -> bytes:
        return run_shfmt(text, program=str(program), seconds=seconds)

    return read_line(text, lambda text: shell_tree(text, run=run)).unparsed


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("echo '{'", "its syntax tree cannot be read (Input data was truncated)"),
        ("echo '[]'", "its syntax tree cannot be read (Expected `object`, got `array`)"),
        ("printf '<standard input>:1: no\\377\\n' >&2; exit 1", "it is not valid bash (1: no\ufffd)"),
        ("printf '%0300d' 0 >&2; exit 1", f"it is not valid bash ({'0' * 200})"),
    ],
)
def test_a_parser_that_is_broken_leaves_the_line_unread(body: str, why: str, tmp_path: Path) -> None:
    assert by_parser("echo 'a'", script(tmp_path, body)) == why
    assert by_parser("echo a", script(tmp_path, body)) is None


def test_a_parser_that_is_slow_is_not_waited_for(tmp_path: Path) -> None:
    slow = script(tmp_path, "exec sleep 60")
    assert by_parser("echo 'a'", slow, seconds=0.6) == "it was not parsed within 1 s"


def test_a_parser_that_is_missing_leaves_the_line_unread(tmp_path: Path) -> None:
    assert "could not be started ([Errno 2]" in (by_parser("echo 'a'", tmp_path / "none") or "")


def test_the_parser_sees_nothing_but_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")
    program = script(tmp_path, 'printf "%s|" "$PWD" "${SECRET-none}" "${HOME-none}" "$*"; cat')
    assert run_shfmt("é", program=str(program)) == "/|none|none|--to-json -ln bash|é".encode()


def script(folder: Path, body: str) -> Path:
    path = folder / "parser"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o700)
    return path


def test_the_parser_is_the_installed_one() -> None:
    assert grammar.shfmt_path().startswith("/")


@pytest.mark.parametrize("depth", [200, 20_000])
def test_deep_nesting_is_read_or_refused(depth: int) -> None:
    line = read_line("( " * depth + "ls" + " )" * depth)
    assert line.unparsed or line.parts
