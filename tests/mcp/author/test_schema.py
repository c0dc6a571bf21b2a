"""The forms of `input_schema`, and the annotations of a signature, as JSON Schema."""

import datetime
import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, NotRequired, Optional, TypedDict

import msgspec
import pytest

from toolwright.mcp.author.schema import Field, input_schema_of, object_schema


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Search(TypedDict):
    """What to look for."""

    query: Annotated[str, "Words to find"]
    limit: NotRequired[int]


class Loose(TypedDict, total=False):
    maybe: str


class Postponed(TypedDict):
    query: "str"
    limit: "NotRequired[int]"


@dataclass
class Point:
    """A place.

    Attributes:
        x: to the right
    """

    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)


@dataclass
class Tree:
    value: int
    children: list["Tree"]


class Model:
    """As pydantic's classes look from outside."""

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        return {"type": "object", "properties": {"inner": {"$ref": "#/$defs/Inner"}}, "$defs": {"Inner": {"type": "string"}}}

    @classmethod
    def model_validate(cls, value: Any) -> "Model":
        return cls()


class Record(msgspec.Struct):
    name: str


def declared(annotation: Any) -> Any:
    return input_schema_of({"value": annotation})["properties"]["value"]


def inferred(annotation: Any) -> Any:
    return object_schema([Field("value", annotation, required=True)], declared=False)["properties"]["value"]


def test_a_dict_of_types_makes_every_key_required() -> None:
    assert input_schema_of({"a": float, "name": str}) == {
        "type": "object",
        "properties": {"a": {"type": "number"}, "name": {"type": "string"}},
        "required": ["a", "name"],
    }
    assert input_schema_of({}) == {"type": "object", "properties": {}, "required": []}


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (list, {"type": "array"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (dict, {"type": "object"}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (dict[str, Any], {"type": "object"}),
        (Optional[int], {"type": "integer"}),  # noqa: UP045 — the older spelling is another object
        (int | None, {"type": "integer"}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
        (Any, {}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (object(), {"type": "string"}),
        (Path, {"type": "string"}),
        (type("Opaque", (), {}), {"type": "string"}),
        ({"type": "integer", "minimum": 0}, {"type": "integer", "minimum": 0}),
    ],
)
def test_declared_types(annotation: Any, schema: dict[str, Any]) -> None:
    assert declared(annotation) == schema


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Literal[1, "a", None], {"enum": [1, "a", None]}),
        (
            tuple[int, str],
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        ),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (tuple, {"type": "array"}),
        (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        (Sequence[str], {"type": "array", "items": {"type": "string"}}),
        (datetime.date, {"type": "string", "format": "date"}),
        (NewType("UserId", int), {"type": "integer"}),
        (Annotated[int, msgspec.Meta(ge=0, description="age")], {"type": "integer", "minimum": 0, "description": "age"}),
        (None, {"type": "null"}),
    ],
)
def test_inferred_types(annotation: Any, schema: dict[str, Any]) -> None:
    assert inferred(annotation) == schema


@pytest.mark.parametrize("typed_dict", [Search, Postponed])
def test_a_typed_dict_knows_what_is_required(typed_dict: Any) -> None:
    schema = input_schema_of(typed_dict)
    assert schema["properties"]["limit"] == {"type": "integer"}
    assert schema["required"] == ["query"]


def test_a_typed_dict_gives_its_descriptions() -> None:
    schema = input_schema_of(Search)
    assert schema["description"] == "What to look for."
    assert schema["properties"]["query"] == {"type": "string", "description": "Words to find"}
    assert input_schema_of(Loose)["required"] == []


def test_a_json_schema_passes_unchanged() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "integer", "minimum": 1}}, "required": ["x"]}
    assert input_schema_of(schema) == schema
    assert input_schema_of({"type": "object"}) == {"type": "object"}


def test_parameters_may_be_called_type_and_properties() -> None:
    assert input_schema_of({"type": str, "properties": dict})["required"] == ["type", "properties"]


def test_a_dataclass_describes_its_fields() -> None:
    assert inferred(Point) == {
        "type": "object",
        "description": "A place.",
        "properties": {
            "x": {"type": "integer", "description": "to the right"},
            "y": {"type": "integer", "default": 0},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["x"],
    }
    assert input_schema_of(Point)["required"] == ["x"]


def test_a_class_that_refers_to_itself_becomes_a_definition() -> None:
    schema = object_schema([Field("tree", Tree, required=True)], declared=False)
    assert schema["properties"]["tree"] == {"$ref": "#/$defs/Tree"}
    assert schema["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    whole = input_schema_of(Tree)
    assert whole["type"] == "object"
    assert "Tree" in whole["$defs"]


def test_a_pydantic_model_gives_its_own_schema_with_definitions_at_the_root() -> None:
    schema = object_schema([Field("model", Model, required=True)], declared=False)
    assert schema["properties"]["model"] == {"type": "object", "properties": {"inner": {"$ref": "#/$defs/Inner"}}}
    assert schema["$defs"] == {"Inner": {"type": "string"}}
    assert input_schema_of(Model) == Model.model_json_schema()


def test_a_struct_is_described() -> None:
    schema = input_schema_of(Record)
    assert schema["type"] == "object"
    assert schema["required"] == ["name"]


def test_two_classes_of_one_name_are_refused() -> None:
    class Other:
        @classmethod
        def model_json_schema(cls) -> dict[str, Any]:
            return {"type": "object", "$defs": {"Inner": {"type": "integer"}}}

        @classmethod
        def model_validate(cls, value: Any) -> "Other":
            return cls()

    fields = [Field("a", Model, required=True), Field("b", Other, required=True)]
    with pytest.raises(TypeError, match="two different classes named 'Inner'"):
        object_schema(fields, declared=False)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (int, "input_schema must be"),
        ("text", "input_schema must be"),
        ({"type": "array", "properties": {}}, 'must be "object"'),
        ({1: int}, "parameter names must be strings"),
    ],
)
def test_other_input_schemas_are_refused(given: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        input_schema_of(given)


def test_an_inferred_type_that_cannot_be_described_is_refused() -> None:
    with pytest.raises(TypeError, match=r"value: the type .* cannot be described"):
        inferred(type("Opaque", (), {}))
