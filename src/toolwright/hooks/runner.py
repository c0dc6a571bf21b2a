"""Runs the hooks of an event: all that are meant at once, each within its time, and merges their answers.

A hook that fails is reported and otherwise counts as silent, unless it was said that failing refuses. Knows what events are
called, not when they happen; how a hook is asked is the hook's own business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import anyio
from msgspec import Struct

from toolwright.base.ids import new_uuid
from toolwright.hooks.background import Background
from toolwright.hooks.callbacks import callback_hooks
from toolwright.hooks.events import DECIDED
from toolwright.hooks.hook import Hook, HookReply
from toolwright.hooks.outcome import NO_OUTCOME, HookAnswer, HookOutcome, merge, read_answer
from toolwright.types import HookMatcher


class HookFailure(Struct, frozen=True):
    """A hook that raised, answered nonsense or did not answer in time."""

    event: str
    callback: str
    problem: str
    blocked: bool
    """Whether the failure counts as a refusal."""

    def __str__(self) -> str:
        consequence = "it counts as a refusal" if self.blocked else "it is ignored"
        return f"{self.event} hook {self.callback} {self.problem}; {consequence}."


class HookRun(Struct, frozen=True):
    """One run of one hook that is shown to people."""

    id: str
    name: str
    """The event, with what was matched: `PreToolUse:Bash`."""
    event: str


RunOutcome: TypeAlias = Literal["success", "error", "cancelled"]


class HookListener:
    """Who is told what goes on besides the outcome; this one does not care. None of these may raise or wait."""

    __slots__ = ()

    def failed(self, failure: HookFailure) -> None: ...

    def started(self, run: HookRun) -> None: ...

    def ended(self, run: HookRun, reply: HookReply, outcome: RunOutcome) -> None: ...

    def came_late(self, event: str, outcome: HookOutcome) -> None:
        """What a hook said that nobody waited for."""


NOBODY = HookListener()


class _Occasion(Struct, frozen=True):
    """What happened, as a hook is told of it."""

    event: str
    payload: dict[str, Any]
    match_value: str | None = None
    tool_use_id: str | None = None

    @property
    def name(self) -> str:
        return f"{self.event}:{self.match_value}" if self.match_value else self.event


class HookRunner:
    """The hooks of a session. Holds no task between runs, except for hooks that were told to go on alone."""

    __slots__ = ("_background", "_done", "_hooks", "_listener")

    def __init__(
        self,
        matchers: Mapping[str, Sequence[HookMatcher]] | None = None,
        *,
        configured: Mapping[str, Sequence[Hook]] | None = None,
        listener: HookListener = NOBODY,
        background: Background | None = None,
    ) -> None:
        """`matchers` are Python callbacks, `configured` the hooks of the settings, which count as registered before them.

        Raises `OptionsError` for impossible matchers.
        """
        callbacks, first = callback_hooks(matchers or {}), configured or {}
        events = dict.fromkeys((*first, *callbacks))
        self._hooks: dict[str, tuple[Hook, ...]] = {
            event: (*first.get(event, ()), *callbacks.get(event, ())) for event in events
        }
        self._listener = listener
        self._background = background or Background()
        self._done: frozenset[int] = frozenset()

    def has(self, event: str, match_value: str | None = None) -> bool:
        """Whether any hook waits for this. Ask first: building the input costs more than this question."""
        hooks = self._hooks.get(event)
        return hooks is not None and any(self._is_meant(hook, match_value) for hook in hooks)

    async def run(
        self, event: str, payload: dict[str, Any], *, match_value: str | None = None, tool_use_id: str | None = None
    ) -> HookOutcome:
        """Ask every hook that is meant and merge what they say. Cancelling this cancels them all."""
        waiting = [hook for hook in self._hooks.get(event, ()) if self._is_meant(hook, match_value)]
        hooks = [hook for hook in waiting if await hook.concerns(payload)]
        if not hooks:
            return NO_OUTCOME
        occasion = _Occasion(event, payload, match_value, tool_use_id)
        answers = [HookAnswer()] * len(hooks)

        async def ask(position: int) -> None:
            answers[position] = await self._ask_or_start(hooks[position], occasion)

        if len(hooks) == 1:
            await ask(0)
        else:
            async with anyio.create_task_group() as group:
                for position in range(len(hooks)):
                    group.start_soon(ask, position)
        return merge(event, answers)

    def start(self, event: str, payload: dict[str, Any], *, match_value: str | None = None) -> None:
        """Ask every hook that is meant, and do not wait for them: what they say comes late."""

        async def alone() -> None:
            outcome = await self.run(event, payload, match_value=match_value)
            self._listener.came_late(event, outcome)

        self._background.start(alone)

    async def close(self) -> None:
        """End the hooks that nobody waits for."""
        await self._background.close()

    def _is_meant(self, hook: Hook, match_value: str | None) -> bool:
        """An event without a value to match is for every hook registered with it."""
        if hook.once and id(hook) in self._done:
            return False
        return hook.matches is None or match_value is None or hook.matches(match_value)

    async def _ask_or_start(self, hook: Hook, occasion: _Occasion) -> HookAnswer:
        if hook.once:
            self._done |= {id(hook)}
        if not hook.runs_async:
            return await self._ask(hook, occasion)

        async def alone() -> None:
            answer = await self._ask(hook, occasion)
            self._listener.came_late(occasion.event, merge(occasion.event, [answer]))

        self._background.start(alone)
        return HookAnswer()

    async def _ask(self, hook: Hook, occasion: _Occasion) -> HookAnswer:
        """One hook's answer, with those told who watch."""
        if not hook.is_shown:
            return (await self._answer(hook, occasion))[0]
        run = HookRun(new_uuid(), occasion.name, occasion.event)
        self._listener.started(run)
        reply = HookReply()
        outcome: RunOutcome = "cancelled"
        try:
            answer, reply, outcome = await self._answer(hook, occasion)
            return answer
        finally:
            self._listener.ended(run, reply, outcome)

    async def _answer(self, hook: Hook, occasion: _Occasion) -> tuple[HookAnswer, HookReply, RunOutcome]:
        """One hook's answer; whatever goes wrong in it becomes an answer too."""
        reply = HookReply()
        try:
            with anyio.fail_after(hook.timeout) as scope:
                reply = await hook.ask(occasion.payload, occasion.tool_use_id)
            answer = read_answer(occasion.event, reply.output)
            if reply.problem:
                self._tell(hook, occasion.event, reply.problem, blocks=False)
            return answer, reply, "error" if reply.problem or reply.exit_code else "success"
        except Exception as error:  # noqa: BLE001 — a hook is foreign code; its failure is an answer, not ours
            late = isinstance(error, TimeoutError) and scope.cancelled_caught
            problem = f"did not answer within {hook.timeout:g} s" if late else f"failed: {type(error).__name__}: {error}"
            refuses = hook.refuses_by_silence if late else hook.refuses_by_failing
            answer = self._failed(hook, occasion.event, problem, blocks=refuses)
            return answer, reply if reply.stdout else HookReply(stderr=problem), "cancelled" if late else "error"

    def _failed(self, hook: Hook, event: str, problem: str, *, blocks: bool) -> HookAnswer:
        self._tell(hook, event, problem, blocks=blocks)
        if not blocks:
            return HookAnswer()
        return HookAnswer("deny" if event in DECIDED else None, f"{event} hook {hook.name} {problem}", block=True)

    def _tell(self, hook: Hook, event: str, problem: str, *, blocks: bool) -> None:
        self._listener.failed(HookFailure(event, hook.name, problem, blocks))
