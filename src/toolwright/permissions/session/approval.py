"""Asking about a call: the person behind `can_use_tool` and the PermissionRequest hooks at once; the first answer counts.

A person may take a day; an interrupt ends the question. A callback that fails, hangs, or answers what is no answer, denies
that one call. What the call may do afterwards is the gate's to say.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
from msgspec import Struct

from toolwright.types import (
    CanUseTool,
    MessageParseError,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ToolPermissionContext,
)

if TYPE_CHECKING:
    from toolwright.hooks import HookOutcome
    from toolwright.hooks.session.session_hooks import SessionHooks
    from toolwright.permissions import Decision, PermissionCall
    from toolwright.tools.base import Tool

TIMEOUT = 24 * 3600.0


@dataclass
class AskedContext(ToolPermissionContext):
    """What the host is told, with the fields that only go over the wire."""

    decision_reason_type: str | None = None
    mcp_server: str | None = None
    requires_user_interaction: bool = False


class ApprovalRequest(Struct, frozen=True):
    """A call that somebody has to answer for."""

    tool: Tool
    call: PermissionCall
    decision: Decision
    tool_use_id: str
    offers: list[PermissionUpdate]

    def context(self) -> AskedContext:
        from toolwright.permissions.session.approval_text import description, shown, title
        from toolwright.permissions.suggestions import offered_breadth  # not before a person is asked

        return AskedContext(
            suggestions=self.offers,
            tool_use_id=self.tool_use_id,
            blocked_path=self.decision.blocked_path,
            decision_reason=shown(" ".join(filter(None, (self.decision.reason, offered_breadth(self.offers))))),
            title=title(self.tool, self.call.input),
            display_name=self.call.name,
            description=description(self.call.input),
            decision_reason_type=self.decision.reason_type,
            mcp_server=getattr(self.tool, "server_name", None) if self.call.is_mcp else None,
            requires_user_interaction=self.call.must_ask,
        )


class Approver(Struct, frozen=True):
    """Who can be asked."""

    can_use_tool: CanUseTool | None
    hooks: SessionHooks
    waiting: Callable[[bool], Awaitable[None]]
    """Told True before and False after the person is asked, also when the question was broken off."""
    patience: float = TIMEOUT
    """Seconds after which no answer is a no."""

    async def ask(self, question: ApprovalRequest) -> PermissionResult | None:
        """What a hook or the person answers, whoever is first; None if there is neither."""
        if self.can_use_tool is None:
            return await self._ask_hooks(question)
        self.hooks.person_is_called(f"Your permission is needed to use {question.call.name}.", "permission_prompt")
        await self.waiting(True)
        try:
            return await self._first_answer(question, self.can_use_tool)
        finally:
            await self.waiting(False)

    async def _first_answer(self, question: ApprovalRequest, can_use_tool: CanUseTool) -> PermissionResult | None:
        answers: list[PermissionResult] = []

        async def person() -> None:
            with anyio.move_on_after(self.patience) as waiting:
                answers.append(await ask_person(can_use_tool, question))
            if waiting.cancelled_caught:
                answers.append(no_answer(f"gave no answer within {self.patience:g} seconds"))
            group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(person)
            from_hook = await self._ask_hooks(question)
            if from_hook is not None:
                answers.append(from_hook)
                group.cancel_scope.cancel()
        return answers[0] if answers else None

    async def _ask_hooks(self, question: ApprovalRequest) -> PermissionResult | None:
        call = question.call
        return hook_answer(await self.hooks.permission_is_asked(call.name, call.input, question.offers))


async def ask_person(can_use_tool: CanUseTool, question: ApprovalRequest) -> PermissionResult:
    try:
        answer: object = await can_use_tool(question.call.name, question.call.input, question.context())
    except Exception as error:  # noqa: BLE001 — host boundary: a raising callback denies this one call
        return PermissionResultDeny(message=f"The permission callback failed ({error}); the call was not run.")
    if isinstance(answer, PermissionResultDeny):
        return answer
    if not isinstance(answer, PermissionResultAllow):
        wanted = "not PermissionResultAllow or PermissionResultDeny"
        return no_answer(f"returned {type(answer).__name__}, {wanted}")
    changed: object = answer.updated_input
    if changed is not None and not isinstance(changed, dict):
        return no_answer(f"changed the input to {type(changed).__name__}, which is no dict")
    try:
        return with_updates(answer)
    except (MessageParseError, TypeError) as error:
        return no_answer(f"gave updated_permissions that cannot be read ({error})")


def no_answer(what: str) -> PermissionResultDeny:
    return PermissionResultDeny(message=f"The permission callback {what}; the call was not run.")


def with_updates(answer: PermissionResultAllow) -> PermissionResultAllow:
    """`answer` with its updates as objects; a suggestion that was kept as a dict may be handed back as one."""
    updates: list[Any] = list(answer.updated_permissions or ())
    read = [PermissionUpdate.from_dict(update) if isinstance(update, dict) else update for update in updates]
    if not all(isinstance(update, PermissionUpdate) for update in read):
        raise TypeError("each must be a PermissionUpdate")
    return PermissionResultAllow(updated_input=answer.updated_input, updated_permissions=read or None)


def hook_answer(outcome: HookOutcome | None) -> PermissionResult | None:
    """What PermissionRequest hooks answered in the person's place, if they did."""
    if outcome is None or outcome.decision not in ("allow", "deny"):
        return None
    if outcome.decision == "deny":
        return PermissionResultDeny(message=outcome.reason or "A hook denied this call.", interrupt=outcome.interrupt)
    try:
        updates = [PermissionUpdate.from_dict(update) for update in outcome.updated_permissions]
    except MessageParseError as error:
        return PermissionResultDeny(message=f"A hook's answer cannot be read ({error}); the call was not run.")
    return PermissionResultAllow(updated_input=outcome.updated_input, updated_permissions=updates or None)
