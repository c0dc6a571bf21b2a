"""Python callbacks as hooks: functions (input, tool_use_id, context), async or plain."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import isawaitable
from typing import Any, Literal

import anyio
from msgspec import Struct

from toolwright.hooks.hook import Hook, HookReply
from toolwright.hooks.matchers import Matcher, matcher_for
from toolwright.types import HookMatcher, OptionsError

DEFAULT_TIMEOUT = 60.0


class CallbackHook(Struct, frozen=True):
    """One callback with what its matcher says about it."""

    callback: Callable[..., Any]
    matches: Matcher | None
    timeout: float
    refuses_by_failing: bool
    refuses_by_silence: bool
    is_shown: bool = False
    runs_async: bool = False
    once: bool = False

    @property
    def name(self) -> str:
        return getattr(self.callback, "__qualname__", None) or type(self.callback).__name__

    async def concerns(self, payload: dict[str, Any]) -> bool:
        return True

    async def ask(self, payload: dict[str, Any], tool_use_id: str | None) -> HookReply:
        result = self.callback(_copy(payload), tool_use_id, {"signal": None})
        return HookReply(await _answer_of(result) if isawaitable(result) else result)


def callback_hooks(matchers: Mapping[str, Sequence[HookMatcher]]) -> dict[str, tuple[Hook, ...]]:
    """The callbacks of each event. Raises `OptionsError` for impossible matchers."""
    registered = ((event, tuple(_hooks_of(event, group))) for event, group in matchers.items())
    return {event: hooks for event, hooks in registered if hooks}


def _hooks_of(event: str, group: Sequence[HookMatcher]) -> list[Hook]:
    return [
        CallbackHook(
            _callable(event, callback),
            matches,
            _timeout(event, matcher.timeout),
            refuses_by_failing=(blocks := _blocks(event, matcher.on_failure)),
            refuses_by_silence=blocks or event == "PreToolUse",
        )
        for matcher in group
        for matches in [matcher_for(matcher.matcher)]
        for callback in matcher.hooks
    ]


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
