"""`@tool` in all its forms, and plain functions as tools."""

import functools
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from toolwright.mcp.author.annotations import ToolAnnotations
from toolwright.mcp.author.functions import InvalidArguments
from toolwright.mcp.author.tool import FunctionTool, SdkMcpTool, as_tool, tool

pytestmark = pytest.mark.anyio


class Unit(Enum):
    METRE = "m"
    FOOT = "ft"


@dataclass
class Point:
    x: int
    y: int = 0


class Model:
    """As pydantic's classes look from outside."""

    def __init__(self, name: str) -> None:
        self.name = name

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        return {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

    @classmethod
    def model_validate(cls, value: dict[str, Any]) -> "Model":
        if value["name"] == "bad":
            raise ValueError("name must not be bad")
        return cls(value["name"])

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        return {"name": self.name}


async def text_of(made: SdkMcpTool[Any], arguments: dict[str, Any]) -> str:
    result = await made.handler(arguments)
    (block,) = result["content"]
    return str(block["text"])


def test_the_original_form_keeps_everything_as_given() -> None:
    async def handler(args: dict[str, Any]) -> dict[str, Any]:
        return {"content": []}

    schema = {"a": float}
    annotations = ToolAnnotations(readOnlyHint=True)
    made = tool("add", "Add numbers", schema, annotations=annotations)(handler)
    assert made == SdkMcpTool("add", "Add numbers", schema, handler, annotations)
    assert made.input_schema is schema
    assert made.handler is handler
    assert tool("x", "y", {})(handler).annotations is None


def test_bare_decorator_reads_signature_and_docstring() -> None:
    @tool
    def convert(
        value: float,
        unit: Annotated[Unit, "Unit of the value"],
        mode: Literal["fast", "exact"] = "fast",
        digits: int | None = None,
    ) -> str:
        """Convert a length.

        Args:
            value: How long.
            digits: Places after the point.
        """
        return f"{value} {unit} {mode} {digits}"

    assert (convert.name, convert.description) == ("convert", "Convert a length.")
    assert convert.input_schema == {
        "type": "object",
        "properties": {
            "value": {"type": "number", "description": "How long."},
            "unit": {"type": "string", "enum": ["m", "ft"], "description": "Unit of the value"},
            "mode": {"type": "string", "enum": ["fast", "exact"], "default": "fast"},
            "digits": {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "Places after the point."},
        },
        "required": ["value", "unit"],
        "additionalProperties": False,
    }


def test_a_decorated_function_can_still_be_called() -> None:
    @tool
    def double(a: int) -> int:
        return 2 * a

    assert double(4) == 8


def test_parts_can_be_given_and_the_rest_is_read() -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    assert tool()(add).name == "add"
    named = tool(name="plus", annotations={"readOnlyHint": True})(add)
    assert (named.name, named.description) == ("plus", "Add.")
    assert named.annotations == ToolAnnotations(readOnlyHint=True)
    assert tool("plus", "Sum it up")(add).description == "Sum it up"
    declared = tool(input_schema={"a": int})(lookup_city)
    assert (declared.name, declared.description) == ("lookup_city", "Lookup city")


def test_without_a_docstring_the_name_speaks() -> None:
    assert as_tool(lookup_city).description == "Lookup city"


def lookup_city(name: str) -> str:
    return name.title()


async def test_sync_functions_run_in_a_worker_thread() -> None:
    @tool
    def where() -> int:
        return threading.get_ident()

    assert await text_of(where, {}) != str(threading.get_ident())


async def test_async_functions_run_in_place() -> None:
    @tool
    async def where() -> int:
        return threading.get_ident()

    assert await text_of(where, {}) == str(threading.get_ident())


async def test_arguments_arrive_as_the_annotated_types() -> None:
    @tool
    def show(
        point: Point,
        unit: Unit,
        pair: tuple[int, str],
        path: Path,
        model: Model,
        tags: set[str] | None = None,
    ) -> str:
        return f"{point} {unit} {pair} {type(path).__name__} {model.name} {tags}"

    arguments = {"point": {"x": 1}, "unit": "ft", "pair": [3.0, "a"], "path": "/tmp", "model": {"name": "m"}, "tags": ["t"]}
    assert await text_of(show, arguments) == "Point(x=1, y=0) Unit.FOOT (3, 'a') PosixPath m {'t'}"


async def test_text_that_looks_like_a_number_stays_text_beside_a_whole_float() -> None:
    @tool
    def show(count: int, code: int | str) -> str:
        return repr((count, code))

    assert await text_of(show, {"count": 3.0, "code": "3"}) == "(3, '3')"


async def test_positional_only_and_untyped_parameters() -> None:
    @tool
    def show(a, /, b=2, *, c: int = 3):  # type: ignore[no-untyped-def]  # what is untyped takes anything
        return [a, b, c]

    assert show.input_schema["properties"] == {"a": {}, "b": {"default": 2}, "c": {"type": "integer", "default": 3}}
    assert await text_of(show, {"a": [1], "c": 5}) == "[[1],2,5]"


async def test_a_type_that_does_not_fit_names_the_argument() -> None:
    @tool
    def add(a: int) -> int:
        return a

    with pytest.raises(InvalidArguments, match=r"Expected `int`, got `str`.*\$\.a"):
        await add.handler({"a": "x"})


async def test_what_a_model_class_refuses_is_an_invalid_argument() -> None:
    @tool
    def show(model: Model) -> str:
        return model.name

    with pytest.raises(InvalidArguments, match="name must not be bad"):
        await show.handler({"model": {"name": "bad"}})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        (3, "3"),
        ([1, {"a": None}], '[1,{"a":null}]'),
        ({"a": 1}, '{"a":1}'),
        ({"content": "not blocks"}, '{"content":"not blocks"}'),
        (Point(1), '{"x":1,"y":0}'),
        (Model("m"), '{"name":"m"}'),
        (Path("/tmp"), '"/tmp"'),
        (None, "The call finished and returned no value."),
        ("", ""),
    ],
)
async def test_return_values_become_text(value: Any, text: str) -> None:
    async def give() -> Any:
        return value

    assert await text_of(as_tool(give), {}) == text


async def test_mcp_content_passes_as_it_is() -> None:
    result = {"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}], "is_error": True}

    async def give() -> Any:
        return result

    assert await as_tool(give).handler({}) == result


async def test_a_value_without_json_is_an_error_that_says_so() -> None:
    async def give() -> Any:
        return object()

    with pytest.raises(TypeError, match="returned a object that cannot be written as JSON"):
        await as_tool(give).handler({})


class Doubler:
    """Doubles."""

    def __call__(self, a: int) -> int:
        return 2 * a

    async def method(self, a: int) -> int:
        return 3 * a


async def test_methods_partials_and_callable_objects_are_functions_too() -> None:
    assert await text_of(as_tool(Doubler().method), {"a": 2}) == "6"
    made = as_tool(Doubler())
    assert made.name == "Doubler"
    assert await text_of(made, {"a": 2}) == "4"
    partial = as_tool(functools.partial(Doubler.method, Doubler()))
    assert partial.name == "method"
    assert await text_of(partial, {"a": 2}) == "6"
    wrapped = as_tool(functools.wraps(lookup_city)(lambda name: lookup_city(name)))
    assert await text_of(wrapped, {"name": "new york"}) == "New York"


def test_a_tool_of_another_package_is_understood_by_its_fields() -> None:
    class Foreign:
        name, description, input_schema = "x", "y", {"a": int}

        async def handler(self, args: dict[str, Any]) -> dict[str, Any]:
            return {"content": []}

    made = as_tool(Foreign())
    assert (made.name, made.description, made.input_schema, made.annotations) == ("x", "y", {"a": int}, None)
    assert as_tool(made) is made


def rest(*names: str) -> str:
    return ""


def keywords(**options: str) -> str:
    return ""


async def stream() -> AsyncIterator[str]:
    yield "a"


def opaque(lock: threading.Event) -> str:
    return ""


def postponed(value: "Missing") -> str:  # type: ignore[name-defined]  # noqa: F821 — it is missing, that is the test
    return ""


def two_shapes(value: Point | dict[str, int]) -> str:
    return ""


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (rest, r"rest\(\) takes \*names: str: a model must know every argument by name"),
        (keywords, r"keywords\(\) takes \*\*options"),
        (stream, "is a generator"),
        (opaque, r"opaque\(\): lock: the type .* cannot be described"),
        (postponed, r"postponed\(\): an annotation cannot be resolved .*Missing"),
        (two_shapes, r"two_shapes\(\): Type unions may not contain more than one dict-like type"),
        (lambda a: a, "has no name of its own"),
        (Doubler, "not <class"),
        (3, "a tool is a function"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_when_decorated(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        tool(function)


def test_a_return_annotation_that_cannot_be_resolved_does_not_matter() -> None:
    def fine(a: int) -> "Missing":  # type: ignore[name-defined]  # noqa: F821 — only the parameters are read
        return a

    assert isinstance(as_tool(fine), FunctionTool)
