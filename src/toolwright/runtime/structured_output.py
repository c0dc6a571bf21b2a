"""Structured output: a tool whose input schema is the caller's, so that calling it is the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolwright.tools.base import Effects, InvalidInput, ToolContext, ToolOutput
from toolwright.types import OptionsError

if TYPE_CHECKING:
    from toolwright.workspace import Workspace

MAX_ATTEMPTS = 5

REMINDER = "Give your final answer by calling the StructuredOutput tool: its input is the answer."


class StructuredOutput:
    """The StructuredOutput tool of one session. `answer` holds the valid input once it has come."""

    name = "StructuredOutput"
    description = "Give the final answer. Call this exactly once, when the work is done; the input is the answer."
    read_only = False
    __slots__ = ("_validator", "answer", "answered", "failures", "input_schema", "reminded")

    def __init__(self, schema: dict[str, Any]) -> None:
        self._validator = compile_schema(schema)
        self.input_schema = schema
        self.start_turn()

    def start_turn(self) -> None:
        self.answer: dict[str, Any] | None = None
        self.answered = False
        self.failures = 0
        self.reminded = False

    def parse(self, raw: dict[str, Any]) -> dict[str, Any]:
        problems = [describe(error) for error in self._validator.iter_errors(raw)]
        if problems:
            self.failures += 1
            raise InvalidInput("InputValidationError: StructuredOutput does not match the schema:\n" + "\n".join(problems))
        return raw

    def effects(self, parsed: dict[str, Any], workspace: Workspace) -> Effects:
        return Effects()

    async def run(self, parsed: dict[str, Any], context: ToolContext) -> ToolOutput:
        self.answer, self.answered = parsed, True
        return ToolOutput("The answer was taken.")


def compile_schema(schema: dict[str, Any]) -> Any:
    import jsonschema_rs  # 20 ms that only structured output needs to pay

    if schema.get("type") != "object":
        raise OptionsError(f"output_format: the schema's top must have type 'object', not {schema.get('type')!r}")
    try:
        return jsonschema_rs.validator_for(
            schema, retriever=_refuse_to_retrieve
        )  # by itself it would fetch addresses and files
    except (ValueError, jsonschema_rs.ValidationError) as error:
        raise OptionsError(f"output_format: not a valid JSON Schema: {error}") from None


def _refuse_to_retrieve(uri: str) -> Any:
    raise ValueError(f"it refers to another document ({uri}); put that under $defs instead")


def describe(error: Any) -> str:
    place = "/".join(str(part) for part in error.instance_path)
    return f"- {place or 'the answer'}: {error.message}"
