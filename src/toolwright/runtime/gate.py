"""Who may call what: the pure policy, the hooks' word and the person's answer, put together in one order.

hooks (deny > ask > allow) → deny rules → ask rules and must-ask tools → mode → allow rules → can_use_tool → deny.
A hook can tighten a decision or answer what would otherwise be asked; it cannot loosen a deny or skip an ask rule.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from toolwright.hooks import HookOutcome
from toolwright.permissions import Call, Decision, Place, RuleSet, decide, suggestions
from toolwright.types import (
    CanUseTool,
    PermissionMode,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ToolPermissionContext,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """May this call run, with which input, and if not, why."""

    allowed: bool
    input: dict[str, Any]
    message: str = ""
    interrupt: bool = False
    source: str = "policy"
    """Who decided: policy, hook, callback, or nobody (there was no one to ask)."""
    reason_type: str = ""


class Gate:
    """The session's rules and mode, and the person behind them."""

    __slots__ = ("_add_directory", "_can_use_tool", "_place", "_waiting", "mode", "rules")

    def __init__(
        self,
        rules: RuleSet,
        mode: PermissionMode,
        *,
        can_use_tool: CanUseTool | None,
        place: Callable[[], Place],
        add_directory: Callable[[str], None],
        waiting: Callable[[bool], Awaitable[None]],
    ) -> None:
        """`waiting` is told True before and False after the person is asked."""
        self.rules = rules
        self.mode: PermissionMode = mode
        self._can_use_tool = can_use_tool
        self._place = place
        self._add_directory = add_directory
        self._waiting = waiting

    def judge(self, call: Call, hook: HookOutcome | None) -> Decision:
        """The decision before anybody is asked."""
        decision = decide(call, rules=self.rules, mode=self.mode, place=self._place())
        if hook is None or hook.decision is None or decision.behavior == "deny":
            return decision
        if hook.decision == "ask":
            return replace(decision, behavior="ask", reason=hook.reason or "A hook asks for confirmation.")
        if hook.decision == "allow" and decision.behavior == "ask" and not must_reach_a_person(call, decision):
            return replace(decision, behavior="allow", reason=hook.reason or "A hook allowed it.")
        return decision

    async def authorize(self, call: Call, *, hook: HookOutcome | None, tool_use_id: str) -> Verdict:
        if hook is not None and hook.decision in ("deny", "defer"):
            return Verdict(False, call.input, hook.reason or "A hook denied this call.", source="hook", reason_type="hook")
        decision = self.judge(call, hook)
        if decision.behavior == "allow":
            return Verdict(True, call.input, source=decision.reason_type)
        if decision.behavior == "deny":
            return Verdict(False, call.input, decision.reason, reason_type=decision.reason_type)
        if self._can_use_tool is None:
            return Verdict(False, call.input, unanswered(call, decision), source="nobody", reason_type=decision.reason_type)
        return await self._ask(call, decision, tool_use_id=tool_use_id)

    async def _ask(self, call: Call, decision: Decision, *, tool_use_id: str) -> Verdict:
        assert self._can_use_tool is not None
        description = call.input.get("description")
        context = ToolPermissionContext(
            suggestions=suggestions(call, mode=self.mode, place=self._place()),
            tool_use_id=tool_use_id,
            blocked_path=decision.blocked_path,
            decision_reason=decision.reason,
            display_name=call.name,
            description=description if isinstance(description, str) else None,
        )
        await self._waiting(True)
        try:
            answer: object = await self._can_use_tool(call.name, call.input, context)
        except Exception as error:  # noqa: BLE001 — host boundary: a raising callback denies this one call
            answer = PermissionResultDeny(message=f"The permission callback failed ({error}); the call was not run.")
        await self._waiting(False)
        return self._verdict(call, answer)

    def _verdict(self, call: Call, answer: object) -> Verdict:
        if isinstance(answer, PermissionResultAllow):
            for update in answer.updated_permissions or ():
                self.apply(update)
            updated = call.input if answer.updated_input is None else answer.updated_input
            return Verdict(True, updated, source="callback")
        if isinstance(answer, PermissionResultDeny):
            message = answer.message or "The person denied this call."
            return Verdict(False, call.input, message, interrupt=answer.interrupt, source="callback")
        text = (
            "The permission callback returned "
            f"{type(answer).__name__}, not PermissionResultAllow or PermissionResultDeny; the call was not run."
        )
        return Verdict(False, call.input, text, source="callback")

    def apply(self, update: PermissionUpdate) -> None:
        """Take over a change of rules, mode or folders for the rest of this session."""
        if update.type == "setMode" and update.mode is not None:
            self.mode = update.mode
        elif update.type == "addDirectories":
            for directory in update.directories or ():
                self._add_directory(directory)
        else:
            self.rules = self.rules.with_update(update)


def must_reach_a_person(call: Call, decision: Decision) -> bool:
    """Whether an ask stands even if a hook allows the call: ask rules, doubts, plan mode, tools that always ask."""
    return call.must_ask or decision.reason_type in ("rule", "safetyCheck", "mode")


def unanswered(call: Call, decision: Decision) -> str:
    return (
        f"{call.name} needs permission and there is no one to ask. {decision.reason} "
        "It was not run. (Allow it with a rule in allowed_tools, a permission mode, or a can_use_tool callback.)"
    )
