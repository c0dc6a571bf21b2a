"""The language of matchers."""

from __future__ import annotations

import pytest

from toolwright.hooks.matchers import matcher_for
from toolwright.types import OptionsError


@pytest.mark.parametrize("text", [None, "", "*", " "])
def test_no_matcher_means_everything(text: str | None) -> None:
    assert matcher_for(text) is None


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        *(("Write", "Write", True), ("Writ", "Write", False), ("rit", "Write", False), ("write", "Write", False)),
        *(("Write|Edit", "Edit", True), ("Write, Edit", "Edit", True), ("Write|Edit", "NotebookEdit", False)),
        *(("W.*", "Write", True), ("W.*", "Bash", False), ("Write|Ba.*", "Bash", True), ("Write|Ba.*", "Write", True)),
        *(("mcp__calc__.*", "mcp__calc__add", True), ("mcp__calc__.*", "mcp__calc", False), ("^Edit$", "NotebookEdit", False)),
        *((".ook", "NotebookEdit", True), ("^(?!Bash)", "Write", True), ("^(?!Bash)", "Bash", False)),
        *(("general-purpose", "general-purpose", True), ("|", "Write", False)),
    ],
)
def test_names_are_exact_and_expressions_match_anywhere(text: str, name: str, expected: bool) -> None:
    matches = matcher_for(text)
    assert matches is not None
    assert matches(name) is expected
    assert matches(name) is expected, "also when the answer is remembered"


def test_a_broken_expression_is_a_typed_error() -> None:
    with pytest.raises(OptionsError, match="neither a list of names nor a regular expression"):
        matcher_for("Write(")


def test_a_hostile_expression_ends_soon_and_counts_as_a_match() -> None:
    catastrophic = matcher_for(r"(a*)*\1(?!b)c")
    linear = matcher_for("(a+)+$")
    assert catastrophic is not None
    assert linear is not None
    assert catastrophic("a" * 5_000)
    assert not linear("a" * 50_000 + "!")
