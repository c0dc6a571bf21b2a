"""The two pattern languages of rules, each held against a slower one that is plainly right."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolwright.permissions.patterns import glob_matches, path_expression, path_problem, split_anchor

PIECE = st.text("ab\n", max_size=2)


@settings(max_examples=500)
@given(st.lists(st.tuples(PIECE, PIECE), min_size=1, max_size=5), st.integers(0, 9), PIECE)
@example([("a", ""), ("a", "")], 0, "")  # one letter cannot be the beginning and the end,
@example([("", ""), ("a", ""), ("a", "")], 0, "")  # nor the middle and the end
def test_a_star_is_any_text_and_nothing_else_is_special(pieces: list[tuple[str, str]], position: int, change: str) -> None:
    """Texts that match, and such in which a little was changed."""
    pattern = "*".join(piece for piece, _ in pieces)
    text = "".join(piece + filling for piece, filling in pieces)
    oracle = re.compile(".*".join(re.escape(piece) for piece in pattern.split("*")), re.DOTALL)
    for tried in (text, text[:position] + change + text[position + 1 :]):
        assert glob_matches(pattern, tried) == (oracle.fullmatch(tried) is not None)


@pytest.mark.parametrize(
    ("pattern", "anchor", "rest"),
    [
        ("//etc/x", "root", "/etc/x"),
        ("~/x", "home", "/x"),
        ("/x", "source", "/x"),
        ("x/y", "cwd", "/x/y"),
        ("./x", "cwd", "/x"),
        ("x", "anywhere", "x"),
        ("x/", "anywhere", "x/"),
        ("//", "root", "/**"),
        ("~/", "home", "/**"),
        ("/", "source", "/**"),
    ],
)
def test_a_pattern_says_what_it_is_relative_to(pattern: str, anchor: str, rest: str) -> None:
    assert split_anchor(pattern) == (anchor, rest)


@pytest.mark.parametrize(
    "pattern", ["!x", "#x", "a\nb", "a\x1fb", "../x", "x/../y", "*a*b*c*d*", "**/a/**/b/**/c/**", "a*b*c*d*e*/x", ""]
)
def test_patterns_that_could_never_work_are_told_apart(pattern: str) -> None:
    assert path_problem(pattern) is not None


@pytest.mark.parametrize(
    "pattern", ["a b", "x#", "x!", "*a*b*c*", "**/a/**/b/**", "*/*/*/*/*/*", "**/*.py", "*.a/*.b/*.c", "a..b"]
)
def test_patterns_with_few_ways_to_match_are_taken(pattern: str) -> None:
    assert path_problem(pattern) is None
    assert path_expression(split_anchor(pattern)[1])
