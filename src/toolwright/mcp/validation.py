"""Checks a call's arguments against its tool's JSON Schema.

The verdict and the words come from jsonschema-rs. It costs 50 ms to import, so a flat schema of plain types (what most tools
have) is first looked at by a check of our own, which only ever says "certainly valid"; in doubt the library decides.
References to other documents are refused: a schema never makes us open a file or dial a host.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

_PLAIN_TYPES: dict[str, frozenset[type]] = {
    "string": frozenset({str}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "boolean": frozenset({bool}),
}
_WORDS = {"title", "description", "default"}
"""Keywords that tell the reader something and check nothing."""
_MAX_ERRORS, _MAX_MESSAGE_LENGTH = 5, 500
_MAX_PATTERN_SIZE = 64 * 1024
"""Bytes of one compiled pattern, where patterns are somebody else's."""


class InvalidSchema(Exception):
    """The tool's own schema is not valid JSON Schema."""


class InputValidator:
    """One tool's schema, compiled at the first call that needs it."""

    def __init__(self, schema: dict[str, Any], *, plain_patterns: bool = False) -> None:
        """`plain_patterns`: a `pattern` must be one that is matched in linear time (no looking around, no going back)."""
        self._schema = schema
        self._plain_patterns = plain_patterns
        self._plain = _plain_properties(schema)
        self._required = frozenset(schema.get("required", ())) if self._plain is not None else frozenset()

    def problem(self, arguments: Any) -> str:
        """What is wrong with the arguments; empty if nothing is. Raises `InvalidSchema`."""
        if self._certainly_valid(arguments):
            return ""
        try:
            errors = list(self._compiled(arguments))
        except ValueError as error:  # a value that JSON does not have
            return str(error)
        shown = [_described(error) for error in errors[:_MAX_ERRORS]]
        more = [f"and {len(errors) - _MAX_ERRORS} more"] if len(errors) > _MAX_ERRORS else []
        return "; ".join(shown + more)

    def _certainly_valid(self, arguments: Any) -> bool:
        if self._plain is None or type(arguments) is not dict or not arguments.keys() >= self._required:
            return False
        return all(_fits(value, self._plain.get(name)) for name, value in arguments.items())

    @cached_property
    def _compiled(self) -> Callable[[Any], Any]:
        import jsonschema_rs  # slow to load, and many sessions never need it

        linear = jsonschema_rs.RegexOptions(size_limit=_MAX_PATTERN_SIZE) if self._plain_patterns else None
        try:
            return jsonschema_rs.validator_for(self._schema, retriever=_refuse_to_retrieve, pattern_options=linear).iter_errors
        except ValueError as error:
            raise InvalidSchema(_shortened(str(error).partition("\n")[0])) from None


def _plain_properties(schema: dict[str, Any]) -> dict[str, frozenset[type]] | None:
    """Property → the Python types that certainly fit it; None if the schema says more than such a table can."""
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    known = {"type", "properties", "required", "additionalProperties", *_WORDS}
    if schema.get("type") != "object" or not schema.keys() <= known or not isinstance(properties, dict):
        return None
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        return None
    if not isinstance(schema.get("additionalProperties", True), bool):
        return None
    return {name: _plain_types(description) for name, description in properties.items()}


def _plain_types(description: Any) -> frozenset[type]:
    """Empty, so that nothing is certain, when the property says more than its type."""
    if not isinstance(description, dict) or not description.keys() <= {"type", *_WORDS}:
        return frozenset()
    kind = description.get("type")
    return _PLAIN_TYPES.get(kind, frozenset()) if isinstance(kind, str) else frozenset()


def _fits(value: Any, types: frozenset[type] | None) -> bool:
    if types is None or type(value) not in types:
        return False
    if type(value) is str:
        return value.isascii() or _is_encodable(value)
    return type(value) is not float or math.isfinite(value)


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _described(error: Any) -> str:
    place = ".".join(str(step) for step in error.instance_path)
    message = _shortened(error.message)
    return f"{message} (at {place})" if place else message


def _shortened(message: str) -> str:
    left_out = len(message) - _MAX_MESSAGE_LENGTH
    half = _MAX_MESSAGE_LENGTH // 2
    return f"{message[:half]} [{left_out} characters left out] {message[-half:]}" if left_out > 0 else message


def _refuse_to_retrieve(uri: str) -> Any:
    raise ValueError(f"the schema refers to another document ({uri}); put it under $defs instead")
