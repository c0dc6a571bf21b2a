import copy
import pickle
from typing import Any

import pytest

from toolwright.mcp.author.annotations import RESULT_SIZE_META, ToolAnnotations, annotations_of, protocol_annotations


class PydanticLike:
    """Stands for `mcp.types.ToolAnnotations`, which has this method."""

    def model_dump(self, *, by_alias: bool, exclude_none: bool) -> dict[str, Any]:
        return {"readOnlyHint": True, "title": "Weather"}


def test_both_spellings_are_one_field() -> None:
    camel, snake = ToolAnnotations(readOnlyHint=True, title="x"), ToolAnnotations(read_only_hint=True, title="x")
    assert camel == snake
    assert camel.read_only_hint is True
    assert snake.readOnlyHint is True
    assert camel.destructiveHint is None
    assert camel.open_world_hint is None


def test_setting_one_spelling_changes_the_other() -> None:
    annotations = ToolAnnotations()
    annotations.idempotent_hint = True
    assert annotations.idempotentHint is True


def test_repr_shows_what_was_said() -> None:
    assert repr(ToolAnnotations(read_only_hint=True)) == "ToolAnnotations(readOnlyHint=True)"


def test_dump_looks_like_pydantics() -> None:
    annotations = ToolAnnotations(readOnlyHint=True)
    assert annotations.model_dump(exclude_none=True) == {"readOnlyHint": True}
    assert annotations.model_dump(exclude_none=True, by_alias=False) == {"read_only_hint": True}
    assert annotations.model_dump()["title"] is None


def test_unknown_fields_are_kept() -> None:
    assert ToolAnnotations(vendorHint=3).model_dump(exclude_none=True) == {"vendorHint": 3}


def test_annotations_can_be_copied_and_pickled() -> None:
    annotations = ToolAnnotations(readOnlyHint=True)
    assert copy.deepcopy(annotations) == annotations
    assert pickle.loads(pickle.dumps(annotations)) == annotations


def test_comparing_with_something_else_is_unequal() -> None:
    assert ToolAnnotations() != {"readOnlyHint": None}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"readOnlyHint": "yes"}, "readOnlyHint must be bool"),
        ({"title": 3}, "title must be str"),
        ({"max_result_size_chars": True}, "maxResultSizeChars must be int"),
        ({"readOnlyHint": True, "read_only_hint": True}, "given twice"),
    ],
)
def test_wrong_values_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ToolAnnotations(**fields)


def test_a_field_that_does_not_exist_is_named() -> None:
    with pytest.raises(AttributeError, match="readonly"):
        _ = ToolAnnotations().readonly


def test_other_forms_are_understood() -> None:
    assert annotations_of(None) is None
    assert annotations_of({"read_only_hint": True}) == ToolAnnotations(readOnlyHint=True)
    assert annotations_of(PydanticLike()) == ToolAnnotations(readOnlyHint=True, title="Weather")
    with pytest.raises(TypeError, match="annotations must be"):
        annotations_of(7)


def test_result_size_travels_as_meta() -> None:
    said, meta = protocol_annotations(ToolAnnotations(readOnlyHint=True, maxResultSizeChars=1000))
    assert said == {"readOnlyHint": True}
    assert meta == {RESULT_SIZE_META: 1000}
    assert protocol_annotations(None) == ({}, {})
