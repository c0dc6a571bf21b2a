"""Runs the Python callbacks of an event: all that match at once, each within its time, and merges their answers.

A callback that fails is reported and otherwise counts as silent, unless its matcher says `on_failure="block"`. A PreToolUse
callback that does not answer in time denies the call. Knows what events are called, not when they happen.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, Literal

import anyio

from toolwright.types import HookMatcher, OptionsError

from .matchers import Matcher, matcher_for
from .outcome import NO_OUTCOME, Answer, HookOutcome, merge, read_answer

DEFAULT_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class HookFailure:
    """A callback that raised, answered nonsense or did not answer in time."""

    event: str
    callback: str
    problem: str
    blocked: bool
    """Whether the failure counts as a refusal."""

    def __str__(self) -> str:
        consequence = "it counts as a refusal" if self.blocked else "it is ignored"
        return f"{self.event} hook {self.callback} {self.problem}; {consequence}."


@dataclass(frozen=True, slots=True)
class _Hook:
    """One callback with what its matcher says about it."""

    callback: Callable[..., Any]
    matches: Matcher | None
    timeout: float
    blocks_on_failure: bool

    @property
    def name(self) -> str:
        return getattr(self.callback, "__qualname__", None) or type(self.callback).__name__


class HookRunner:
    """The hooks of a session. Immutable; holds no task between runs."""

    __slots__ = ("_hooks", "_on_error")

    def __init__(
        self,
        matchers: Mapping[str, Sequence[HookMatcher]] | None = None,
        *,
        on_error: Callable[[HookFailure], None] | None = None,
    ) -> None:
        """`on_error` is told of each failing callback; it must not raise. Raises `OptionsError` for impossible matchers."""
        registered = ((event, tuple(_hooks_of(event, group))) for event, group in (matchers or {}).items())
        self._hooks: dict[str, tuple[_Hook, ...]] = {event: hooks for event, hooks in registered if hooks}
        self._on_error = on_error

    def has(self, event: str, match_value: str | None = None) -> bool:
        """Whether any callback waits for this. Ask first: building the input costs more than this question."""
        hooks = self._hooks.get(event)
        return hooks is not None and any(_is_meant(hook, match_value) for hook in hooks)

    async def run(
        self, event: str, payload: dict[str, Any], *, match_value: str | None = None, tool_use_id: str | None = None
    ) -> HookOutcome:
        """Call every matching callback and merge what they say. Cancelling this cancels them all."""
        hooks = [hook for hook in self._hooks.get(event, ()) if _is_meant(hook, match_value)]
        if not hooks:
            return NO_OUTCOME
        answers = [Answer()] * len(hooks)

        async def call(position: int) -> None:
            answers[position] = await self._ask(hooks[position], event, payload, tool_use_id)

        if len(hooks) == 1:
            await call(0)
        else:
            async with anyio.create_task_group() as group:
                for position in range(len(hooks)):
                    group.start_soon(call, position)
        return merge(event, answers)

    async def _ask(self, hook: _Hook, event: str, payload: dict[str, Any], tool_use_id: str | None) -> Answer:
        """One callback's answer; whatever goes wrong in it becomes an answer too."""
        try:
            with anyio.fail_after(hook.timeout) as scope:
                result = hook.callback(_copy(payload), tool_use_id, {"signal": None})
                output = await _answer_of(result) if isawaitable(result) else result
            return read_answer(event, output)
        except Exception as error:  # noqa: BLE001 — a hook is foreign code; its failure is an answer, not ours
            late = isinstance(error, TimeoutError) and scope.cancelled_caught
            problem = f"did not answer within {hook.timeout:g} s" if late else f"failed: {type(error).__name__}: {error}"
            return self._failed(hook, event, problem, blocks=hook.blocks_on_failure or (late and event == "PreToolUse"))

    def _failed(self, hook: _Hook, event: str, problem: str, *, blocks: bool) -> Answer:
        if self._on_error is not None:
            self._on_error(HookFailure(event, hook.name, problem, blocks))
        if not blocks:
            return Answer()
        decides = event in ("PreToolUse", "PermissionRequest")
        return Answer("deny" if decides else None, f"{event} hook {hook.name} {problem}", block=True)


async def _answer_of(result: Awaitable[Any]) -> Any:
    """Await a callback. If it dies of a cancellation that nobody asked us for, that is its failure and not our end."""
    try:
        return await result
    except anyio.get_cancelled_exc_class() as error:
        if type(error).__module__.startswith("asyncio"):
            import asyncio  # it is running us; trio has no such case

            task = asyncio.current_task()
            if task is not None and not task.cancelling():
                raise RuntimeError("it awaited something that was cancelled") from error
        raise


def _is_meant(hook: _Hook, match_value: str | None) -> bool:
    """An event without a value to match is for every hook registered with it."""
    return hook.matches is None or match_value is None or hook.matches(match_value)


def _hooks_of(event: str, group: Sequence[HookMatcher]) -> list[_Hook]:
    return [
        _Hook(_callable(event, callback), matches, _timeout(event, matcher.timeout), _blocks(event, matcher.on_failure))
        for matcher in group
        for matches in [matcher_for(matcher.matcher)]
        for callback in matcher.hooks
    ]


def _callable(event: str, callback: Callable[..., Any]) -> Callable[..., Any]:
    if not callable(callback):
        raise OptionsError(
            f"hooks[{event!r}]: {callback!r} is not callable; give async functions (input, tool_use_id, context)."
        )
    return callback


def _timeout(event: str, timeout: float | None) -> float:
    if timeout is None:
        return DEFAULT_TIMEOUT
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise OptionsError(f"hooks[{event!r}]: timeout must be a positive number of seconds, not {timeout!r}.")
    return float(timeout)


def _blocks(event: str, on_failure: Literal["continue", "block"] | None) -> bool:
    if on_failure not in (None, "continue", "block"):
        raise OptionsError(f'hooks[{event!r}]: on_failure must be "continue" or "block", not {on_failure!r}.')
    return on_failure == "block"


def _copy(value: Any) -> Any:
    """A copy of a JSON value: what a callback does to its input stays with it."""
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value
