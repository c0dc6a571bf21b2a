"""The tool seam: what a tool is to the runtime, whether built in, a Python function or an MCP server's.

A tool parses its input (or says what is wrong with it), tells the effects the parsed input would have, and runs. It does not
know permissions, hooks or the conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    from toolwright.workspace import Workspace


class InvalidInput(Exception):
    """The input does not fit the tool's schema; the text tells the model which field, what was expected and what came."""


@dataclass(frozen=True, slots=True)
class Effects:
    """What a call would touch, as data for the permission decision. Paths are absolute."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    command: str | None = None
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a call gives back: `content` for the model, `structured` for programs, `is_error`.

    `is_error` is None for a plain success (the API's default), True for a failure the model should act on.
    """

    content: str | list[dict[str, Any]]
    structured: Any = None
    is_error: bool | None = None


@dataclass(slots=True)
class ToolContext:
    """What a running call may use besides its input."""

    workspace: Workspace
    tool_use_id: str = ""
    session_id: str = ""


class Tool(Protocol):
    """One tool. `name` is the canonical name, as the model calls it."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def input_schema(self) -> dict[str, Any]: ...
    @property
    def read_only(self) -> bool:
        """A read-only call may run beside other read-only calls of the same turn."""
        ...

    def parse(self, raw: dict[str, Any]) -> Any:
        """Validate `raw`; the value goes to `effects` and `run`. Raises `InvalidInput`."""
        ...

    def effects(self, parsed: Any, workspace: Workspace) -> Effects: ...

    async def run(self, parsed: Any, context: ToolContext) -> ToolOutput:
        """Do it. What goes wrong in a foreseeable way is an error output; any exception becomes one as well."""
        ...


class BuiltinTool:
    """The common half of the built-in tools: the input is a msgspec Struct, from which schema and parsing follow.

    A subclass sets `name`, `description`, `Input` (a Struct with `forbid_unknown_fields=True` and `Meta` descriptions), and
    perhaps `read_only` and `field_aliases`.
    """

    name: str = ""
    description: str = ""
    Input: type[Any]
    read_only: bool = False
    field_aliases: Mapping[str, str] = {}
    """Other spellings of a field that are accepted: alias → field."""

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        return flat_schema(self.Input)

    def parse(self, raw: dict[str, Any]) -> Any:
        renamed = {self._field(key, raw): value for key, value in raw.items()}
        try:
            return msgspec.convert(renamed, self.Input)
        except msgspec.ValidationError as error:
            raise InvalidInput(str(error)) from None

    def _field(self, key: str, raw: dict[str, Any]) -> str:
        field_name = self.field_aliases.get(key, key)
        return key if field_name in raw else field_name

    def effects(self, parsed: Any, workspace: Workspace) -> Effects:
        return Effects()


def flat_schema(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of a Struct as a tool's `input_schema`: one object, no `$ref` at the top, no titles."""
    _, definitions = msgspec.json.schema_components([struct], ref_template="#/$defs/{name}")
    top = definitions.pop(struct.__name__)
    top.pop("title", None)
    if definitions:
        top["$defs"] = definitions
    return top
