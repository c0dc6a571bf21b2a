"""Schemas that a server wrote: used only where checking against them is known to be little work.

Some small schemas take longer than anybody lives: references that double on every level, patterns that backtrack. What could be
such a schema is not used, which loses a check and nothing else. Pure.
"""

from __future__ import annotations

from typing import Any

from toolwright.mcp.validation import InputValidator, InvalidSchema

MAX_PARTS = 2000
"""Parts of a schema with every reference written out."""
MAX_WORK = 10_000_000
"""Parts of the schema times values in what is checked."""
_OTHER_REFERENCES = ("$dynamicRef", "$recursiveRef", "$id")
_OLD = ("draft-03", "draft-04")
"""Drafts in which `id` moves what a reference means."""


class ForeignValidator:
    """Checks values against a schema of somebody else's; `problem` is empty also where nothing can be checked."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._parts = written_out(schema)
        self._validator = InputValidator(schema, plain_patterns=True)

    def problem(self, value: Any) -> str:
        if self._parts is None or self._parts * values_in(value, MAX_WORK // self._parts + 1) > MAX_WORK:
            return ""
        try:
            return self._validator.problem(value)
        except InvalidSchema:
            return ""


def written_out(schema: dict[str, Any]) -> int | None:
    """How many parts a schema has when every reference is replaced by what it means; None if too many, or without end."""
    if any(old in str(schema.get("$schema")) for old in _OLD):
        return None
    waiting: list[tuple[Any, tuple[int, ...]]] = [(schema, (id(schema),))]
    for parts in range(MAX_PARTS + 1):
        if not waiting:
            return parts
        part, way = waiting.pop()
        if isinstance(part, dict):
            if any(isinstance(part.get(key), str) for key in _OTHER_REFERENCES) and part is not schema:
                return None
            if isinstance(reference := part.get("$ref"), str):
                target = meant_by(reference, schema)
                if target is None or id(target) in way:
                    return None
                waiting.append((target, (*way, id(target))))
            waiting += [(inner, way) for inner in part.values()]
        elif isinstance(part, list):
            waiting += [(inner, way) for inner in part]
    return None


def meant_by(reference: str, schema: dict[str, Any]) -> Any:
    """What `#/a/b` means; None for any other reference, and for one to nothing."""
    found: Any = schema
    first, *names = reference.split("/")
    for name in names:
        key = name.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, dict) else None
    return found if first == "#" and names else None


def values_in(value: Any, most: int) -> int:
    """How many values there are, the inner ones counted; at least `most` if there are more."""
    waiting, count = [value], 0
    while waiting and count < most:
        one = waiting.pop()
        count += 1
        if isinstance(one, dict | list):
            waiting += one.values() if isinstance(one, dict) else one
    return count
