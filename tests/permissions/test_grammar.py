"""The syntax tree: our reading of plain words equals shfmt's, and every failure to read is said."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwright.permissions import grammar
from toolwright.permissions.grammar import NotParsed, plain_tree, run_shfmt, shell_tree
from toolwright.permissions.reading import read_line

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


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(st.one_of(PLAIN, KEYWORDS), SEPARATORS), min_size=1, max_size=6))
def test_plain_words_are_read_as_shfmt_reads_them(pieces: list[tuple[str, str]]) -> None:
    text = "".join(word + separator for word, separator in pieces).rstrip("; |&")
    ours = plain_tree(text)
    if ours is None:
        return
    theirs = bare(grammar._decoded(run_shfmt(text)))
    assert bare(ours) == {"Type": theirs["Type"], "Stmts": theirs["Stmts"]}


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
    assert "longer than" in (read_line("echo " + "x" * 100_001).unparsed or "")
    assert "surrogate" in (read_line("echo '\ud800'").unparsed or "")
    assert "cannot be read" in (read_line("echo 'a'", lambda text: shell_tree(text, run=lambda _: b"{")).unparsed or "")


def test_a_parser_that_is_missing_or_slow_leaves_the_line_unread() -> None:
    def fails(_: str) -> bytes:
        raise NotParsed("it was not parsed within 5 s")

    assert read_line("echo 'a'", lambda text: shell_tree(text, run=fails)).unparsed == "it was not parsed within 5 s"
    assert read_line("echo a", lambda text: shell_tree(text, run=fails)).unparsed is None


def test_the_parser_is_the_installed_one() -> None:
    assert grammar.shfmt_path().startswith("/")


@pytest.mark.parametrize("depth", [200, 20_000])
def test_deep_nesting_is_read_or_refused(depth: int) -> None:
    line = read_line("( " * depth + "ls" + " )" * depth)
    assert line.unparsed or line.parts
