"""`@tool`: a Python function as a tool definition. `SdkMcpTool` is what it gives; `create_sdk_mcp_server` takes them.

Three ways to write one: with name, description and schema, as in the published SDK (the handler takes one dict of arguments and
returns MCP content); with some of these left out, or bare, and the rest is read from the typed signature and the docstring; or
not at all: `as_tool` takes a plain function. Knows no server.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, overload

from toolwright.mcp.author.annotations import ToolAnnotations, annotations_of
from toolwright.mcp.author.docstrings import parse_docstring
from toolwright.mcp.author.functions import FunctionSignature, handler_for

T = TypeVar("T")


@dataclass
class SdkMcpTool(Generic[T]):
    """A tool: what the model is told of it, and the handler that runs when the model calls it."""

    name: str
    description: str
    input_schema: type[T] | dict[str, Any]
    handler: Callable[[T], Awaitable[dict[str, Any]]]
    annotations: ToolAnnotations | None = None
    output_schema: dict[str, Any] | None = None
    """A JSON Schema that the result's `structuredContent` must fit."""


@dataclass
class FunctionTool(SdkMcpTool[Any]):
    """A tool made of a typed function. Calling it calls the function, so the decorated name still works as before."""

    function: Callable[..., Any] = field(kw_only=True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


@overload
def tool(name: Callable[..., Any], /) -> FunctionTool: ...
@overload
def tool(
    name: str,
    description: str,
    input_schema: type[Any] | dict[str, Any],
    annotations: Any = None,
    *,
    output_schema: dict[str, Any] | None = None,
) -> Callable[[Callable[..., Any]], SdkMcpTool[Any]]: ...
@overload
def tool(
    name: str | None = None,
    description: str | None = None,
    input_schema: None = None,
    annotations: Any = None,
    *,
    output_schema: dict[str, Any] | None = None,
) -> Callable[[Callable[..., Any]], FunctionTool]: ...
@overload
def tool(
    name: str | None = None,
    description: str | None = None,
    *,
    input_schema: type[Any] | dict[str, Any],
    annotations: Any = None,
    output_schema: dict[str, Any] | None = None,
) -> Callable[[Callable[..., Any]], SdkMcpTool[Any]]: ...
def tool(
    name: str | Callable[..., Any] | None = None,
    description: str | None = None,
    input_schema: type[Any] | dict[str, Any] | None = None,
    annotations: Any = None,
    *,
    output_schema: dict[str, Any] | None = None,
) -> Any:
    """Make a tool of the function below.

    `@tool("add", "Add two numbers", {"a": float, "b": float})`: the function takes one dict with these arguments and returns
    `{"content": [...]}`. Without `input_schema` (also `@tool` alone) the function is an ordinary one: its parameters become the
    schema, its docstring the descriptions, its return value the result. `output_schema` is a JSON Schema that the result's
    `structuredContent` must fit. A function that takes a dict may take a second argument, the call's `CallContext`.
    """
    if name is not None and not isinstance(name, str):
        return as_tool(name)

    def decorator(function: Callable[..., Any]) -> SdkMcpTool[Any]:
        if input_schema is None:
            made: SdkMcpTool[Any] = _inferred(function, name=name, description=description, annotations=annotations)
        else:
            made = _declared(function, name=name, description=description, input_schema=input_schema, annotations=annotations)
        made.output_schema = output_schema
        return made

    return decorator


def as_tool(given: Any) -> SdkMcpTool[Any]:
    """A tool from a tool or a plain function. Raises TypeError for anything else."""
    if isinstance(given, SdkMcpTool):
        return given
    if all(hasattr(given, part) for part in ("name", "description", "input_schema", "handler")):
        more = getattr(given, "annotations", None), getattr(given, "output_schema", None)
        return SdkMcpTool(given.name, given.description, given.input_schema, given.handler, *more)
    if callable(given) and not isinstance(given, type):
        return _inferred(given, name=None, description=None, annotations=None)
    raise TypeError(f"a tool is a function or the result of @tool, not {given!r}")


def _declared(
    function: Callable[..., Any],
    *,
    name: str | None,
    description: str | None,
    input_schema: type[Any] | dict[str, Any],
    annotations: Any,
) -> SdkMcpTool[Any]:
    if not callable(function):
        raise TypeError(f"@tool decorates a function, not {function!r}")
    name = _checked_name(name or str(getattr(function, "__name__", "")))
    if description is None:
        description = parse_docstring(function.__doc__).summary or _name_in_words(name)
    return SdkMcpTool(name, description, input_schema, function, annotations_of(annotations))


def _inferred(function: Callable[..., Any], *, name: str | None, description: str | None, annotations: Any) -> FunctionTool:
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"@tool decorates a function, not {function!r}")
    signature = FunctionSignature(function)
    name = _checked_name(name or signature.name)
    if description is None:
        description = signature.documentation.summary or _name_in_words(name)
    handler = handler_for(function, signature)
    return FunctionTool(name, description, signature.schema, handler, annotations_of(annotations), function=function)


def _checked_name(name: str) -> str:
    if not name or name == "<lambda>":
        raise TypeError("this function has no name of its own; give the tool one: tool(name=...)")
    return name


def _name_in_words(name: str) -> str:
    return name.replace("_", " ").strip().capitalize()
