"""Schemas of servers that would keep us busy are not used; ordinary ones are."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.mcp.client.untrusted_schemas import MAX_PARTS, ForeignValidator, values_in, written_out

POINT = {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "required": ["x", "y"]}
LINE = {
    "type": "object",
    "properties": {"from": {"$ref": "#/$defs/point"}, "to": {"$ref": "#/$defs/point"}},
    "$defs": {"point": POINT},
}


def doubling(levels: int) -> dict[str, Any]:
    steps = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": steps | {f"d{levels}": {"type": "string"}}}


def listing(pattern: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string", "pattern": pattern}}


def test_an_ordinary_schema_is_checked_with_its_references() -> None:
    check = ForeignValidator(LINE)
    assert check.problem({"from": {"x": 1, "y": 2}, "to": {"x": 1, "y": 2.5}}) == ""
    assert '"y" is a required property' in check.problem({"from": {"x": 1}})
    assert "does not match" in ForeignValidator(listing("^[a-z]+$")).problem(["abc", "7"])


TREE = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}
SMALL_BOMBS = {
    "references that double": doubling(60),
    "a reference to itself": {"allOf": [{"$ref": "#/allOf/0"}, {"type": "string"}]},
    "a tree": {**TREE, "properties": {"children": {"allOf": [{"$ref": "#/$defs/t"}] * 2}}, "$defs": {"t": TREE}},
    "another place for references": {"$defs": {"a": {"$id": "other", **doubling(60)}}, "$ref": "#/$defs/a"},
    "an anchor": {"$ref": "#somewhere", "$defs": {"a": {"$anchor": "somewhere", "type": "string"}}},
    "a dynamic reference": {"items": {"$dynamicRef": "#a"}},
    "an old draft, in which id moves references": {"$schema": "http://json-schema.org/draft-04/schema#", **doubling(2)},
    "a pattern that backtracks": listing("^(a|a)*(?=b)$"),
    "a pattern that is too large": listing("(?:(?:a{200}){200}){9}"),
    "a large schema": {"allOf": [{"type": "string"}] * MAX_PARTS},
}


@pytest.mark.parametrize("name", SMALL_BOMBS)
def test_a_schema_that_could_keep_us_busy_is_not_used(name: str) -> None:
    value = ["a" * 30] * 100_000
    assert ForeignValidator(SMALL_BOMBS[name]).problem(value) == ""


def test_what_is_checked_is_bounded_too() -> None:
    schema = {"type": "array", "items": {"anyOf": [{"type": "string"}] * 500}}
    assert ForeignValidator(schema).problem([1]) != ""
    assert ForeignValidator(schema).problem([1] * 100_000) == ""


def test_references_count_as_often_as_they_are_used() -> None:
    assert written_out({"type": "string"}) == 2
    assert (written_out(doubling(1)) or 0) < (written_out(doubling(4)) or 0)
    assert written_out(doubling(20)) is None


JSON = st.recursive(
    st.none() | st.text(max_size=3), lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner)
)


@given(JSON)
def test_values_are_counted(value: Any) -> None:
    def count(one: Any) -> int:
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
        return 1 + sum(map(count, inner))

    assert values_in(value, 10**6) == count(value)
    assert values_in(value, 3) == min(3, count(value))
