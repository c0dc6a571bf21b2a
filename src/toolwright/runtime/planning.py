"""What the model is told when plan mode begins and ends: once each, as news with the next request."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolwright.types import PermissionMode

BEGINS = (
    "[Plan mode is on: only look. Calls that change anything are not run unless the person says so. "
    "Find out what is needed, then {how}.]"
)
WITH_A_PERSON = "show your plan with ExitPlanMode"
WITHOUT = "give your plan as your answer"
ENDS = "[Plan mode is off: you may change things now, within what is permitted.]"


class PlanNews:
    """Notices that the mode has changed, whoever changed it."""

    __slots__ = ("_how", "_mode", "_told")

    def __init__(self, mode: Callable[[], PermissionMode], *, can_exit: bool) -> None:
        self._mode = mode
        self._how = WITH_A_PERSON if can_exit else WITHOUT
        self._told = False

    def take(self) -> list[str]:
        """What the model does not know yet."""
        is_on, self._told, before = self._mode() == "plan", self._mode() == "plan", self._told
        if is_on == before:
            return []
        return [BEGINS.format(how=self._how) if is_on else ENDS]
