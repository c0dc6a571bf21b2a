"""Hooks: Python callbacks, commands and web addresses that are asked at fixed points of a session.

events      which events there are
inputs      what a hook is told, event by event
matchers    which hooks are meant
hook        what every hook is to the runner
callbacks   Python functions
configured  hooks of the settings; commands and http are their two kinds, answers what they said
runner      asks them all, each within its time
background  those that nobody waits for
outcome     what they said, merged into one answer
"""

from . import inputs
from .background import Background
from .events import EVENTS
from .hook import Hook, Reply
from .inputs import MATCHED_FIELD, Scene, ToolCall
from .outcome import HookDecision, HookOutcome
from .runner import HookFailure, HookRun, HookRunner, Listener, RunOutcome

__all__ = [
    "inputs",
    "Background",
    "EVENTS",
    "Hook",
    "HookDecision",
    "HookFailure",
    "HookOutcome",
    "HookRun",
    "HookRunner",
    "Listener",
    "MATCHED_FIELD",
    "Reply",
    "RunOutcome",
    "Scene",
    "ToolCall",
]
