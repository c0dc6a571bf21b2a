"""From what a person writes to JSON Schema: `{"a": int}`, a TypedDict, a dataclass, a pydantic model, or any annotation.

Two readings of a type. *Declared* schemas (given to `@tool`) follow the published SDK: `Optional[X]` is described as `X`, and a
type without a JSON shape is a string. *Inferred* ones (from a signature) are exact: None is said, and a type that cannot be
described is an error. Knows types and JSON Schema; knows no functions and no calls.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections import abc
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from toolwright.mcp.author.docstrings import parse_docstring

Schema = dict[str, Any]

_PRIMITIVES = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}
_SEQUENCES = (
    list,
    abc.Sequence,
    abc.MutableSequence,
    abc.Iterable,
    abc.Collection,
)
_SETS = (set, frozenset, abc.Set, abc.MutableSet)
_MAPPINGS = (dict, abc.Mapping, abc.MutableMapping)


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """One property of an object: a parameter of a function, a field of a class."""

    name: str
    annotation: Any
    required: bool
    description: str = ""
    default: Any = None


def input_schema_of(declared: Any) -> Schema:
    """The JSON Schema of an `input_schema` in any form that `@tool` takes."""
    if isinstance(declared, Mapping):
        return _checked_object(dict(declared)) if _is_json_schema(declared) else _simple_schema(declared)
    if not has_fields(declared):
        raise TypeError(
            'input_schema must be a dict such as {"a": int}, a JSON Schema of type "object", or a TypedDict, dataclass or '
            f"pydantic model class, not {declared!r}"
        )
    return object_schema([Field("input", declared, required=True)], declared=is_typed_dict(declared), only="input")


def object_schema(fields: Iterable[Field], *, declared: bool, only: str = "") -> Schema:
    """The schema of an object with these fields; with `only`, that of the one field itself (which must be an object)."""
    describer = _Describer(declared=declared)
    schema = describer.object_of(fields)
    if only:
        schema = schema["properties"][only]
        if "$ref" in schema:
            schema = dict(describer.definitions[schema["$ref"].rpartition("/")[2]])
    elif not declared:
        schema["additionalProperties"] = False  # a Python function cannot take an argument that it does not name
    if describer.definitions:
        schema["$defs"] = describer.definitions
    return schema


def has_fields(annotation: Any) -> bool:
    """Whether this is a class that describes an object by itself."""
    return isinstance(annotation, type) and (
        is_typed_dict(annotation)
        or dataclasses.is_dataclass(annotation)
        or is_pydantic_model(annotation)
        or issubclass(annotation, msgspec.Struct)
    )


def is_typed_dict(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, dict) and hasattr(annotation, "__required_keys__")


def is_pydantic_model(annotation: Any) -> bool:
    """Known by its methods: pydantic itself is never imported."""
    return isinstance(annotation, type) and hasattr(annotation, "model_json_schema") and hasattr(annotation, "model_validate")


def _is_json_schema(declared: Mapping[str, Any]) -> bool:
    return isinstance(declared.get("type"), str) and ("properties" in declared or declared["type"] == "object")


def _checked_object(schema: Schema) -> Schema:
    if schema["type"] != "object":
        raise TypeError(f'a tool\'s input is an object: the JSON Schema\'s "type" must be "object", not {schema["type"]!r}')
    return schema


def _simple_schema(declared: Mapping[str, Any]) -> Schema:
    for name in declared:
        if not isinstance(name, str):
            raise TypeError(f"input_schema: parameter names must be strings, not {name!r}")
    return object_schema([Field(name, annotation, required=True) for name, annotation in declared.items()], declared=True)


class _Describer:
    """Describes annotations one after another and gathers the definitions that they share."""

    def __init__(self, *, declared: bool) -> None:
        self.declared = declared
        self.definitions: dict[str, Schema] = {}
        self._open: dict[type, bool] = {}
        """Classes being described now → whether something inside refers back to them."""

    def object_of(self, fields: Iterable[Field], *, description: str = "") -> Schema:
        fields = list(fields)
        schema: Schema = {"type": "object"} | ({"description": description} if description else {})
        schema["properties"] = {field.name: self._property(field) for field in fields}
        schema["required"] = [field.name for field in fields if field.required]
        return schema

    def _property(self, field: Field) -> Schema:
        try:
            schema = self.describe(field.annotation)
        except TypeError as error:
            raise TypeError(f"{field.name}: {error}") from None
        if field.description and "description" not in schema:
            schema = {**schema, "description": field.description}
        default = _plain(field.default)
        return schema if default is None else {**schema, "default": default}

    def describe(self, annotation: Any) -> Schema:
        annotation = _unaliased(annotation)
        if annotation in (Any, object):
            return {}
        if annotation is None or (isinstance(annotation, type) and annotation in _PRIMITIVES):
            return {"type": _PRIMITIVES[annotation or types.NoneType]}
        if get_origin(annotation) is not None:
            return self._describe_generic(get_origin(annotation), annotation)
        return self._describe_class(annotation) if isinstance(annotation, type) else self._describe_other(annotation)

    def _describe_generic(self, origin: Any, annotation: Any) -> Schema:
        arguments = get_args(annotation)
        if origin is Annotated:
            return self._annotated(annotation)
        if origin is Literal:
            return _enumeration(arguments)
        if origin in (Union, types.UnionType):
            return self._union(arguments)
        if origin is tuple:
            return self._tuple(arguments)
        return self._container(origin, arguments) if _is_container(origin) else self._describe_other(annotation)

    def _describe_class(self, cls: type) -> Schema:
        if issubclass(cls, enum.Enum):
            return _enumeration([member.value for member in cls])
        if is_pydantic_model(cls):
            return self._hoisted(dict(cls.model_json_schema()))  # type: ignore[attr-defined]  # known by its methods
        if is_typed_dict(cls) or dataclasses.is_dataclass(cls):
            return self._class_with_fields(cls)
        if issubclass(cls, PurePath):
            return {"type": "string"}
        if cls is tuple or _is_container(cls):
            return self._container(cls, ())
        return self._describe_other(cls)

    def _describe_other(self, annotation: Any) -> Schema:
        if self.declared and isinstance(annotation, Mapping):
            return dict(annotation)  # a property's own JSON Schema
        try:
            (schema,), definitions = msgspec.json.schema_components([annotation], ref_template="#/$defs/{name}")
        except (TypeError, RuntimeError):
            if self.declared:
                return {"type": "string"}
            raise TypeError(
                f"the type {annotation!r} cannot be described to a model; use a JSON-like type or a dataclass"
            ) from None
        return self._hoisted({**schema, "$defs": definitions})

    def _annotated(self, annotation: Any) -> Schema:
        inner, *metadata = get_args(annotation)
        has_constraints = any(isinstance(item, msgspec.Meta) for item in metadata)
        schema = self._describe_other(annotation) if has_constraints else self.describe(inner)
        description = next(filter(None, map(_described_by, metadata)), "")
        return {**schema, "description": description} if description else schema

    def _union(self, members: tuple[Any, ...]) -> Schema:
        if self.declared:
            members = tuple(member for member in members if member is not types.NoneType)
        schemas = [self.describe(member) for member in members]
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}

    def _tuple(self, members: tuple[Any, ...]) -> Schema:
        if len(members) == 2 and members[1] is Ellipsis:
            return {"type": "array", "items": self.describe(members[0])}
        items = [self.describe(member) for member in members]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}

    def _container(self, origin: Any, arguments: tuple[Any, ...]) -> Schema:
        if origin in _MAPPINGS:
            values = self.describe(arguments[1]) if len(arguments) == 2 else {}
            return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
        items = self.describe(arguments[0]) if arguments else {}
        schema: Schema = {"type": "array", "items": items} if items else {"type": "array"}
        return {**schema, "uniqueItems": True} if origin in _SETS else schema

    def _class_with_fields(self, cls: type) -> Schema:
        if cls in self._open:
            self._open[cls] = True
            return {"$ref": f"#/$defs/{cls.__name__}"}
        self._open[cls] = False
        schema = self.object_of(_fields_of(cls), description=parse_docstring(_own_docstring(cls)).summary)
        if not self._open.pop(cls):
            return schema
        self._define(cls.__name__, schema)
        return {"$ref": f"#/$defs/{cls.__name__}"}

    def _hoisted(self, schema: Schema) -> Schema:
        """References are written from the root, so the definitions have to stand there."""
        for name, definition in schema.pop("$defs", {}).items():
            self._define(name, definition)
        return schema

    def _define(self, name: str, definition: Schema) -> None:
        if self.definitions.setdefault(name, definition) != definition:
            raise TypeError(f"two different classes named {name!r} are used in one tool; rename one of them")


def _fields_of(cls: type) -> list[Field]:
    documented = parse_docstring(_own_docstring(cls)).parameters
    hints = get_type_hints(cls, include_extras=True)
    if is_typed_dict(cls):
        return [_typed_dict_field(cls, name, hint, documented.get(name, "")) for name, hint in hints.items()]
    return [
        _dataclass_field(item, hints[item.name], documented.get(item.name, "")) for item in dataclasses.fields(cls) if item.init
    ]


def _typed_dict_field(cls: Any, name: str, hint: Any, description: str) -> Field:
    required = name in cls.__required_keys__
    while (origin := get_origin(hint)) is not None and getattr(origin, "_name", "") in ("Required", "NotRequired", "ReadOnly"):
        # with postponed annotations __required_keys__ does not know these: the hint itself does
        required = required if origin._name == "ReadOnly" else origin is typing.Required
        hint = get_args(hint)[0]
    return Field(name, hint, required, description)


def _dataclass_field(item: dataclasses.Field[Any], hint: Any, description: str) -> Field:
    has_default = item.default is not dataclasses.MISSING or item.default_factory is not dataclasses.MISSING
    default = None if item.default is dataclasses.MISSING else item.default
    return Field(item.name, hint, not has_default, item.metadata.get("description", description), default)


def _own_docstring(cls: type) -> str | None:
    generated = f"{cls.__name__}("  # what @dataclass writes when there is none
    return None if cls.__doc__ is None or cls.__doc__.startswith(generated) else cls.__doc__


def _unaliased(annotation: Any) -> Any:
    """What stands behind a NewType or a `type X = …`."""
    while hasattr(annotation, "__supertype__") or (hasattr(annotation, "__value__") and not isinstance(annotation, type)):
        annotation = getattr(annotation, "__supertype__", None) or annotation.__value__
    return annotation


def _is_container(origin: Any) -> bool:
    return origin in _MAPPINGS or origin in _SEQUENCES or origin in _SETS


def _enumeration(values: Iterable[Any]) -> Schema:
    plain = [value.value if isinstance(value, enum.Enum) else value for value in values]
    kinds = {_PRIMITIVES.get(type(value)) for value in plain}
    return ({"type": kinds.pop()} if len(kinds) == 1 and None not in kinds else {}) | {"enum": plain}


def _described_by(metadata: Any) -> str:
    """The description in one item of `Annotated[…]`: a string, or what carries one (Field, Meta, Doc)."""
    if isinstance(metadata, str):
        return metadata
    text = getattr(metadata, "description", None) or getattr(metadata, "documentation", None)
    return text if isinstance(text, str) else ""


def _plain(default: Any) -> Any:
    """A default as JSON, if it can be written so."""
    try:
        return msgspec.to_builtins(default, str_keys=True)
    except (TypeError, ValueError):
        return None
