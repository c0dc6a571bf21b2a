"""Options that cannot work are refused before anything starts: which option, what came, what to do.

`check(options)` looks at values only. Options that this version does not carry out are refused where ignoring them would be
unsafe or would lose something (`REFUSED`), and named in a line of diagnostics where that is harmless (`WITHOUT_EFFECT`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args
from uuid import UUID

from toolwright.hooks import EVENTS
from toolwright.types import (
    CanUseToolShadowedWarning,
    ClaudeAgentOptions,
    EffortLevel,
    HookEvent,
    HookMatcher,
    OptionsError,
    PermissionMode,
)
from toolwright.types.options import BoundaryKind

HOOK_EVENTS = tuple(dict.fromkeys((*get_args(HookEvent), *EVENTS)))

REFUSED: dict[str, str] = {
    "session_store": "session stores are not supported in this version; transcripts are kept on disk",
    "plugins": "plugins are not supported in this version",
}
WITHOUT_EFFECT = ("agents", "skills", "forward_subagent_text", "task_budget")


def check(options: ClaudeAgentOptions) -> None:
    if not isinstance(options, ClaudeAgentOptions):
        raise OptionsError(f"options must be a ClaudeAgentOptions, not {type(options).__name__}")
    check_types(options)
    check_combinations(options)
    check_not_supported(options)
    check_hooks(options.hooks)


def without_effect(options: ClaudeAgentOptions) -> Iterator[str]:
    """A line of diagnostics for each option that is set and does nothing here."""
    for name in WITHOUT_EFFECT:
        if getattr(options, name):
            yield f"toolwright: the option {name} has no effect in this version"
    for event in options.hooks or ():
        if not EVENTS[event].happens:
            yield f"toolwright: hooks[{event!r}] has no effect: this event does not happen in this version"


# types: one row per option

Check = Callable[[Any], bool]


def one_of(*values: str) -> Check:
    return lambda value: value in values


def is_text(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value


def is_text_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(is_text(item) for item in value)


def is_text_map(value: Any) -> bool:
    return isinstance(value, Mapping) and all(is_text(key) and is_text(item) for key, item in value.items())


def is_path(value: Any) -> bool:
    return is_text(value) or hasattr(value, "__fspath__")


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_money(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def is_uuid(value: Any) -> bool:
    try:
        return is_text(value) and str(UUID(value)) == value.lower()
    except ValueError:
        return False


def is_tools(value: Any) -> bool:
    if isinstance(value, dict):
        return value.get("type") == "preset"
    return isinstance(value, list | tuple) and all(
        is_text(item) or callable(item) or hasattr(item, "handler") for item in value
    )


def is_output_format(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") == "json_schema" and isinstance(value.get("schema"), dict)


def is_thinking(value: Any) -> bool:
    kinds = one_of("adaptive", "enabled", "disabled")
    if not isinstance(value, dict) or not kinds(str(value.get("type"))):
        return False
    return value["type"] != "enabled" or is_whole(value.get("budget_tokens"))


TYPES: dict[str, tuple[Check, str]] = {
    "tools": (is_tools, "a list of tool names and functions, or the preset"),
    "allowed_tools": (is_text_list, "a list of rules"),
    "disallowed_tools": (is_text_list, "a list of rules"),
    "system_prompt": (lambda v: is_text(v) or isinstance(v, dict), "a text, or a dict with a type"),
    "mcp_servers": (lambda v: isinstance(v, Mapping) or is_path(v), "a dict of servers, or a path"),
    "permission_mode": (one_of(*get_args(PermissionMode)), f"one of {', '.join(get_args(PermissionMode))}"),
    "continue_conversation": (lambda v: isinstance(v, bool), "True or False"),
    "fork_session": (lambda v: isinstance(v, bool), "True or False"),
    "persist_session": (lambda v: isinstance(v, bool), "True or False"),
    "resume": (is_uuid, "a session's id (a UUID)"),
    "session_id": (is_uuid, "a UUID"),
    "max_turns": (is_whole, "a whole number (None or 0: no limit)"),
    "max_budget_usd": (is_money, "an amount above 0"),
    "model": (lambda v: is_text(v) or hasattr(v, "stream"), "a model's name, or a model"),
    "fallback_model": (is_text, "a model's name, or several with commas between"),
    "betas": (is_text_list, "a list of names"),
    "cwd": (is_path, "a path"),
    "settings": (is_text, "a path, or JSON text"),
    "setting_sources": (
        lambda v: isinstance(v, list | tuple) and all(source in ("user", "project", "local") for source in v),
        "a list of 'user', 'project' and 'local' (None: all)",
    ),
    "add_dirs": (lambda v: isinstance(v, list | tuple) and all(is_path(item) for item in v), "a list of paths"),
    "boundary": (one_of(*get_args(BoundaryKind)), f"one of {', '.join(get_args(BoundaryKind))}"),
    "env": (is_text_map, "a dict of texts"),
    "extra_args": (lambda v: isinstance(v, Mapping), "a dict of flags"),
    "stderr": (callable, "a function that takes a line"),
    "can_use_tool": (callable, "an async function (name, input, context)"),
    "user": (is_text, "a user's name"),
    "thinking": (is_thinking, "a dict with type 'adaptive', 'enabled' (and budget_tokens) or 'disabled'"),
    "max_thinking_tokens": (is_whole, "a whole number"),
    "effort": (one_of(*get_args(EffortLevel)), f"one of {', '.join(get_args(EffortLevel))}"),
    "output_format": (is_output_format, "{'type': 'json_schema', 'schema': {…}}"),
}


def check_types(options: ClaudeAgentOptions) -> None:
    for name, (fits, expected) in TYPES.items():
        value = getattr(options, name)
        if value is not None and not fits(value):
            raise OptionsError(f"{name} must be {expected}; got {value!r}"[:500])


def check_combinations(options: ClaudeAgentOptions) -> None:
    resumes = options.resume is not None or options.continue_conversation
    if options.resume is not None and options.continue_conversation:
        raise OptionsError("resume and continue_conversation exclude each other: give the id, or go on with the latest session")
    if options.session_id is not None and resumes and not options.fork_session:
        raise OptionsError("session_id names a new session: with resume or continue_conversation it needs fork_session=True")
    if options.fork_session and not resumes:
        raise OptionsError("fork_session needs a session to fork: set resume or continue_conversation")
    if options.can_use_tool is not None and options.permission_prompt_tool_name not in (None, "stdio"):
        raise OptionsError("can_use_tool and permission_prompt_tool_name exclude each other: both answer permission questions")
    prompt_tool = options.permission_prompt_tool_name
    if prompt_tool not in (None, "stdio") and not str(prompt_tool).startswith("mcp__"):
        raise OptionsError(
            f"permission_prompt_tool_name: {prompt_tool!r} is not the tool of a server: give mcp__<server>__<tool>, "
            "or use can_use_tool"
        )
    if options.can_use_tool is not None and (shadow := _shadow(options)) is not None:
        advice = "To see every call, use a PreToolUse hook."
        warnings.warn(f"can_use_tool will not be asked{shadow}. {advice}", CanUseToolShadowedWarning, stacklevel=2)
    if (options.resume_session_at or options.resume_drops_turn) and options.resume is None:
        raise OptionsError("resume_session_at and resume_drops_turn need resume")


_MODES_THAT_ANSWER = {
    "bypassPermissions": "allows every call, except where an ask rule wants a person",
    "dontAsk": "denies whatever would be asked",
}


def _shadow(options: ClaudeAgentOptions) -> str | None:
    """Which calls are decided before `can_use_tool` is asked, and by what; None if it is asked about every tool."""
    mode = options.permission_mode
    if mode in _MODES_THAT_ANSWER:
        return f": permission_mode={mode!r} {_MODES_THAT_ANSWER[mode]}"
    names = dict.fromkeys(rule.removesuffix("(*)").removesuffix("()") for rule in options.allowed_tools)
    whole = [name for name in names if "(" not in name]
    return f" about {', '.join(whole)}: allowed_tools allows every call of it" if whole else None


def check_not_supported(options: ClaudeAgentOptions) -> None:
    for name, reason in REFUSED.items():
        value = getattr(options, name)
        if value:
            raise OptionsError(f"{name}: {reason}")
    check_servers(options.mcp_servers)


def check_servers(servers: object) -> None:
    """The shape of what a dict says; a file is read, and variables are filled in, when the session starts."""
    if not isinstance(servers, Mapping) or not servers:
        return
    from toolwright.mcp.client.configs import IN_PROCESS, BadServerConfig, parse_config  # for sessions that have servers

    try:
        for name, config in servers.items():
            if not (isinstance(config, Mapping) and config.get("type") == IN_PROCESS):
                parse_config(name, config)
    except BadServerConfig as error:
        raise OptionsError(str(error)) from None


def check_hooks(hooks: object) -> None:
    if hooks is None:
        return
    if not isinstance(hooks, Mapping):
        raise OptionsError(f"hooks must be a dict of event → list of HookMatcher; got {type(hooks).__name__}")
    for event, matchers in hooks.items():
        if event not in HOOK_EVENTS:
            raise OptionsError(f"hooks: unknown event {event!r}; known are {', '.join(HOOK_EVENTS)}")
        if not isinstance(matchers, list | tuple) or not all(isinstance(matcher, HookMatcher) for matcher in matchers):
            raise OptionsError(f"hooks[{event!r}] must be a list of HookMatcher")
        if not all(callable(hook) for matcher in matchers for hook in matcher.hooks):
            raise OptionsError(f"hooks[{event!r}]: every hook must be a function (input, tool_use_id, context)")
