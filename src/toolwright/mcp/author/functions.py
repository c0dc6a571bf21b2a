"""A typed Python function as a tool's handler: its schema, its arguments made from JSON, its return value made into a result.

Sync functions run in a worker thread, so that one that blocks does not stop the conversation. Python cannot stop a thread:
when the call is cancelled, the thread runs on to its end and its result is dropped. Knows no server and no protocol.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Awaitable, Callable
from pathlib import PurePath
from types import SimpleNamespace
from typing import Any

import msgspec

from toolwright.base.threads import run_in_thread
from toolwright.mcp.author.docstrings import Docstring, parse_docstring
from toolwright.mcp.author.schema import Field, Schema, is_pydantic_model, object_schema
from toolwright.mcp.results import text_result

_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class InvalidArguments(Exception):
    """The arguments fit the schema but not the function's types; the text says which and why."""


class FunctionSignature:
    """What a function takes: as a JSON Schema for the model, and as a way from JSON arguments to a call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = _name_of(function)
        self.documentation = parse_docstring(inspect.getdoc(function))
        self._parameters = _parameters_of(function, self.name)
        annotations = _annotations_of(function, self.name)
        fields = [_field(parameter, annotations, self.documentation) for parameter in self._parameters]
        try:
            self.schema: Schema = object_schema(fields, declared=False)
            self._struct = _struct_for(self.name, fields)
        except TypeError as error:
            raise TypeError(f"{self.name}(): {error}") from None

    def arguments(self, raw: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments of the call. Raises `InvalidArguments`."""
        converted = converted_to(self._struct, raw)
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        for parameter in self._parameters:
            given = getattr(converted, parameter.name)
            value = parameter.default if given is msgspec.UNSET else given
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                positional.append(value)
            else:
                keywords[parameter.name] = value
        return positional, keywords


async def call(function: Callable[..., Any], *positional: Any, **keywords: Any) -> Any:
    """Call a function, sync (in a worker thread) or async, and give its value."""
    if is_async(function):
        return await function(*positional, **keywords)

    def in_thread() -> tuple[Any]:
        return (function(*positional, **keywords),)  # wrapped: trio refuses a thread's coroutine, which may be awaited here

    (value,) = await run_in_thread(in_thread, abandon=True)
    return await value if inspect.isawaitable(value) else value


def is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 — looks at the method, not whether it is callable


def handler_for(
    function: Callable[..., Any], signature: FunctionSignature
) -> Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]:
    """The handler of a tool made of a plain function."""

    async def handler(arguments: dict[str, Any]) -> dict[str, Any]:
        positional, keywords = signature.arguments(arguments)
        return result_of(await call(function, *positional, **keywords))

    return handler


def result_of(value: Any) -> dict[str, Any]:
    """A plain function's value as a tool result: text as it is, MCP content as it is, anything else as JSON text."""
    if isinstance(value, str):
        return text_result(value)
    if value is None:
        return text_result("The call finished and returned no value.")
    if _is_content(value):
        return typing.cast("dict[str, Any]", value)
    try:
        return text_result(msgspec.json.encode(value, enc_hook=_encode_other).decode())
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"the function returned a {type(value).__name__} that cannot be written as JSON ({error}); return a string, "
            'a JSON-like value, or {"content": [...]}'
        ) from None


def converted_to(cls: Any, raw: dict[str, Any]) -> Any:
    """`raw` as an instance of a struct, dataclass or pydantic model. Raises `InvalidArguments`."""
    try:
        return _converted(cls, raw)
    except msgspec.ValidationError as error:
        first = error
    try:  # JSON has one kind of number: 3.0 is an integer to JSON Schema, but not to Python
        return _converted(cls, _with_integers(raw))
    except msgspec.ValidationError:
        raise InvalidArguments(str(first)) from None


def _converted(cls: Any, raw: Any) -> Any:
    return msgspec.convert(raw, cls, dec_hook=_convert_other)


def _convert_other(cls: type, value: Any) -> Any:
    if is_pydantic_model(cls):
        return cls.model_validate(value)  # type: ignore[attr-defined]  # known by its methods
    if issubclass(cls, PurePath):
        return cls(value)
    raise TypeError(f"no way to make a {cls.__name__}")


def _encode_other(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"no JSON for {type(value).__name__}")


def _with_integers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _with_integers(item) for key, item in value.items()}
    return [_with_integers(item) for item in value] if isinstance(value, list) else value


def _is_content(value: Any) -> bool:
    blocks = value.get("content") if isinstance(value, dict) else None
    return isinstance(blocks, list) and all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in blocks)


def _name_of(function: Callable[..., Any]) -> str:
    name = getattr(_underlying(function), "__name__", None) or type(function).__name__
    return str(name)


def _parameters_of(function: Callable[..., Any], name: str) -> list[inspect.Parameter]:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{name}() is a generator: a tool gives one result, so return a value instead of yielding")
    parameters = list(inspect.signature(function).parameters.values())
    for parameter in parameters:
        if parameter.kind in _VARIABLE:
            raise TypeError(f"{name}() takes {parameter}: a model must know every argument by name, so name each one")
    return parameters


def _annotations_of(function: Callable[..., Any], name: str) -> dict[str, Any]:
    target = _underlying(function)
    if not inspect.isroutine(target):
        target = type(target).__call__
    parameters = {key: value for key, value in getattr(target, "__annotations__", {}).items() if key != "return"}
    try:
        return typing.get_type_hints(
            SimpleNamespace(__annotations__=parameters), getattr(target, "__globals__", {}), include_extras=True
        )
    except NameError as error:
        raise TypeError(
            f"{name}(): an annotation cannot be resolved ({error}); postponed annotations need their types at module level"
        ) from None


def _underlying(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    unwrapped: Callable[..., Any] = inspect.unwrap(function)
    return unwrapped


def _field(parameter: inspect.Parameter, annotations: dict[str, Any], documentation: Docstring) -> Field:
    required = parameter.default is inspect.Parameter.empty
    return Field(
        parameter.name,
        annotations.get(parameter.name, Any),
        required,
        documentation.parameters.get(parameter.name, ""),
        None if required else parameter.default,
    )


def _struct_for(name: str, fields: list[Field]) -> type[msgspec.Struct]:
    """A struct with these fields; making its decoder now finds types that msgspec cannot convert to, before any call."""
    required = [(field.name, field.annotation) for field in fields if field.required]
    optional = [(field.name, field.annotation, msgspec.UNSET) for field in fields if not field.required]
    struct = msgspec.defstruct(name, [*required, *optional], kw_only=True)
    msgspec.json.Decoder(struct, dec_hook=_convert_other)
    return struct
