"""The fields of an `initialize` request as options of the session that it opens: one row for each that a published SDK sends.

Hooks and tool servers are callables at the other end and are made where the wire is (see `served`). A field that is not known
has no effect and is named in the diagnostics.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from toolwright.types import AgentDefinition, ClaudeAgentOptions, OptionsError

Frame = Mapping[str, Any]

ALIASES_FLAG = "tool-aliases"
PLAN_FLAG = "plan-mode-instructions"
AGENT_FLAG = "agent"

OF_THE_WIRE = ("subtype", "hooks", "sdkMcpServers")
"""Read by whoever holds the wire."""
NEEDS_NOTHING = ("sdkMcpServerManifests", "supportedDialogKinds", "perTaskStopAffordance")
"""Hints: what servers would answer anyway, and what the other side could show if it were asked to."""
WITHOUT_EFFECT = ("title", "promptSuggestions", "agentProgressSummaries")


def initialized(options: ClaudeAgentOptions, request: Frame) -> ClaudeAgentOptions:
    """`options` with what the request says. Raises `OptionsError` that names the field."""
    changes: dict[str, Any] = {}
    for name, read in READERS.items():
        if request.get(name) is not None:
            changes.update(read(request[name]))
    changes.update(_system_prompt(options, request))
    extra = {name: changes.pop(name) for name in (ALIASES_FLAG, PLAN_FLAG) if name in changes}
    return replace(options, **changes, extra_args={**options.extra_args, **extra})


def notes_on(request: Frame) -> Iterator[str]:
    """A line of diagnostics for each field that is not known, or does nothing here."""
    for name in sorted(request.keys() - READERS.keys() - {*OF_THE_WIRE, *NEEDS_NOTHING, *_PROMPT_FIELDS}):
        if name not in WITHOUT_EFFECT:
            yield f"toolwright: initialize: the field {name} is not known and has no effect"
        elif request[name]:
            yield f"toolwright: initialize: the field {name} has no effect in this version"


def server_names(request: Frame) -> list[str]:
    """The tool servers that live at the other end."""
    return _texts("sdkMcpServers", request.get("sdkMcpServers") or [])


# system prompts

_PROMPT_FIELDS = ("systemPrompt", "appendSystemPrompt", "excludeDynamicSections", "systemPromptSnapshot")


def _system_prompt(options: ClaudeAgentOptions, request: Frame) -> dict[str, Any]:
    whole, added = request.get("systemPrompt"), request.get("appendSystemPrompt")
    if whole is None and added is None:
        return {"system_prompt": _with_marks(options.system_prompt, request)}
    parts = [] if whole is None else _texts("systemPrompt", [whole] if isinstance(whole, str) else whole)
    parts += [] if added is None else _texts("appendSystemPrompt", [added])
    text = "\n\n".join(part for part in parts if part)
    if whole is not None:
        return {"system_prompt": text or None}
    return {"system_prompt": _with_marks(_appended(options.system_prompt, text), request)}


def _appended(prompt: Any, text: str) -> Any:
    """`prompt` with `text` behind it; what was to be appended before stays before it."""
    if prompt is None or isinstance(prompt, str):
        return "\n\n".join(part for part in (prompt, text) if part) or None
    key = {"preset": "append", "custom": "prompt"}.get(prompt.get("type"))
    if key is None:
        raise OptionsError("initialize: appendSystemPrompt cannot be added to --system-prompt-file: put it into the file")
    return {**prompt, key: "\n\n".join(part for part in (prompt.get(key), text) if part)}


def _with_marks(prompt: Any, request: Frame) -> Any:
    marks = {"exclude_dynamic_sections": "excludeDynamicSections", "snapshot": "systemPromptSnapshot"}
    given = {key: request[field] for key, field in marks.items() if request.get(field) is not None}
    return {**prompt, **given} if isinstance(prompt, dict) and prompt.get("type") == "preset" else prompt


# the rest


def _json_schema(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise OptionsError(f"initialize: jsonSchema must be an object, not {type(given).__name__}")
    return {"output_format": {"type": "json_schema", "schema": given}}


def _agents(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict) or not all(isinstance(agent, dict) for agent in given.values()):
        raise OptionsError("initialize: agents must be an object of agents by name")
    known = {field.name for field in fields(AgentDefinition)}
    try:
        return {"agents": {name: AgentDefinition(**_only(known, agent)) for name, agent in given.items()}}
    except TypeError as error:
        raise OptionsError(f"initialize: agents: each is an object with description and prompt: {error}") from None


def _only(names: set[str], given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in names}


def _skills(given: Any) -> dict[str, Any]:
    return {"skills": given if given == "all" else _texts("skills", given)}


def _plugins(given: Any) -> dict[str, Any]:
    if not isinstance(given, list) or not all(isinstance(row, dict) for row in given):
        raise OptionsError("initialize: plugins must be a list of objects with type and path")
    return {"plugins": given}


def _tool_aliases(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict) or not all(isinstance(name, str) and name for name in given.values()):
        raise OptionsError("initialize: toolAliases must be an object of tool names by tool name")
    return {ALIASES_FLAG: json.dumps(given)}


def _plan_instructions(given: Any) -> dict[str, Any]:
    return {PLAN_FLAG: _texts("planModeInstructions", [given])[0]}


def _texts(name: str, given: Any) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
        raise OptionsError(f"initialize: {name} must be text or a list of texts")
    return list(given)


READERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "jsonSchema": _json_schema,
    "agents": _agents,
    "skills": _skills,
    "plugins": _plugins,
    "toolAliases": _tool_aliases,
    "planModeInstructions": _plan_instructions,
    "forwardSubagentText": lambda given: {"forward_subagent_text": bool(given)},
}


def tool_aliases(options: ClaudeAgentOptions) -> dict[str, str]:
    """The names that calls are redirected from, and to; one step each."""
    given = options.extra_args.get(ALIASES_FLAG)
    return json.loads(given) if given else {}


def as_agent(options: ClaudeAgentOptions) -> ClaudeAgentOptions:
    """With `--agent NAME`, that agent holds the conversation: its prompt, its tools, its model and its limits."""
    name = options.extra_args.get(AGENT_FLAG)
    if name is None:
        return options
    agent = (options.agents or {}).get(name)
    if agent is None:
        known = ", ".join(sorted(options.agents or ())) or "none"
        raise OptionsError(f"agent: there is no agent {name!r}; known are: {known}")
    changes: dict[str, Any] = {"system_prompt": agent.prompt}
    if agent.tools is not None:
        changes["tools"] = [name for name in agent.tools if not name.startswith("mcp__")]
    if agent.disallowedTools:
        changes["disallowed_tools"] = [*options.disallowed_tools, *agent.disallowedTools]
    for field, value in {"model": agent.model, "max_turns": agent.maxTurns}.items():
        if value is not None and value != "inherit" and getattr(options, field) is None:
            changes[field] = value
    return replace(options, **changes)
