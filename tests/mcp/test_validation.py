"""The validator: the quick look and the library must always agree."""

import sys
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.mcp.validation import InputValidator, InvalidSchema

ADD = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}

kinds = st.sampled_from(["string", "integer", "number", "boolean", "null", "array"])
properties = st.dictionaries(st.sampled_from("abc"), kinds.map(lambda kind: {"type": kind, "description": "d"}), max_size=3)
schemas = st.builds(
    lambda properties, required, more: {"type": "object", "properties": properties, "required": required} | more,
    properties,
    st.lists(st.sampled_from("abcd"), unique=True, max_size=2),
    st.sampled_from([{}, {"additionalProperties": False}, {"additionalProperties": True}, {"minProperties": 2}]),
)
values = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.lists(st.integers(), max_size=2)
)
inputs = st.dictionaries(st.sampled_from("abcd"), values, max_size=4)


@given(schemas, inputs)
def test_the_quick_look_never_differs_from_the_library(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    problem = InputValidator(schema).problem(arguments)
    try:
        valid = jsonschema_rs.validator_for(schema).is_valid(arguments)
    except ValueError:
        valid = False
    assert (problem == "") == valid


def test_problems_name_the_field_and_what_came() -> None:
    problem = InputValidator(ADD).problem({"a": "x"})
    assert '"b" is a required property' in problem
    assert '"x" is not of type "number" (at a)' in problem


@pytest.mark.parametrize(
    "arguments", [{"a": object(), "b": 1}, {"a": "\ud800", "b": 1}, {1: 2}, [1], None, {"a": float("nan"), "b": 1}]
)
def test_values_that_json_does_not_have_are_problems(arguments: Any) -> None:
    assert InputValidator(ADD).problem(arguments)


def test_a_long_value_is_shortened_and_said_so() -> None:
    problem = InputValidator(ADD).problem({"a": "x" * 1_000_000, "b": 1})
    assert len(problem) < 1000
    assert "characters left out" in problem


def test_many_problems_are_counted() -> None:
    schema = {"type": "object", "required": [f"field{number}" for number in range(12)]}
    assert InputValidator(schema).problem({}).endswith("and 7 more")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"type": "object", "properties": {"a": {"pattern": "("}}},
        {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}},
        {"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}},
        {"type": "object", "properties": 3},
        {"type": "object", "required": [3]},
    ],
)
def test_a_schema_that_is_none_is_told_apart(schema: dict[str, Any]) -> None:
    with pytest.raises(InvalidSchema):
        InputValidator(schema).problem({"a": "x"})


def test_a_plain_valid_call_does_not_load_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)  # importing it would fail now
    assert InputValidator(ADD).problem({"a": 1, "b": 2.5}) == ""
    assert InputValidator({"type": "object", "properties": {"city": {"type": "string"}}}).problem({"city": "Zürich"}) == ""
