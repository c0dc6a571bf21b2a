"""Arguments that a tool of the stateless era (2026-07-28) wants repeated as HTTP headers: `x-mcp-header` in its schema.

Whatever stands between us and the server can then route by them without reading bodies. Reads the marks of a schema and takes
the values of a call; knows no link. A mark that is not allowed makes its tool unusable, because the server would act on one
value and the one between on another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

MARK = "x-mcp-header"
PREFIX = "mcp-param-"
HEADER_MISMATCH = -32020
"""The code of a server that found other headers than its schema, as it is now, asks for."""
Marks = dict[str, tuple[str, ...]]
"""A header's name (lower case, with its prefix) → where its value stands in the arguments."""
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_KINDS = ("string", "integer", "boolean")
_MAX_DEPTH = 32
_MAX_EXACT_SIZE = 2**53


class BadMark(Exception):
    """A mark that is not allowed; the text says why."""


def marks_of(schema: Mapping[str, Any]) -> Marks:
    """The marked parameters of an input schema. Raises `BadMark`."""
    marks: Marks = {}
    for path, mark, inner in _marked(schema, (), _MAX_DEPTH):
        name = _name_of(mark, inner, path)
        if name in marks:
            raise BadMark(f"two parameters ask for the header {name}")
        marks[name] = path
    return marks


def _marked(schema: Any, path: tuple[str, ...], depth: int) -> Iterator[tuple[tuple[str, ...], Any, Mapping[str, Any]]]:
    """Every mark, with the way to it. Ways other than `properties` cannot be followed in the arguments: they raise."""
    if not isinstance(schema, Mapping) or depth == 0:
        return
    if MARK in schema:
        yield path, schema[MARK], schema
    for key, inner in schema.items():
        if key == "properties" and isinstance(inner, Mapping):
            for name, parameter in inner.items():
                yield from _marked(parameter, (*path, str(name)), depth - 1)
        elif key not in ("enum", "default", "const", "examples") and _holds_mark(inner, depth - 1):
            raise BadMark(f"{MARK} below {str(key)[:100]!r}, where no argument can be told")


def _holds_mark(part: Any, depth: int) -> bool:
    if depth == 0:
        return False
    if isinstance(part, Mapping):
        return MARK in part or any(_holds_mark(inner, depth - 1) for inner in part.values())
    return isinstance(part, list) and any(_holds_mark(inner, depth - 1) for inner in part)


def _name_of(mark: Any, parameter: Mapping[str, Any], path: tuple[str, ...]) -> str:
    where = ".".join(path)[:100] or "the whole input"
    if not path:
        raise BadMark(f"{MARK} on the whole input")
    if not isinstance(mark, str) or not _TOKEN.fullmatch(mark):
        raise BadMark(f"the name of a header for {where!r} is not allowed")
    if parameter.get("type") not in _KINDS:
        raise BadMark(f"{where!r} is no {', '.join(_KINDS[:-1])} or {_KINDS[-1]}, and cannot be a header")
    return PREFIX + mark.lower()


def values_of(marks: Marks, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Header → value as text; nothing for what is not given or null. What fits no header is left to the server to refuse."""
    values = {name: _text(_at(path, arguments)) for name, path in marks.items()}
    return {name: value for name, value in values.items() if value is not None}


def _at(path: tuple[str, ...], arguments: Any) -> Any:
    for name in path:
        arguments = arguments.get(name) if isinstance(arguments, Mapping) else None
    return arguments


def _text(value: Any) -> str | None:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int():
            return str(value)
        case float() if value.is_integer() and abs(value) <= _MAX_EXACT_SIZE:
            return str(int(value))
    return None
