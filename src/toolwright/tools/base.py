"""The tool seam: what a tool is to the runtime, whether built in, a Python function or an MCP server's.

A tool parses its input (or says what is wrong with it), tells the effects the parsed input would have, and runs. It does not
know permissions, hooks or the conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import msgspec
from msgspec import Struct, field

from toolwright.tools.session_state import Standing
from toolwright.workspace import WorkspaceError

if TYPE_CHECKING:
    from toolwright.workspace import Workspace

FILE_TIMEOUT = 30.0


class InvalidInput(Exception):
    """The input does not fit the tool's schema; the text tells the model which field, what was expected and what came."""


class ToolFailure(Exception):
    """A built-in tool could not do what was asked; the text is the error result."""


class Effects(Struct, frozen=True):
    """What a call would touch, as data for the permission decision. Paths are absolute."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    opens: Mapping[str, str] = field(default_factory=dict)
    """The files and folders that are opened: as written → where that leads, links resolved."""
    searches: bool = False
    """Whether the call is about all that lies below its folder."""
    command: str | None = None
    hosts: tuple[str, ...] = ()
    cwd: str | None = None
    """The folder that relative paths of `command` start from."""
    sandboxed: bool = False
    """Whether `command` runs in a sandbox that needs no permission."""
    stopped_in_cage: bool = False
    """Whether the very same command was stopped by the cage before."""
    must_ask: bool = False
    """Whether a person has to see this call, whatever the rules say."""
    no_longer_approved: str = ""
    """Why what was allowed before is not allowed by that any more, if so."""


def reading(workspace: Workspace, *paths: str, searches: bool = False) -> Effects:
    """The effects of a call that only reads these files or folders."""
    touched = [workspace.touched_paths(path) for path in paths]
    opens = {spelled[-1]: spelled[0] for spelled in touched}
    return Effects(reads=tuple(dict.fromkeys(chain(*touched))), opens=opens, searches=searches)


def writing(workspace: Workspace, *paths: str) -> Effects:
    """The effects of a call that changes these files."""
    read = reading(workspace, *paths)
    return Effects(writes=read.reads, opens=read.opens)


class ToolOutput(Struct, frozen=True):
    """What a call gives back: `content` for the model, `structured` for programs, `is_error`.

    `is_error` is None for a plain success (the API's default), True for a failure the model should act on.
    """

    content: str | list[dict[str, Any]]
    structured: Any = None
    is_error: bool | None = None

    @property
    def text(self) -> str:
        """The words in the content."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(block.get("text", "") for block in self.content if block.get("type") == "text")


def nothing_hidden(path: str) -> bool:
    """For sessions without rules that deny reading."""
    return False


def no_earlier_result(tool_use_id: str) -> Any:
    """For calls that belong to no conversation."""
    return None


class ToolContext(Struct):
    """What a running call may use besides its input."""

    workspace: Workspace
    tool_use_id: str = ""
    session_id: str = ""
    hidden: Callable[[str], bool] = nothing_hidden
    """Whether a rule denies reading this absolute path: what lists or searches leaves such files out, also of its totals."""
    earlier_result: Callable[[str], Any] = no_earlier_result
    """What the result of an earlier call, by its id, says in the conversation as it now is; None if it has left it."""
    longest_served: int = 100_000
    """How many characters of a tool server's result are shown; a longer one is kept in a file."""
    standing: Standing = field(default_factory=Standing)
    """The session's list of tasks and its permission mode."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """The input as the model gave it, before hooks and people changed it."""
    caged: bool = False
    """Whether nobody was asked about this call: a command then runs in the cage."""
    granted: tuple[str, ...] = ()
    """The real paths that somebody allowed this call to open, if one of them lies outside the working folders."""


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

    A subclass sets `name`, `description`, `Input` (a Struct with `forbid_unknown_fields=True` and `Meta` descriptions), perhaps
    `read_only`, `field_aliases` and `timeout`, and does its work in `perform`.
    """

    name: str = ""
    description: str = ""
    Input: type[Any]
    read_only: bool = False
    field_aliases: Mapping[str, str] = {}
    """Other spellings of a field that are accepted: alias → field."""
    timeout: float | None = FILE_TIMEOUT
    """Seconds until the call is given up; None if the tool sees to that itself."""

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        return flat_schema(self.Input)

    def parse(self, raw: dict[str, Any]) -> Any:
        try:
            return msgspec.convert(raw, self.Input)
        except msgspec.ValidationError:
            return self._parse_leniently(raw)

    def parse_answered(self, raw: dict[str, Any]) -> Any:
        """`parse` for an input that a person, or a hook in their place, gave back with the permission."""
        return self.parse(raw)

    def objection(self, parsed: Any, standing: Standing) -> str | None:
        """Why the call makes no sense as the session stands, said before anybody is asked about it."""
        return None

    def effects(self, parsed: Any, workspace: Workspace) -> Effects:
        return Effects()

    async def run(self, parsed: Any, context: ToolContext) -> ToolOutput:
        try:
            if self.timeout is None:
                return await self.perform(parsed, context)
            with anyio.move_on_after(self.timeout):
                return await self.perform(parsed, context)
        except (ToolFailure, WorkspaceError) as failure:
            return ToolOutput(str(failure), is_error=True)
        except OSError as error:
            return ToolOutput(f"{self.name} failed: {describe_os_error(error)}", is_error=True)
        return ToolOutput(f"{self.name} was stopped: it took longer than {self.timeout:g} seconds.", is_error=True)

    async def perform(self, parsed: Any, context: ToolContext) -> ToolOutput:
        """The work itself. Raises `ToolFailure` (or what the workspace raises) for an error result."""
        raise NotImplementedError

    def _parse_leniently(self, raw: dict[str, Any]) -> Any:
        """Aliases count as the fields they mean, and null for an optional field as leaving it out."""
        fields = {field.encode_name: field for field in msgspec.structs.fields(self.Input)}
        renamed = self.renamed(raw)
        given = {key: value for key, value in renamed.items() if value is not None or key not in fields or fields[key].required}
        try:
            return msgspec.convert(given, self.Input)
        except msgspec.ValidationError as error:
            issues = [*_missing(fields, given), *_unexpected(fields, given)] or [_mismatch(str(error), given)]
            noun = "issue" if len(issues) == 1 else "issues"
            text = f"InputValidationError: {self.name} failed due to the following {noun}:\n" + "\n".join(issues)
            raise InvalidInput(text) from None

    def renamed(self, raw: dict[str, Any]) -> dict[str, Any]:
        """The input with every field under its own name instead of an alias."""
        return {self._field(key, raw): value for key, value in raw.items()}

    def _field(self, key: str, raw: dict[str, Any]) -> str:
        field_name = self.field_aliases.get(key, key)
        return key if field_name in raw else field_name


def _missing(fields: Mapping[str, msgspec.structs.FieldInfo], given: Mapping[str, Any]) -> list[str]:
    return [f"The required parameter `{name}` is missing" for name in fields if fields[name].required and name not in given]


def _unexpected(fields: Mapping[str, msgspec.structs.FieldInfo], given: Mapping[str, Any]) -> list[str]:
    known = ", ".join(fields)
    return [f"An unexpected parameter `{name}` was provided (known: {known})" for name in given if name not in fields]


def _mismatch(message: str, given: Mapping[str, Any]) -> str:
    """msgspec's "Expected `int`, got `str` - at `$.offset`" with the field first and what came."""
    problem, _, place = message.partition(" - at `$")
    name = place.rstrip("`").removeprefix(".")
    if name not in given:
        return f"The parameters do not fit: {message}"
    value = repr(given[name])
    came = value if len(value) <= 100 else f"{value[:100]}…"
    return f"The parameter `{name}` does not fit: {problem[:1].lower()}{problem[1:]}; provided: {came}"


def describe_os_error(error: OSError) -> str:
    """The system's words, with the file they are about."""
    where = f" ({error.filename})" if isinstance(error.filename, str) else ""
    return f"{error.strerror or error}{where}."


def flat_schema(struct: type[Struct]) -> dict[str, Any]:
    """The JSON Schema of a Struct as a tool's `input_schema`: one object, no `$ref`, no titles."""
    _, definitions = msgspec.json.schema_components([struct], ref_template="{name}")
    top: dict[str, Any] = _inlined({"$ref": struct.__name__}, definitions)
    return top


def _inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """`schema` with every reference replaced by what it refers to; Structs of ours do not hold themselves."""
    if isinstance(schema, list):
        return [_inlined(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        whole = {key: value for key, value in definitions[schema["$ref"]].items() if key != "title"}
        return _inlined(whole, definitions)
    return {key: _inlined(value, definitions) for key, value in schema.items()}
