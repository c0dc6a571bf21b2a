"""`ToolAnnotations`: what a tool says of itself (read-only, destructive, …). Hints only: nothing here enforces them.

A light stand-in for the pydantic class that MCP's Python package has. It takes and shows both spellings of every field, and
objects of that class (or plain dicts) are understood wherever annotations are taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RESULT_SIZE_META = "anthropic/maxResultSizeChars"
"""The key of a tool's `_meta` under which `maxResultSizeChars` travels."""

_SPELLINGS = {
    "title": "title",
    "read_only_hint": "readOnlyHint",
    "destructive_hint": "destructiveHint",
    "idempotent_hint": "idempotentHint",
    "open_world_hint": "openWorldHint",
    "max_result_size_chars": "maxResultSizeChars",
}
_EXPECTED: dict[str, type] = {
    "title": str,
    "readOnlyHint": bool,
    "destructiveHint": bool,
    "idempotentHint": bool,
    "openWorldHint": bool,
    "maxResultSizeChars": int,
}


class ToolAnnotations:
    """Hints about a tool. `ToolAnnotations(readOnlyHint=True)` and `ToolAnnotations(read_only_hint=True)` are the same.

    Fields: title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint, maxResultSizeChars; None means "not said".
    Other keywords are kept as they are: the protocol allows a server to say more.
    """

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(dict.fromkeys(_EXPECTED))
        given: set[str] = set()
        for spelling, value in fields.items():
            field = _SPELLINGS.get(spelling, spelling)
            if field in given:
                raise TypeError(f"ToolAnnotations: {field!r} is given twice, in both spellings; keep one of them")
            given.add(field)
            setattr(self, field, value)

    def __getattr__(self, name: str) -> Any:
        field = _SPELLINGS.get(name)
        if field is None or field == name:
            raise AttributeError(f"ToolAnnotations has no field {name!r}; it has {', '.join(self.__dict__)}")
        return self.__dict__[field]

    def __setattr__(self, name: str, value: Any) -> None:
        field = _SPELLINGS.get(name, name)
        self.__dict__[field] = _checked(field, value)

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if isinstance(other, ToolAnnotations) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # changeable, therefore not hashable

    def __repr__(self) -> str:
        said = ", ".join(f"{field}={value!r}" for field, value in self.__dict__.items() if value is not None)
        return f"ToolAnnotations({said})"

    def model_dump(self, *, exclude_none: bool = False, by_alias: bool = True, mode: str = "python") -> dict[str, Any]:
        """The fields as a dict, for code that expects pydantic's method of this name. `by_alias=False`: snake_case keys."""
        spelling = {} if by_alias else {camel: snake for snake, camel in _SPELLINGS.items()}
        return {
            spelling.get(field, field): value for field, value in self.__dict__.items() if not (exclude_none and value is None)
        }


def _checked(field: str, value: Any) -> Any:
    expected = _EXPECTED.get(field)
    if value is None or expected is None:
        return value
    if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
        raise TypeError(f"ToolAnnotations: {field} must be {expected.__name__} or None, not {value!r}")
    return value


def annotations_of(given: Any) -> ToolAnnotations | None:
    """Annotations in any form we take: ours, MCP's pydantic class, a dict (either spelling), or None."""
    if given is None or isinstance(given, ToolAnnotations):
        return given
    if isinstance(given, Mapping):
        return ToolAnnotations(**given)
    if hasattr(given, "model_dump"):
        return ToolAnnotations(**given.model_dump(by_alias=True, exclude_none=True))
    raise TypeError(f"annotations must be ToolAnnotations, a dict or None, not {type(given).__name__}")


def protocol_annotations(given: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The (annotations, _meta) of a tool as MCP writes them: camelCase, only what was said."""
    annotations = annotations_of(given)
    if annotations is None:
        return {}, {}
    said = annotations.model_dump(exclude_none=True)
    size = said.pop("maxResultSizeChars", None)
    return said, {} if size is None else {RESULT_SIZE_META: size}
