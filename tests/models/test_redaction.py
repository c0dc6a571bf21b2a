"""Keys in a server's words."""

import pytest

from toolwright.models.redaction import without_keys


@pytest.mark.parametrize(
    ("text", "key", "shown"),
    [
        ("invalid x-api-key: a", "a", "invalid x-api-key: [the key]"),
        ("a bad key: test", "test", "a bad key: [the key]"),
        ("the latest contest: 'test'.", "test", "the latest contest: '[the key]'."),
        ("Bearersk-0123456789x", "sk-0123456789", "Bearer[the key]x"),
        ("nothing", None, "nothing"),
    ],
)
def test_a_short_key_is_hidden_as_a_word_and_a_long_one_wherever_it_is(text: str, key: str | None, shown: str) -> None:
    assert without_keys(text, (key,)) == shown
