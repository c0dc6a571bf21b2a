"""A decision explained for a call that nobody makes: what `toolwright permissions explain` shows.

Builds the same facts and takes the same rules as a session in that folder would; runs nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from toolwright.config.session_config import SessionConfig, ground_of, settings_rules
from toolwright.permissions import (
    Explanation,
    PermissionCall,
    RuleSet,
    SessionFolders,
    explain,
    parse_rule,
    read_command,
    with_real_paths,
)
from toolwright.permissions.session.filesystem_facts import MACHINE_FILES
from toolwright.permissions.session.gate_selection import own_folders, programs_within
from toolwright.permissions.session.permission_call import call_facts, judged_input
from toolwright.sandbox.cage.selection import cage_mechanism
from toolwright.sandbox.readable_places import readable_places
from toolwright.sessions import config_dir
from toolwright.tools.base import Effects, InvalidInput, Tool, reading, writing
from toolwright.tools.registry import builtin_tools, canonical_name, tools_with_a_person
from toolwright.types import ClaudeAgentOptions, OptionsError, PermissionMode
from toolwright.workspace import Workspace


class HypotheticalCall(Struct, frozen=True):
    """A call, and under which rules and mode it is judged. Without rules: those of the settings in force."""

    tool: str
    input: dict[str, Any]
    cwd: str
    rules: Mapping[str, Sequence[str]]
    """Texts by behavior: allow, ask, deny."""
    mode: PermissionMode | None = None


class ExplainedDecision(Struct, frozen=True):
    """The explanation, and what would not work: rules, or the input."""

    explanation: Explanation
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """What else one has to know: rules without effect because nobody trusts their folder, a sandbox."""
    cage: str = "none"
    """The mechanism that holds commands that run unasked."""


def answer(question: HypotheticalCall) -> ExplainedDecision:
    """Raises `OptionsError` for a deny or ask rule that cannot work, as a session would, and for unreadable settings."""
    cwd = os.path.realpath(question.cwd)
    given = any(question.rules.values())
    ground = None if given else ground_of(ClaudeAgentOptions(cwd=cwd))
    rules, problems = _given_rules(question.rules) if ground is None else settings_rules(ground.settings.rules)
    home = os.environ.get("HOME")
    readable = readable_places(os.environ, home)
    strict = ground is not None and ground.strict
    workspace = Workspace(
        cwd,
        add_dirs=_further_folders(ground),
        env={},
        state_dir=str(config_dir(os.environ)),
        readable=lambda: readable,
        strict=strict,
    )
    own = own_folders(ground.where.config if ground else (str(config_dir(os.environ)),))
    programs = programs_within((workspace.home, *workspace.roots), os.environ.get("PATH", ""))
    cage = cage_mechanism()
    place = SessionFolders(
        workspace.home,
        workspace.roots,
        home,
        MACHINE_FILES,
        own,
        programs,
        cage=cage is not None,
        readable=readable,
        strict=strict,
    )
    mode = question.mode or _settings_mode(ground)
    call, refusal = _facts(canonical_name(question.tool), question.input, workspace)
    notes = tuple(_notes(ground, call)) if ground else ()
    rules = with_real_paths(rules, place)
    return ExplainedDecision(explain(call, rules=rules, mode=mode, place=place), (*problems, *refusal), notes, cage or "none")


def _notes(ground: SessionConfig, call: PermissionCall) -> Iterator[str]:
    yield from (note for note in ground.settings.notes if ": permissions." in note)
    sandbox = ground.settings.sandbox
    if call.command is not None and sandbox is not None and sandbox.enabled and sandbox.auto_allow_bash is not False:
        yield "The settings turn the sandbox on: in it a command runs unasked unless a rule holds it back. Judged without it."


def _given_rules(texts: Mapping[str, Sequence[str]]) -> tuple[RuleSet, tuple[str, ...]]:
    parsed, problems = [], []
    for behavior in ("deny", "ask"):
        parsed += [_parsed(text, behavior) for text in texts.get(behavior, ())]
    for text in texts.get("allow", ()):
        try:
            parsed.append(_parsed(text, "allow"))
        except OptionsError as error:
            problems.append(f"{error} It has no effect.")
    return RuleSet(parsed), tuple(problems)


def _parsed(text: str, behavior: Any) -> Any:
    return parse_rule(text, behavior, canonical=canonical_name, where=f"--{behavior}")


def _further_folders(ground: SessionConfig | None) -> list[str]:
    return [folder for folder in ground.settings_folders().values() if os.path.isdir(folder)] if ground else []


def _settings_mode(ground: SessionConfig | None) -> PermissionMode:
    named: Any = ground.settings.default_mode if ground else None
    return named or "default"


def _facts(name: str, raw: dict[str, Any], workspace: Workspace) -> tuple[PermissionCall, tuple[str, ...]]:
    """What a session would know of the call before it runs, and why the tool itself would refuse the input, if it would."""
    tool = next((tool for tool in (*builtin_tools(), *tools_with_a_person()) if tool.name == name), None)
    if tool is None:
        return PermissionCall(
            name, raw, hosts=_hosts(name, raw), read_only=name == "WebFetch", is_mcp=name.startswith("mcp__")
        ), ()
    refusal: tuple[str, ...] = ()
    judged = judged_input(tool, raw, workspace.home)
    try:
        effects = tool.effects(tool.parse(judged), workspace)
    except InvalidInput as error:
        effects, refusal = _guessed(tool, judged, workspace), (f"{error} (Judged by what there is.)",)
    call = call_facts(tool, judged, effects)
    return replace(call, line=read_command(call.command)) if call.command is not None else call, refusal


def _guessed(tool: Tool, raw: dict[str, Any], workspace: Workspace) -> Effects:
    """The effects of an input that is not complete, so that a rule can be tried with the least of typing."""
    named = (raw.get(field) for field in ("file_path", "notebook_path", "path"))
    paths = [path for path in named if isinstance(path, str)]
    command = raw.get("command")
    if isinstance(command, str):
        return Effects(command=command, cwd=workspace.home)
    return reading(workspace, *paths) if tool.read_only else writing(workspace, *paths)


def _hosts(name: str, raw: dict[str, Any]) -> tuple[str, ...]:
    try:
        host = urlsplit(str(raw.get("url", ""))).hostname if name == "WebFetch" else None
    except ValueError:
        host = None
    return (host,) if host else ()
