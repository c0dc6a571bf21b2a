"""ExitPlanMode: show the plan to the person. Running it means that they approved; a refusal never gets here.

The mode that the person chose with the answer stands; if they chose none, it is the default one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from toolwright.tools.base import BuiltinTool, Effects, ToolContext, ToolOutput
from toolwright.tools.session_state import Standing

if TYPE_CHECKING:
    from toolwright.workspace import Workspace

APPROVED = "The person approved your plan. Carry it out."
CHANGED = "The person changed your plan and approved it. Carry out this one:\n\n{plan}"


class ExitPlanModeInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    plan: Annotated[str, Meta(description="Markdown, concise", pattern=r"\S")]


class ExitPlanMode(BuiltinTool):
    name = "ExitPlanMode"
    description = "Shows your plan to the person and waits for the answer. Only in plan mode, when the plan is ready."
    Input = ExitPlanModeInput
    timeout = None

    def effects(self, parsed: Any, workspace: Workspace) -> Effects:
        return Effects(must_ask=True)

    def objection(self, parsed: Any, standing: Standing) -> str | None:
        if standing.modes.mode == "plan":
            return None
        return "Plan mode is not on, so there is no plan to approve. Go on with the task."

    async def perform(self, parsed: ExitPlanModeInput, context: ToolContext) -> ToolOutput:
        modes = context.standing.modes
        if modes.mode == "plan":
            modes.set_mode("default")
        is_same = context.given.get("plan", parsed.plan) == parsed.plan
        text = APPROVED if is_same else CHANGED.format(plan=parsed.plan)
        return ToolOutput(text, {"plan": parsed.plan, "isAgent": False})
