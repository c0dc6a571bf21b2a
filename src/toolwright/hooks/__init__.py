"""Hooks: Python callbacks called at fixed points of a session.

inputs     what a callback is told, event by event
matchers   which callbacks are meant
runner     calls them, each within its time
outcome    what they said, merged into one answer
"""

from . import inputs
from .inputs import MATCHED_FIELD, Scene, ToolCall
from .outcome import HookDecision, HookOutcome
from .runner import HookFailure, HookRunner

__all__ = ["inputs", "HookRunner", "HookOutcome", "HookDecision", "HookFailure", "Scene", "ToolCall", "MATCHED_FIELD"]
