"""What every hook is to the runner, be it a Python callback, a command or a web address; and what comes back from it."""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct

from toolwright.hooks.matchers import Matcher


class HookReply(Struct, frozen=True):
    """What came of one hook: its answer, and how it was given."""

    output: Any = None
    """A hook answer that is still to be checked; None is an empty one."""
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    problem: str = ""
    """What went wrong without stopping anything."""


class NoReply(Exception):
    """A hook could not even be asked: not started, not reached, or not understood."""


class Hook(Protocol):
    """One hook with what was said about it where it was registered."""

    @property
    def name(self) -> str:
        """As people know it."""
        ...

    @property
    def matches(self) -> Matcher | None: ...

    @property
    def timeout(self) -> float: ...

    @property
    def refuses_by_failing(self) -> bool:
        """Whether no answer (it failed, or could not be asked) counts as a refusal."""
        ...

    @property
    def refuses_by_silence(self) -> bool:
        """Whether no answer in time counts as a refusal."""
        ...

    @property
    def is_shown(self) -> bool:
        """Whether frames tell of it: hooks of the settings are shown, Python callbacks are their program's own business."""
        ...

    @property
    def runs_async(self) -> bool:
        """Whether nobody waits for it."""
        ...

    @property
    def once(self) -> bool: ...

    async def concerns(self, payload: dict[str, Any]) -> bool:
        """Whether the hook is about this very call (`if`); its matcher has been asked before."""
        ...

    async def ask(self, payload: dict[str, Any], tool_use_id: str | None) -> HookReply:
        """Ask it. Being cancelled ends whatever was started."""
        ...
