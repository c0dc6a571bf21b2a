"""Who may call what: the pure policy, the hooks' word and the person's answer, put together in one order.

hooks (deny > ask > allow) → deny rules → ask rules and must-ask tools → mode → allow rules → can_use_tool → deny.
A hook can tighten a decision or answer what would otherwise be asked; it cannot loosen a deny or skip an ask rule.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import anyio
import anyio.to_thread

from toolwright.hooks import HookOutcome
from toolwright.permissions import (
    Call,
    Decision,
    Place,
    RuleSet,
    decide,
    hidden_paths,
    plain_tree,
    read_command,
    suggestions,
)
from toolwright.runtime.session_hooks import SessionHooks
from toolwright.types import (
    CanUseTool,
    ClaudeSDKError,
    OptionsError,
    PermissionMode,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ToolPermissionContext,
)
from toolwright.workspace import WorkspaceError

DENIED_BY_HOOK = {
    "deny": "A hook denied this call.",
    "defer": "A hook put this call off, which only a call that is alone in its answer can be. It was not run.",
}


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


@dataclass(frozen=True, slots=True)
class Asking:
    """Who can be asked."""

    can_use_tool: CanUseTool | None
    hooks: SessionHooks
    waiting: Callable[[bool], Awaitable[None]]
    """Told True before and False after the person is asked."""


@dataclass(frozen=True, slots=True)
class Changing:
    """What answers may change, and within which bounds."""

    place: Callable[[], Place]
    add_directory: Callable[[str], None]
    refuse_mode: Callable[[str], str | None]
    """Why a mode may not be used here, if so."""
    keep: Callable[[PermissionUpdate], None] = lambda update: None
    """Writes an update whose destination is a settings file to that file."""


class Gate:
    """The session's rules and mode, and the person behind them."""

    __slots__ = ("_add_directory", "_can_use_tool", "_hooks", "_keep", "_place", "_refuse_mode", "_waiting", "mode", "rules")

    def __init__(self, rules: RuleSet, mode: PermissionMode, *, asking: Asking, changing: Changing) -> None:
        self.rules = rules
        self.mode: PermissionMode = mode
        self._can_use_tool = asking.can_use_tool
        self._hooks = asking.hooks
        self._waiting = asking.waiting
        self._place = changing.place
        self._add_directory = changing.add_directory
        self._refuse_mode = changing.refuse_mode
        self._keep = changing.keep

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

    def forbids(self, call: Call) -> str | None:
        """Why no answer can let this call through, if none can: what a person changes is held against the deny rules too."""
        read = replace(call, line=read_command(call.command)) if call.command is not None else call
        decision = decide(read, rules=self.rules, mode=self.mode, place=self._place())
        return decision.reason if decision.behavior == "deny" else None

    def hidden_paths(self) -> Callable[[str], bool] | None:
        """Which absolute paths the deny rules keep out of listings and searches; None if no rule hides any."""
        return hidden_paths(rules=self.rules, place=self._place())

    async def authorize(self, call: Call, *, hook: HookOutcome | None, tool_use_id: str) -> Verdict:
        if hook is not None and hook.decision in ("deny", "defer"):
            return Verdict(False, call.input, hook.reason or DENIED_BY_HOOK[hook.decision], source="hook", reason_type="hook")
        call = await understood(call)
        decision = self.judge(call, hook)
        if decision.behavior == "allow":
            return Verdict(True, call.input, source=decision.reason_type)
        if decision.behavior == "deny":
            return Verdict(False, call.input, decision.reason, reason_type=decision.reason_type)
        answer = await self._ask(call, decision, tool_use_id)
        if answer is None:
            return Verdict(False, call.input, unanswered(call, decision), source="nobody", reason_type=decision.reason_type)
        return self._verdict(call, answer)

    async def _ask(self, call: Call, decision: Decision, tool_use_id: str) -> PermissionResult | None:
        """What a PermissionRequest hook or the person answers, whoever is first; None if there is neither."""
        offers = suggestions(call, mode=self.mode, place=self._place())
        answers: list[PermissionResult] = []

        async def ask_person() -> None:
            answers.append(await self._ask_person(call, decision, offers, tool_use_id))
            group.cancel_scope.cancel()

        if self._can_use_tool is not None:
            await self._waiting(True)
            self._hooks.person_is_called(f"Your permission is needed to use {call.name}.", "permission_prompt")
        async with anyio.create_task_group() as group:
            if self._can_use_tool is not None:
                group.start_soon(ask_person)
            from_hook = permission_answer(await self._hooks.permission_is_asked(call.name, call.input, offers))
            if from_hook is not None:
                answers.append(from_hook)
                group.cancel_scope.cancel()
        if self._can_use_tool is not None:
            await self._waiting(False)
        return answers[0] if answers else None

    async def _ask_person(
        self, call: Call, decision: Decision, offers: list[PermissionUpdate], tool_use_id: str
    ) -> PermissionResult:
        assert self._can_use_tool is not None
        description = call.input.get("description")
        context = ToolPermissionContext(
            suggestions=offers,
            tool_use_id=tool_use_id,
            blocked_path=decision.blocked_path,
            decision_reason=decision.reason,
            display_name=call.name,
            description=description if isinstance(description, str) else None,
        )
        try:
            answer: object = await self._can_use_tool(call.name, call.input, context)
        except Exception as error:  # noqa: BLE001 — host boundary: a raising callback denies this one call
            answer = PermissionResultDeny(message=f"The permission callback failed ({error}); the call was not run.")
        if isinstance(answer, PermissionResultAllow | PermissionResultDeny):
            return answer
        wanted = "not PermissionResultAllow or PermissionResultDeny"
        text = f"The permission callback returned {type(answer).__name__}, {wanted}; the call was not run."
        return PermissionResultDeny(message=text)

    def _verdict(self, call: Call, answer: PermissionResult) -> Verdict:
        if isinstance(answer, PermissionResultDeny):
            message = answer.message or "The person denied this call."
            return Verdict(False, call.input, message, interrupt=answer.interrupt, source="callback")
        try:
            for update in answer.updated_permissions or ():
                self.apply(update)
        except (ClaudeSDKError, WorkspaceError) as error:
            text = f"The permission answer could not be taken over, so the call was not run: {error}"
            return Verdict(False, call.input, text, source="callback")
        updated = call.input if answer.updated_input is None else answer.updated_input
        return Verdict(True, updated, source="callback")

    def apply(self, update: PermissionUpdate) -> None:
        """Take over a change of rules, mode or folders for the rest of this session, and keep it where its destination says.

        What cannot be kept is not taken over either.
        """
        before = self.rules, self.mode
        if update.type == "setMode" and update.mode is not None:
            self.set_mode(update.mode)
        else:
            self.rules = self.rules.with_update(update)
        try:
            self._keep(update)
        except ClaudeSDKError:
            self.rules, self.mode = before
            raise
        if update.type == "addDirectories":
            for directory in update.directories or ():
                self._add_directory(directory)

    def set_mode(self, mode: PermissionMode) -> None:
        """Change the mode. Raises `OptionsError` for one that may not be used here."""
        refusal = self._refuse_mode(mode)
        if refusal is not None:
            raise OptionsError(refusal)
        self.mode = mode


async def understood(call: Call) -> Call:
    """`call` with its command line read. What is more than plain words needs a process for a moment; a thread waits for it."""
    if call.command is None or call.line is not None or plain_tree(call.command) is not None:
        return call
    return replace(call, line=await anyio.to_thread.run_sync(read_command, call.command))


def permission_answer(outcome: HookOutcome | None) -> PermissionResult | None:
    """What PermissionRequest hooks answered in the person's place, if they did."""
    if outcome is None or outcome.decision not in ("allow", "deny"):
        return None
    if outcome.decision == "deny":
        return PermissionResultDeny(message=outcome.reason or "A hook denied this call.", interrupt=outcome.interrupt)
    updates = [PermissionUpdate.from_dict(update) for update in outcome.updated_permissions]
    return PermissionResultAllow(updated_input=outcome.updated_input, updated_permissions=updates or None)


def must_reach_a_person(call: Call, decision: Decision) -> bool:
    """Whether an ask stands even if a hook allows the call: ask rules, doubts, plan mode, tools that always ask."""
    return call.must_ask or decision.reason_type in ("rule", "safetyCheck", "mode")


def unanswered(call: Call, decision: Decision) -> str:
    return (
        f"{call.name} needs permission and there is no one to ask. {decision.reason} "
        "It was not run. (Allow it with a rule in allowed_tools, a permission mode, or a can_use_tool callback.)"
    )
