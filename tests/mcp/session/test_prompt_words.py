"""Words behind a slash command are split as the standard library would."""

import shlex

from hypothesis import given
from hypothesis import strategies as st

from toolwright.mcp.session.prompt_words import split_words


@given(st.text(alphabet="ab \\\"'\n\té", max_size=12))
def test_words_are_split_as_a_shell_would(text: str) -> None:
    try:
        expected = shlex.split(text)
    except ValueError:  # a quote that is not closed
        expected = text.split()
    assert split_words(text) == expected
