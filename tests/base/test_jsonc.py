"""JSON with comments, and the places of its values."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from toolwright.base.jsonc import MAX_DEPTH, NotJson, parse_document

texts = some.text(max_size=8)
values = some.recursive(
    some.none() | some.booleans() | some.integers(-(10**9), 10**9) | texts,
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150)
@given(values, some.sampled_from([None, 2]))
def test_it_reads_what_json_reads(value: Any, indent: int | None) -> None:
    assert parse_document(json.dumps(value, indent=indent)).root.plain() == value


def test_comments_are_skipped_and_places_are_known() -> None:
    document = parse_document('// one\n{ /* two */ "a": [1, // three\n  "x"]}\n')
    assert document.root.plain() == {"a": [1, "x"]}
    items = document.root.members[0].node.items
    assert [(document.line(item.start), document.column(item.start)) for item in items] == [(2, 19), (3, 3)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a value is missing"),
        ('{"a": 1, "a": 2}', "the key 'a' is there twice"),
        ('{"a": NaN}', "found 'NaN'"),
        ('{"a": -Infinity}', "found '-'"),
        ('{"a": 1e999}', "too large"),
        ("[1,]", "a comma with nothing after it"),
        ("[1 2]", r"a comma or \] is missing"),
        ("{a: 1}", "a key in quotes"),
        ('{"a" 1}', "a colon is missing"),
        ('"\\ud800"', "surrogate"),
        ('"a\nb"', "invalid control character"),
        ("{} {}", "more after the end"),
        ("/* never", "a comment has no end"),
        ("[" * (MAX_DEPTH + 2), "nested more than"),
        ("9" * 5000, "a value was expected"),
        ("01", "a value was expected"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(NotJson, match=said) as caught:
        parse_document(text)
    assert 0 <= caught.value.offset <= len(text)
