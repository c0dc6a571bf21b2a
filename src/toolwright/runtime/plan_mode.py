"""What the model is told when plan mode begins and ends: once each, as news with the next request."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolwright.tools.session_state import Modes

BEGINS = "[Plan mode is on: only look. Calls that change anything are not run unless the person says so. {what}, then {how}.]"
USUALLY = "Find out what is needed"
WITH_A_PERSON = "show your plan with ExitPlanMode"
WITHOUT = "give your plan as your answer"
ENDS = "[Plan mode is off: you may change things now, within what is permitted.]"


class PlanNotices:
    """Notices that the mode has changed, whoever changed it."""

    __slots__ = ("_how", "_modes", "_told", "_what")

    def __init__(self, modes: Modes, *, can_exit: bool, instructions: str | None = None) -> None:
        """`instructions` say how to plan, in place of our own words; that nothing is changed meanwhile is said in any case."""
        self._modes = modes
        self._how = WITH_A_PERSON if can_exit else WITHOUT
        self._what = (instructions or USUALLY).rstrip(" .\n")
        self._told = False

    def take(self) -> list[str]:
        """What the model does not know yet."""
        is_on = self._modes.mode == "plan"
        if is_on == self._told:
            return []
        self._told = is_on
        return [BEGINS.format(what=self._what, how=self._how) if is_on else ENDS]
