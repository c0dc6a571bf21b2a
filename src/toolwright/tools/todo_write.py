"""TodoWrite: the list of tasks that the model keeps while it works. It lives as long as the session, and touches no file."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from toolwright.tools.base import BuiltinTool, ToolContext, ToolFailure, ToolOutput


class TodoItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    content: Annotated[str, Meta(min_length=1)]
    status: Literal["pending", "in_progress", "completed"]
    activeForm: Annotated[str, Meta(min_length=1)]


class TodoWriteInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    todos: Annotated[list[TodoItem], Meta(description='The whole list, e.g. content "Run tests", activeForm "Running tests"')]


class TodoWrite(BuiltinTool):
    name = "TodoWrite"
    description = (
        "Replaces your list of tasks, which the person sees. Use it for work of several steps; keep one task in_progress and "
        "mark each completed as soon as it is."
    )
    Input = TodoWriteInput

    async def perform(self, parsed: TodoWriteInput, context: ToolContext) -> ToolOutput:
        working = [todo.activeForm for todo in parsed.todos if todo.status == "in_progress"]
        if len(working) > 1:
            named = "; ".join(working)
            raise ToolFailure(f"Only one task can be in_progress, and {len(working)} are: {named}. The list is unchanged.")
        standing = context.standing
        old, standing.todos = standing.todos, msgspec.to_builtins(parsed.todos)
        if standing.todos != old:
            standing.todos_changed(standing.todos)
        done = sum(todo.status == "completed" for todo in parsed.todos)
        now = f" In progress: {working[0]}." if working else ""
        text = f"The list is kept: {done} of {len(parsed.todos)} done.{now}" if parsed.todos else "The list is empty now."
        return ToolOutput(text, {"oldTodos": old, "newTodos": standing.todos})
