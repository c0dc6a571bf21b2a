"""Hooks of the settings, made ready to run: commands and web addresses, each with its matcher, condition and time.

Takes what the settings decided as it is: which files count and who is trusted is not known here. A guard that this version
cannot run is refused, never left out; what guards nothing is noted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct, field

from toolwright.hooks.background import Background
from toolwright.hooks.commands import CommandWork, Late, RunCommand
from toolwright.hooks.events import EVENTS, GUARDED, SESSION_END_SECONDS, TOOL_EVENTS, event_named
from toolwright.hooks.hook import Hook, HookReply
from toolwright.hooks.http import HttpWork, Post, checked_url, expanded
from toolwright.hooks.matchers import Matcher, matcher_for
from toolwright.types import OptionsError

Applies = Callable[[str, dict[str, Any]], Awaitable[bool]]
"""Whether a call (tool name, input) is one that a condition is about."""


class HookSetting(Protocol):
    """One hook as the settings describe it."""

    @property
    def event(self) -> str: ...
    @property
    def matcher(self) -> str: ...
    @property
    def kind(self) -> str:
        """command, http, or one that cannot be run here."""
        ...

    @property
    def source(self) -> object:
        """Where it was said; its text is for people."""
        ...

    @property
    def command(self) -> str | None: ...
    @property
    def args(self) -> tuple[str, ...] | None: ...
    @property
    def url(self) -> str | None: ...
    @property
    def headers(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that the headers may name."""
        ...

    @property
    def condition(self) -> str | None:
        """A permission rule that the call must match."""
        ...

    @property
    def timeout(self) -> float | None: ...
    @property
    def runs_async(self) -> bool: ...
    @property
    def once(self) -> bool: ...
    @property
    def shell(self) -> str | None: ...


class Means(Struct, frozen=True):
    """How hooks are carried out; handed in by whoever knows processes, connections and rules."""

    run: RunCommand
    post: Post
    condition: Callable[[str], Applies]
    """What a permission rule says about calls. Raises `OptionsError` for a bad rule."""
    background: Background
    late: Late | None = None
    allowed_urls: Sequence[str] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    """Where headers find the variables that they name."""
    allowed_variables: Sequence[str] | None = None
    """Those that any header may name; None: all that its hook lists."""
    session_end_seconds: float = SESSION_END_SECONDS


class ConfiguredHook(Struct, frozen=True):
    """One hook of the settings."""

    name: str
    matches: Matcher | None
    timeout: float
    work: Callable[[dict[str, Any]], Awaitable[HookReply]]
    applies: Applies | None = None
    refuses_by_failing: bool = False
    runs_async: bool = False
    once: bool = False
    is_shown: bool = True

    @property
    def refuses_by_silence(self) -> bool:
        return self.refuses_by_failing

    async def concerns(self, payload: dict[str, Any]) -> bool:
        return self.applies is None or await self.applies(payload["tool_name"], payload["tool_input"])

    async def ask(self, payload: dict[str, Any], tool_use_id: str | None) -> HookReply:
        return await self.work(payload)


def configured_hooks(
    settings: Iterable[HookSetting], means: Means, *, note: Callable[[str], None]
) -> dict[str, tuple[Hook, ...]]:
    """The hooks of each event, in the order of the settings; one that is said twice runs once.

    `note` is told of what has no effect. Raises `OptionsError` for what cannot work.
    """
    found: dict[str, dict[Any, Hook]] = {}
    for setting in settings:
        hook = _hook(setting, means, note)
        if hook is not None:
            found.setdefault(setting.event, {}).setdefault(_identity(setting), hook)
    return {event: tuple(hooks.values()) for event, hooks in found.items()}


def _identity(setting: HookSetting) -> tuple[object, ...]:
    return (setting.matcher, setting.kind, setting.command, setting.args, setting.url, setting.headers, setting.condition)


def _hook(setting: HookSetting, means: Means, note: Callable[[str], None]) -> Hook | None:
    idle = _why_it_never_runs(setting)
    if idle is not None:
        note(f"toolwright: {setting.source}: the {setting.event} hook has no effect: {idle}")
        return None
    try:
        return ConfiguredHook(
            name=repr(setting.command or setting.url or setting.kind),
            matches=matcher_for(setting.matcher),
            timeout=_seconds(setting, means),
            work=_work(setting, means),
            applies=means.condition(setting.condition) if setting.condition else None,
            refuses_by_failing=setting.event in GUARDED and not setting.runs_async,
            runs_async=setting.runs_async,
            once=setting.once,
        )
    except OptionsError as error:
        raise OptionsError(f"{setting.source}: hooks.{setting.event}: {error}") from None


def _why_it_never_runs(setting: HookSetting) -> str | None:
    if setting.event not in EVENTS or not event_named(setting.event).happens:
        return "this event does not happen in this version"
    if setting.condition and setting.event not in TOOL_EVENTS:
        return "`if` is about tool calls, and this event is about none"
    if setting.kind not in ("command", "http") and not event_named(setting.event).refusable:
        return f"hooks of type {setting.kind} are not supported in this version"
    return None


def _work(setting: HookSetting, means: Means) -> Callable[[dict[str, Any]], Awaitable[HookReply]]:
    if setting.kind == "command" and setting.command:
        if setting.shell not in (None, "bash"):
            raise OptionsError(f"hooks run in bash only; shell {setting.shell!r} is not supported")
        return CommandWork(setting.event, setting.command, setting.args, means.run, means.background, means.late)
    if setting.kind == "http" and setting.url:
        headers = expanded(setting.headers, _variables(setting, means))
        return HttpWork(setting.event, checked_url(setting.url, means.allowed_urls), headers, means.post)
    raise OptionsError(
        f"hooks of type {setting.kind} are not supported in this version, and a hook that may refuse something must not be "
        "left out; remove it, or use type command or http"
    )


def _variables(setting: HookSetting, means: Means) -> dict[str, str]:
    allowed = means.allowed_variables
    names = [name for name in setting.variables if allowed is None or name in allowed]
    return {name: means.env[name] for name in names if name in means.env}


def _seconds(setting: HookSetting, means: Means) -> float:
    if setting.timeout is not None and not setting.timeout > 0:
        raise OptionsError(f"timeout must be a positive number of seconds, not {setting.timeout!r}")
    if setting.event == "SessionEnd":
        return min(setting.timeout or means.session_end_seconds, means.session_end_seconds)
    return setting.timeout or event_named(setting.event).seconds
