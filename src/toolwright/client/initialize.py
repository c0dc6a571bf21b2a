"""The first control request: what a session is told about its host that does not fit on a command line.

Hooks are functions, and functions do not travel: each gets an id (`hook_0`, `hook_1`, … in the order they are given), and the
session calls it by that.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from toolwright.protocol.control import REQUEST_SECONDS
from toolwright.protocol.lines import Frame
from toolwright.types import ClaudeAgentOptions, CLIConnectionError, HookCallback, HookMatcher


class HookTable:
    """The host's hooks by id, and the rows that tell the session about them."""

    __slots__ = ("_callbacks", "fails_closed", "rows")

    def __init__(self, hooks: Mapping[str, Sequence[HookMatcher]]) -> None:
        self._callbacks: dict[str, HookCallback] = {}
        self.fails_closed = any(matcher.on_failure == "block" for matchers in hooks.values() for matcher in matchers)
        self.rows = {event: [self._row(matcher) for matcher in matchers] for event, matchers in hooks.items() if matchers}

    def find(self, callback_id: object) -> HookCallback | None:
        return self._callbacks.get(callback_id) if isinstance(callback_id, str) else None

    def _row(self, matcher: HookMatcher) -> Frame:
        row: Frame = {"matcher": matcher.matcher, "hookCallbackIds": [self._register(hook) for hook in matcher.hooks]}
        if matcher.timeout is not None:
            row["timeout"] = matcher.timeout
        if matcher.on_failure is not None:
            row["onFailure"] = matcher.on_failure
        return row

    def _register(self, hook: HookCallback) -> str:
        callback_id = f"hook_{len(self._callbacks)}"
        self._callbacks[callback_id] = hook
        return callback_id


def initialize_request(hooks: HookTable, extras: Frame) -> Frame:
    return {"subtype": "initialize", "hooks": hooks.rows or None, **extras}


def initialize_extras(options: ClaudeAgentOptions) -> Frame:
    """The part of the request that comes from options."""
    prompt: Mapping[str, Any] = options.system_prompt if isinstance(options.system_prompt, Mapping) else {}
    extras = {
        "agents": {name: _described(agent) for name, agent in (options.agents or {}).items()} or None,
        "excludeDynamicSections": prompt.get("exclude_dynamic_sections"),
        "systemPromptSnapshot": prompt.get("snapshot"),
        "skills": list(options.skills) if isinstance(options.skills, list | tuple) else None,
        "forwardSubagentText": options.forward_subagent_text or None,
    }
    return {key: value for key, value in extras.items() if value is not None}


def initialize_seconds() -> float:
    """How long the answer may take: a minute, or longer if the environment says so (in milliseconds)."""
    try:
        return max(float(os.environ.get("CLAUDE_CODE_STREAM_CLOSE_TIMEOUT", "0")) / 1000, REQUEST_SECONDS)
    except ValueError:
        return REQUEST_SECONDS


def check_answer(hooks: HookTable, answer: Frame) -> None:
    """A hook that must block when it fails is no use with a session that does not know about that."""
    if hooks.fails_closed and answer.get("hook_on_failure_supported") is not True:
        raise CLIConnectionError(
            "The session does not support on_failure on hook matchers: a hook that fails would not block. "
            "Use a newer program, or remove on_failure='block' from the hooks."
        )


def _described(agent: Any) -> Frame:
    return {key: value for key, value in asdict(agent).items() if value is not None}
