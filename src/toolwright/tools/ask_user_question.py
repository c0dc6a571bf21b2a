"""AskUserQuestion: up to four questions to the person, each with a few answers to choose from.

The person's answers come with the permission answer, as `answers` in the changed input; the model itself cannot give any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from toolwright.tools.base import BuiltinTool, Effects, InvalidInput, ToolContext, ToolFailure, ToolOutput

if TYPE_CHECKING:
    from toolwright.workspace import Workspace


class Option(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    label: Annotated[str, Meta(min_length=1)]
    description: str = ""
    preview: str | None = None


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    question: Annotated[str, Meta(min_length=1)]
    header: Annotated[str, Meta(max_length=12)]
    options: Annotated[list[Option], Meta(min_length=2, max_length=4)]
    multiSelect: bool = False


Questions = Annotated[list[Question], Meta(min_length=1, max_length=4, description="1 to 4")]


class AskUserQuestionInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    questions: Questions


class AnsweredQuestions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The input as it comes back from the person."""

    questions: Questions
    answers: dict[str, str | list[str]] = {}
    response: str | None = None
    """What they said instead of, or beside, choosing."""
    annotations: dict[str, Any] = {}


class AskUserQuestion(BuiltinTool):
    name = "AskUserQuestion"
    description = "Asks the person, when the task cannot be decided without them. They may also answer in their own words."
    Input = AskUserQuestionInput
    timeout = None

    def parse(self, raw: dict[str, Any]) -> Any:
        parsed: AskUserQuestionInput = super().parse(raw)
        texts = [question.question for question in parsed.questions]
        if len(set(texts)) < len(texts):
            raise InvalidInput("InputValidationError: AskUserQuestion failed: two questions are the same")
        return AnsweredQuestions(parsed.questions)

    def parse_answered(self, raw: dict[str, Any]) -> AnsweredQuestions:
        """What the person's program gives back. Raises `InvalidInput`."""
        try:
            return msgspec.convert(raw, AnsweredQuestions)
        except msgspec.ValidationError as error:
            shape = "updated_input must be the questions and {answers: {question: label}}"
            raise InvalidInput(f"The answer to AskUserQuestion was not understood ({error}): {shape}.") from None

    def effects(self, parsed: Any, workspace: Workspace) -> Effects:
        return Effects(must_ask=True)

    async def perform(self, parsed: AnsweredQuestions, context: ToolContext) -> ToolOutput:
        answers = {
            question: ", ".join(given) if isinstance(given, list) else given for question, given in parsed.answers.items()
        }
        if not answers and not parsed.response:
            raise ToolFailure("The question was let through, but no answer came with it. Decide yourself, or ask in your text.")
        asked = [question.question for question in parsed.questions]
        lines = [f"- {question}: {answers.get(question, '(not answered)')}" for question in asked]
        lines += [f"- {question}: {answer}" for question, answer in answers.items() if question not in asked]
        said = [f"They also said: {parsed.response}"] if parsed.response else []
        structured: dict[str, Any] = {"questions": msgspec.to_builtins(parsed.questions), "answers": answers}
        more = {"response": parsed.response, "annotations": parsed.annotations}
        structured |= {key: value for key, value in more.items() if value}
        return ToolOutput("\n".join(["The person answered:", *lines, *said]), structured)
