"""Who may call what: the pure policy, the hooks' word and the person's answer, put together in one order.

hooks (deny > ask > allow) → deny rules → ask rules and must-ask tools → mode → allow rules → can_use_tool → deny.
A hook can tighten a decision or answer what would otherwise be asked; it cannot loosen a deny or skip an ask rule. In mode
auto a small model answers what would be asked, except where a person is wanted; whatever it does not clearly allow is asked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from toolwright import permissions
from toolwright.base.threads import run_in_thread
from toolwright.permissions import PermissionCall
from toolwright.permissions.session.approval import ApprovalRequest, Approver
from toolwright.types import (
    ClaudeSDKError,
    OptionsError,
    PermissionMode,
    PermissionResult,
    PermissionResultDeny,
    PermissionUpdate,
)
from toolwright.workspace import WorkspaceError

if TYPE_CHECKING:
    from toolwright.hooks import HookOutcome
    from toolwright.permissions import Decision, RuleSet, SessionFolders
    from toolwright.tools.base import Tool

DENIED_BY_HOOK = {
    "deny": "A hook denied this call.",
    "defer": "A hook put this call off, which only a call that is alone in its answer can be. It was not run.",
}
UNREADABLE = (
    "toolwright: commands that are more than plain words cannot be read, so each of them is asked about and none runs unasked: "
    "{problem}."
)
FOR_A_PERSON = frozenset({"rule", "safetyCheck", "mode", "hook"})
"""Reasons to ask that neither a hook nor a model may answer: ask rules, doubts, plan mode, hooks that want a person."""


class Verdict(Struct, frozen=True):
    """May this call run, with which input, and if not, why."""

    allowed: bool
    input: dict[str, Any]
    message: str = ""
    interrupt: bool = False
    source: str = "policy"
    """Who decided: policy, hook, callback, or nobody (there was no one to ask)."""
    reason_type: str = ""
    reason: str = ""
    """Why it had to be decided at all, in the policy's words."""
    caged: bool = False
    """It may run because it only looks, so its command runs in the cage."""
    granted: tuple[str, ...] = ()
    """Somebody said yes: it may open these real paths, of which at least one lies outside the working folders."""


class ChangeLimits(Protocol):
    """What answers may change, and within which bounds."""

    def place(self) -> SessionFolders: ...

    def add_directory(self, directory: str) -> None: ...

    def remove_directory(self, directory: str) -> None: ...

    def directory_added(self, directory: str) -> None:
        """The folder is there to stay."""
        ...

    def refuse_mode(self, mode: str) -> str | None:
        """Why a mode may not be used here, if so."""
        ...

    def mode_changed(self, mode: PermissionMode) -> None: ...

    def keep(self, update: PermissionUpdate) -> None:
        """Write an update whose destination is a settings file to that file."""
        ...


Judge = Callable[[ApprovalRequest], Awaitable[str | None]]
"""A model's judgement of a call: why it may run without a question; None if it is to be asked about."""


async def no_judge(question: ApprovalRequest) -> str | None:
    """For sessions without a small model: what would be asked is asked."""
    return None


class Gate:
    """The session's rules and mode, and the person behind them."""

    __slots__ = ("_asking", "_given", "_in_force", "_judge", "_tell", "bounds", "mode")

    def __init__(
        self,
        rules: RuleSet,
        mode: PermissionMode,
        *,
        asking: Approver,
        bounds: ChangeLimits,
        judge: Judge = no_judge,
        tell: Callable[[str], None],
    ) -> None:
        self._given = rules
        self._in_force: tuple[RuleSet, SessionFolders, RuleSet] | None = None
        self.mode: PermissionMode = mode
        self._asking = asking
        self.bounds = bounds
        self._judge = judge
        self._tell: Callable[[str], None] | None = tell
        """Tells the person that command lines cannot be read here; None once it was said."""

    # deciding

    @property
    def rules(self) -> RuleSet:
        """The rules in force: those that were given, and what they forbid behind links."""
        if not self._given.rules:
            return self._given
        place, known = self.bounds.place(), self._in_force
        if known is None or known[0] is not self._given or known[1] is not place:
            known = self._in_force = (self._given, place, permissions.with_real_paths(self._given, place))
        return known[2]

    def judge(self, call: PermissionCall, hook: HookOutcome | None) -> Decision:
        """The decision before anybody is asked."""
        decision = permissions.decide(call, rules=self.rules, mode=self.mode, place=self.bounds.place())
        if hook is None or hook.decision is None or decision.behavior == "deny":
            return decision
        if hook.decision == "ask":
            return asked_by_hook(decision, hook, self.mode)
        if hook.decision == "allow" and decision.caged and self.mode != "plan" and decision.reason_type != "safetyCheck":
            return replace(decision, caged=False)
        if hook.decision == "allow" and decision.behavior == "ask" and not must_reach_a_person(call, decision):
            decision = replace(decision, behavior="allow", reason=hook.reason or "A hook allowed it.", reason_type="hook")
        if hook.decision == "allow" and decision.behavior == "allow":
            return replace(decision, granted=self.granted(call))
        return decision

    def granted(self, call: PermissionCall, *, asked: PermissionCall | None = None) -> tuple[str, ...]:
        """The real paths that a yes to `call` opens; `asked` is the call as it was put to the person, if they changed it."""
        return permissions.granted_paths(call, self.bounds.place(), shown=asked.opens if asked else None)

    def forbids(self, call: PermissionCall) -> str | None:
        """Why no answer can let this call through, if none can: what a person changes is held against the deny rules too."""
        read = replace(call, line=permissions.read_command(call.command)) if call.command is not None else call
        decision = permissions.decide(read, rules=self.rules, mode=self.mode, place=self.bounds.place())
        return decision.reason if decision.behavior == "deny" else None

    def hidden_paths(self) -> Callable[[str], bool] | None:
        """Which absolute paths the deny rules keep out of listings and searches; None if no rule hides any."""
        if not self.rules.rules:
            return None
        return permissions.hidden_paths(rules=self.rules, place=self.bounds.place())

    async def authorize(self, tool: Tool, call: PermissionCall, *, hook: HookOutcome | None, tool_use_id: str) -> Verdict:
        if hook is not None and hook.decision in ("deny", "defer"):
            return Verdict(False, call.input, hook.reason or DENIED_BY_HOOK[hook.decision], source="hook", reason_type="hook")
        call = await understood(call)
        if call.line is not None and call.line.unparsed is not None:
            await self._tell_of_parser()
        decision = self.judge(call, hook)
        if decision.behavior == "allow":
            return Verdict(True, call.input, source=decision.reason_type, caged=decision.caged, granted=decision.granted)
        if decision.behavior == "deny":
            return Verdict(False, call.input, decision.reason, reason_type=decision.reason_type, reason=decision.reason)
        question = ApprovalRequest(tool, call, self._telling_where(call, decision), tool_use_id, self._offers(call, decision))
        return await self._answered(question)

    def _telling_where(self, call: PermissionCall, decision: Decision) -> Decision:
        """`decision` with where the call really leads, if that is outside the working folders."""
        leads = permissions.where_it_leads(call, self.bounds.place()) if call.opens else ""
        if not leads or leads in decision.reason:
            return decision
        outside = permissions.outside_paths(call, self.bounds.place())
        return replace(decision, reason=f"{decision.reason} {leads}", blocked_path=decision.blocked_path or outside[0])

    async def _tell_of_parser(self) -> None:
        """Say once why nothing but plain words can be read, if it is not the line's own fault."""
        if self._tell is None:
            return
        problem = await run_in_thread(permissions.parser_problem)
        if problem is not None and self._tell is not None:
            self._tell(UNREADABLE.format(problem=problem))
            self._tell = None

    async def admits_host(self, host: str, port: int) -> bool:
        """Whether sandboxed commands may reach a host that the sandbox's own rules do not name.

        Rules about `WebFetch(domain:…)` count; no mode lets a host in, since the sandbox is to hold in every mode.
        """
        call = PermissionCall("WebFetch", {"host": host, "port": port}, hosts=(host,))
        mode: PermissionMode = "dontAsk" if self.mode == "dontAsk" else "default"
        decision = permissions.decide(call, rules=self.rules, mode=mode, place=self.bounds.place())
        if decision.behavior != "ask":
            return decision.behavior == "allow"
        from toolwright.permissions.session.network_access import NETWORK_ACCESS  # for sessions with a sandbox

        question = ApprovalRequest(
            NETWORK_ACCESS, replace(call, name=NETWORK_ACCESS.name), decision, "", self._offers(call, decision)
        )
        answer = await self._asking.ask(question)
        return answer is not None and self._verdict(call, answer).allowed

    @property
    def can_ask(self) -> bool:
        """Whether there is anybody to put a question to."""
        return self._asking.can_use_tool is not None

    def _offers(self, call: PermissionCall, decision: Decision) -> list[PermissionUpdate]:
        """What would end such questions; nothing does where a person is wanted each time."""
        if must_reach_a_person(call, decision):
            return []
        from toolwright.permissions.suggestions import suggestions  # where a person is asked

        return suggestions(call, rules=self.rules, mode=self.mode, place=self.bounds.place())

    async def _answered(self, question: ApprovalRequest) -> Verdict:
        call, decision = question.call, question.decision
        if self.mode == "auto" and not must_reach_a_person(call, decision) and await self._judge(question) is not None:
            return Verdict(True, call.input, source="classifier", reason_type="classifier", granted=self.granted(call))
        answer = await self._asking.ask(question)
        if answer is not None:
            return self._verdict(call, answer)
        message, kind = unanswered(call, decision), decision.reason_type
        return Verdict(False, call.input, message, source="nobody", reason_type=kind, reason=decision.reason)

    def _verdict(self, call: PermissionCall, answer: PermissionResult) -> Verdict:
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
        return Verdict(True, updated, source="callback", granted=self.granted(call))

    # changing

    def apply(self, update: PermissionUpdate) -> None:
        """Take over a change of rules, mode or folders for the rest of this session, and keep it where its destination says.

        What cannot be kept is not taken over either.
        """
        match update.type:
            case "setMode" if update.mode is not None:
                self._expect_allowed(update.mode)
                self.bounds.keep(update)
                self.set_mode(update.mode)
            case "addDirectories":
                self._add_directories(update)
            case "removeDirectories":
                self.bounds.keep(update)
                for directory in update.directories or ():
                    self.bounds.remove_directory(directory)
            case _:
                rules = self._given.with_update(update)
                self.bounds.keep(update)
                self._given = rules

    def _add_directories(self, update: PermissionUpdate) -> None:
        added: list[str] = []
        try:
            for directory in update.directories or ():
                self.bounds.add_directory(directory)
                added.append(directory)
            self.bounds.keep(update)
        except (ClaudeSDKError, WorkspaceError):
            for directory in added:
                self.bounds.remove_directory(directory)
            raise
        for directory in added:
            self.bounds.directory_added(directory)

    def set_mode(self, mode: PermissionMode) -> None:
        """Change the mode. Raises `OptionsError` for one that may not be used here."""
        self._expect_allowed(mode)
        self.mode = mode
        self.bounds.mode_changed(mode)

    def _expect_allowed(self, mode: PermissionMode) -> None:
        refusal = self.bounds.refuse_mode(mode)
        if refusal is not None:
            raise OptionsError(refusal)


async def understood(call: PermissionCall) -> PermissionCall:
    """`call` with its command line read. What is more than plain words needs a process for a moment; a thread waits for it."""
    if call.command is None or call.line is not None or permissions.plain_tree(call.command) is not None:
        return call
    command = call.command
    return replace(call, line=await run_in_thread(lambda: permissions.read_command(command)))


def asked_by_hook(decision: Decision, hook: HookOutcome, mode: PermissionMode) -> Decision:
    """A hook wants a person. Where nobody may be asked, that is a denial."""
    reason = hook.reason or "A hook asks for confirmation."
    if mode == "dontAsk":
        return replace(
            decision, behavior="deny", reason=f"{reason} (Mode dontAsk denies what would be asked.)", reason_type="hook"
        )
    return replace(decision, behavior="ask", reason=reason, reason_type="hook")


def must_reach_a_person(call: PermissionCall, decision: Decision) -> bool:
    """Whether an ask stands even if a hook or a model would let the call run."""
    return call.must_ask or decision.reason_type in FOR_A_PERSON


def unanswered(call: PermissionCall, decision: Decision) -> str:
    if call.must_ask:
        return f"{call.name} always needs a person's answer, and there is no one to ask. It was not run."
    return (
        f"{call.name} needs permission and there is no one to ask. {decision.reason} "
        "It was not run. (Allow it with a rule in allowed_tools, a permission mode, or a can_use_tool callback.)"
    )
