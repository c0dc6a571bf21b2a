"""What is said about a text that is not in a file: the same, however large the file is."""

from __future__ import annotations

import pytest

from toolwright.files.text import UTF8
from toolwright.tools.near_miss import PIECE, explain_missing

FILLING = "some other line that fills the file\n"
ABOVE = 3 * PIECE // len(FILLING)


@pytest.mark.parametrize("above", [0, 5, ABOVE])
@pytest.mark.parametrize(
    ("there", "wanted", "said"),
    [
        ("if x:\n\treturn 1\n", "if x:\n    return 1\n", "differs from the file only in whitespace"),
        ("say “hi”\nand – go\n", 'say "hi"\nand - go', "only in quotes, dashes or special spaces"),
        ("Hello World\n", "hello world", "only in upper and lower case"),
        ("alpha\nbeta\n", "     1\talpha\n     2\tbeta\n", "contains the line numbers that Read shows"),
    ],
)
def test_the_difference_is_found_anywhere(above: int, there: str, wanted: str, said: str) -> None:
    explanation = explain_missing(UTF8.pieces((FILLING * above + there + FILLING * 5).encode(), PIECE), wanted)
    assert said in explanation
    assert "line numbers" in said or f"\n{above + 1}\t" in explanation


def test_a_text_that_lies_across_two_pieces_is_found() -> None:
    filling = "y" * (PIECE - 10) + "\n"
    explanation = explain_missing(UTF8.pieces((filling + "if  x:\n  go\n" + FILLING).encode(), PIECE), "if x:\n go")
    assert "only in whitespace" in explanation
    assert "\n2\tif  x:" in explanation


def test_the_nearest_line_is_among_the_first_thousands() -> None:
    text = FILLING * 4000 + "def frobnicate(first, second):\n" + FILLING * 10
    assert "around line 4001" in explain_missing(UTF8.pieces(text.encode(), PIECE), "def frobnicate(first, other):")


@pytest.mark.parametrize("text", ["", "x" * (3 * PIECE), "\n" * PIECE])
def test_nothing_similar_is_said_as_well(text: str) -> None:
    assert "Nothing similar" in explain_missing(UTF8.pieces(text.encode(), PIECE), "quite another text")
