"""What a command or a web address said, read as a hook's answer: JSON, or plain words.

Every text of an answer is cut at 10,000 characters, and says so. Knows nothing of processes and connections.
"""

from __future__ import annotations

from typing import Any

from toolwright.hooks.events import event_named
from toolwright.hooks.hook import HookReply

MAX_CHARACTERS = 10_000
REFUSED = "A hook refused this without giving a reason."
_TEXTS = ("stopReason", "systemMessage", "reason")
_SPECIFIC_TEXTS = ("additionalContext", "permissionDecisionReason")


def capped(text: str) -> str:
    """`text`, cut if it is too long for people and models to read."""
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[:MAX_CHARACTERS]}\n[cut: the first {MAX_CHARACTERS:,} of {len(text):,} characters]"


def said(event: str, text: str) -> dict[str, Any] | None:
    """The answer that `text` is: an object, or words that the model reads at events that say so."""
    found = as_object(text)
    if found is not None:
        return _capped(found)
    words = capped(text.strip())
    if not words or not event_named(event).words_are_context:
        return None
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": words}}


def as_object(text: str) -> dict[str, Any] | None:
    """The JSON object that `text` is; None if it is none."""
    if not text.lstrip().startswith("{"):
        return None
    import json  # only when a hook has spoken

    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def refusal(event: str, reason: str) -> dict[str, Any]:
    """The answer that exit code 2 stands for."""
    why = capped(reason.strip()) or REFUSED
    if event != "PermissionRequest":
        return {"decision": "block", "reason": why}
    return {"hookSpecificOutput": {"hookEventName": event, "decision": {"behavior": "deny", "message": why}}}


def of_exit(event: str, exit_code: int, *, stdout: str, stderr: str) -> HookReply:
    """What a command's end means: 0 answers, 2 refuses where the event knows that, the rest is a failure that stops nothing."""
    output, problem = None, ""
    if exit_code == 0:
        output = said(event, stdout)
    elif exit_code == 2 and event_named(event).refusable:
        output = refusal(event, stderr)
    else:
        problem = f"exited with code {exit_code}" + (f": {first_line(stderr)}" if stderr.strip() else "")
    return HookReply(output, capped(stdout), capped(stderr), exit_code, problem)


def first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:500]


def _capped(output: dict[str, Any]) -> dict[str, Any]:
    cut = _with_capped(output, _TEXTS)
    specific = cut.get("hookSpecificOutput")
    if isinstance(specific, dict):
        cut["hookSpecificOutput"] = _with_capped(specific, _SPECIFIC_TEXTS)
    return cut


def _with_capped(holder: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {key: capped(value) if key in names and isinstance(value, str) else value for key, value in holder.items()}
