"""A person for tests: answers permission questions from a list and remembers what was asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toolwright.types import PermissionResult, ToolPermissionContext

Answer = PermissionResult | Exception | Callable[[dict[str, Any]], PermissionResult]


class Person:
    """A can_use_tool callback. A function among the answers is given the input and makes the answer."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.contexts: list[ToolPermissionContext] = []

    async def __call__(self, name: str, given: dict[str, Any], context: ToolPermissionContext) -> PermissionResult:
        self.asked.append((name, given))
        self.contexts.append(context)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer(given) if callable(answer) else answer

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.asked]
