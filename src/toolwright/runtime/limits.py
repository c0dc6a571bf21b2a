"""Where a turn ends by itself: rounds of tool calls, and money."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from toolwright.runtime.turn_result import TurnResult, failed

if TYPE_CHECKING:
    from toolwright.models.usage import UsageTracker


class TurnLimits(Struct, frozen=True):
    """None, or 0 rounds, is no limit."""

    max_turns: int | None = None
    max_budget_usd: float | None = None

    def over_turns(self, rounds: int) -> TurnResult | None:
        if not self.max_turns or rounds < self.max_turns:
            return None
        return failed("error_max_turns", "max_turns", f"Reached the maximum number of turns ({self.max_turns}).")

    def over_budget(self, ledger: UsageTracker, model: str) -> TurnResult | None:
        """`model` is the one that answered last. One without a price cannot be held to a budget, and that is an error."""
        budget = self.max_budget_usd
        if budget is None:
            return None
        cost = ledger.total_cost
        if cost is None:
            text = f"max_budget_usd cannot be kept: no price is known for {model} (see TOOLWRIGHT_PRICES in docs/models.md)."
            return failed("error_during_execution", "budget_exhausted", text)
        if cost <= budget:
            return None
        return failed("error_max_budget_usd", "budget_exhausted", f"Reached the budget: {cost:.4f} of {budget:.4f} USD used.")
