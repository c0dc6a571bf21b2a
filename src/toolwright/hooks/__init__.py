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

from toolwright.hooks import inputs
from toolwright.hooks.background import Background
from toolwright.hooks.events import EVENTS
from toolwright.hooks.hook import Hook, HookReply
from toolwright.hooks.inputs import MATCHED_FIELD, EventContext, HookedCall
from toolwright.hooks.outcome import HookDecision, HookOutcome
from toolwright.hooks.runner import HookFailure, HookListener, HookRun, HookRunner, RunOutcome

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
    "HookListener",
    "MATCHED_FIELD",
    "HookReply",
    "RunOutcome",
    "EventContext",
    "HookedCall",
]
