"""EnterPlanMode: from now on only look, until the person has approved a plan.

It makes things stricter and needs no permission, except where a mode denies what others would ask about: leaving that mode
would let more through.
"""

from __future__ import annotations

from typing import Any

import msgspec

from toolwright.tools.base import BuiltinTool, ToolContext, ToolOutput
from toolwright.tools.session_state import Standing

ENTERED = "Plan mode is on."


class EnterPlanModeInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class EnterPlanMode(BuiltinTool):
    name = "EnterPlanMode"
    description = "Turns on plan mode: you only look until the person approves your plan. For large or unclear tasks."
    Input = EnterPlanModeInput

    def objection(self, parsed: Any, standing: Standing) -> str | None:
        if standing.modes.mode == "plan":
            return "Plan mode is on already. Show your plan with ExitPlanMode."
        if standing.modes.mode == "dontAsk":
            return "Plan mode needs a person who approves the plan, and mode dontAsk asks nobody. Go on without it."
        return None

    async def perform(self, parsed: EnterPlanModeInput, context: ToolContext) -> ToolOutput:
        context.standing.modes.set_mode("plan")
        return ToolOutput(ENTERED, {"message": ENTERED})
