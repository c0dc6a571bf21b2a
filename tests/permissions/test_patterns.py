"""The two pattern languages of rules, each held against a slower one that is plainly right."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.permissions.patterns import glob_matches, path_expression, path_problem, split_anchor


@given(st.text("ab* /", max_size=8), st.text("ab /\n", max_size=10))
def test_a_star_is_any_text_and_nothing_else_is_special(pattern: str, text: str) -> None:
    oracle = ".*".join(re.escape(piece) for piece in pattern.split("*"))
    assert glob_matches(pattern, text) == (re.fullmatch(oracle, text, re.DOTALL) is not None)


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
