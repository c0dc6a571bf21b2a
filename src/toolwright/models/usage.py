"""Tokens and money: what this turn used, and what the session used per model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolwright.models import prices

COUNTED = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class UsageTracker:
    """Adds up the usage that answers report. A model without a known price makes the cost unknown, never a guess."""

    __slots__ = ("_costs", "_env", "_models", "turn_usage")

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._models: dict[str, dict[str, int]] = {}
        self._costs: dict[str, float | None] = {}
        self.turn_usage: dict[str, Any] = {}

    def start_turn(self) -> None:
        self.turn_usage = dict.fromkeys(COUNTED, 0)

    def add(self, model: str, usage: Mapping[str, Any]) -> None:
        totals = self._models.setdefault(model, {**dict.fromkeys(COUNTED, 0), "web_search_requests": 0})
        for key in COUNTED:
            count = usage.get(key) or 0
            totals[key] += count
            self.turn_usage[key] = self.turn_usage.get(key, 0) + count
        server_tools = usage.get("server_tool_use") or {}
        totals["web_search_requests"] += server_tools.get("web_search_requests") or 0
        self._add_cost(model, usage)

    def _add_cost(self, model: str, usage: Mapping[str, Any]) -> None:
        cost = prices.cost(model, usage, self._env)
        before = self._costs.get(model, 0.0)
        self._costs[model] = None if cost is None or before is None else before + cost

    @property
    def total_cost(self) -> float | None:
        if None in self._costs.values():
            return None
        return sum(cost for cost in self._costs.values() if cost is not None)

    def model_usage(self) -> dict[str, Any]:
        """The session's use per model, in the shape of a result frame's `modelUsage`."""
        return {model: self._model_row(model, totals) for model, totals in self._models.items()}

    def _model_row(self, model: str, totals: dict[str, int]) -> dict[str, Any]:
        limits = prices.limits(model, self._env)
        return {
            "inputTokens": totals["input_tokens"],
            "outputTokens": totals["output_tokens"],
            "cacheReadInputTokens": totals["cache_read_input_tokens"],
            "cacheCreationInputTokens": totals["cache_creation_input_tokens"],
            "webSearchRequests": totals["web_search_requests"],
            "costUSD": self._costs[model],
            "contextWindow": limits.context_window if limits else None,
            "maxOutputTokens": limits.max_output if limits else None,
        }
