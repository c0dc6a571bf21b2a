"""What every room stands on: the folder, the settings in force, the environment as this session sees it.

Settings are read here once, when a session starts; nothing that changes in the files later reaches it.
"""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from toolwright.permissions import Rule, RuleSet, RuleSource, parse_rule
from toolwright.sandbox.placeholders import register_folder, sweep_before_reading
from toolwright.sessions import config_dir
from toolwright.settings import SOURCES, Settings, SettingsLocations, SourcedRule, load
from toolwright.tools.registry import canonical_name
from toolwright.types import ClaudeAgentOptions, CLIConnectionError, OptionsError, PermissionUpdate

if TYPE_CHECKING:
    from toolwright.hooks.session.session_hooks import SessionHooks
    from toolwright.settings.memory import Memory, MemoryPlaces, Recollection
    from toolwright.settings.values import Scope

Hidden = Callable[[str], bool]
"""Whether a deny rule keeps this path from being read."""

TRUST_FLAG = "trust-workspace"
PARENT_SETTINGS_FLAG = "managed-settings"
PROJECT_ROOT_FLAG = "project-config-root"
TRUST_VARIABLE = "TOOLWRIGHT_TRUST_WORKSPACE"

SOURCE_OF: dict[Scope, RuleSource] = {
    "managed": "policySettings",
    "inline": "options",
    "local": "localSettings",
    "project": "projectSettings",
    "user": "userSettings",
}


class SessionConfig(Struct, frozen=True):
    """The folder, the settings, the environment."""

    cwd: str
    settings: Settings
    env: Mapping[str, str]
    """`env` of the options, then of the settings, then the process's own."""
    where: SettingsLocations
    is_trusted: Callable[[], bool]
    sources: tuple[str, ...] | None
    """The settings files that were asked for; None is all."""
    strict: bool
    """Whether a yes opens nothing outside the working folders: options or settings say `boundary: strict`."""

    def readable_places(self) -> tuple[str, ...]:
        """The files and folders outside the working folders that may be read unasked."""
        from toolwright.sandbox.readable_places import readable_places  # not before something outside is looked at

        return readable_places(self.env, self.env.get("HOME"))

    def settings_folders(self) -> dict[str, str]:
        """The further folders that settings name: as written → the path."""
        named = self.settings.additional_directories
        return {folder: os.path.join(self.cwd, os.path.expanduser(folder)) for folder in named}


def ground_of(options: ClaudeAgentOptions) -> SessionConfig:
    """Raises `CLIConnectionError` for a folder that is not there and `OptionsError` for settings that cannot be read."""
    cwd = os.path.abspath(os.fspath(options.cwd)) if options.cwd is not None else _current_folder()
    if not os.path.isdir(cwd):
        raise CLIConnectionError(f"Working directory does not exist: {cwd}")
    real = ChainMap(options.env, os.environ)
    where, sources = whereabouts(project_root(options) or cwd, real), sources_of(options)
    loaded = load(
        where,
        inline=options.settings,
        of_parent=options.extra_args.get(PARENT_SETTINGS_FLAG),
        sources=sources,
        trusted=is_trusted_explicitly(options, real),
    )
    settings_rules(loaded.settings.rules)  # refuses rules that cannot work before anything is started
    env = ChainMap(options.env, dict(loaded.settings.env), os.environ)
    strict = options.boundary == "strict" or loaded.settings.boundary_is_strict
    return SessionConfig(cwd, loaded.settings, env, where, loaded.is_trusted, sources, strict)


def _current_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise CLIConnectionError("The working directory has been deleted: go to another folder, or give one as cwd.") from None


def project_root(options: ClaudeAgentOptions) -> str | None:
    """The folder whose project settings count in place of the working folder's, if one was named. Raises `OptionsError`."""
    root = options.extra_args.get(PROJECT_ROOT_FLAG)
    if root is not None and not (os.path.isabs(root) and os.path.isdir(root)):
        raise OptionsError(f"{PROJECT_ROOT_FLAG} must be the absolute path of a folder; got {root!r}")
    return root


def whereabouts(cwd: str, env: Mapping[str, str]) -> SettingsLocations:
    """Only the real environment says where settings lie: a file in the project cannot move them.

    What a killed session let stand in the folder goes first: some of it has the name of a settings file.
    """
    folders = config_folders(env.get("CLAUDE_CONFIG_DIR") or "", env.get("HOME") or "")
    sweep_before_reading(cwd, register_folder(folders[0]))
    return SettingsLocations(cwd, folders)


@lru_cache(maxsize=16)
def config_folders(given: str, home: str) -> tuple[str, ...]:
    """The folders of the user's own settings: the one that was given, or the two in the home folder."""
    config = str(config_dir({"CLAUDE_CONFIG_DIR": given, "HOME": home}))
    return (config,) if given else (config, os.path.join(os.path.dirname(config), ".toolwright"))


def sources_of(options: ClaudeAgentOptions) -> tuple[str, ...] | None:
    """Skills live in settings folders, so asking for skills without naming sources asks for those."""
    if options.setting_sources is None:
        return None if options.skills is None else ("user", "project")
    return tuple(options.setting_sources)


def is_trusted_explicitly(options: ClaudeAgentOptions, env: Mapping[str, str]) -> bool:
    return TRUST_FLAG in options.extra_args or env.get(TRUST_VARIABLE, "").lower() in ("1", "true")


# diagnostics


def notes_on(ground: SessionConfig) -> Iterator[str]:
    """Lines of diagnostics about settings: what was left out, what does nothing here."""
    settings = ground.settings
    yield from (f"toolwright: {note}" for note in settings.notes)
    rules, problems = settings_rules(settings.rules)
    yield from (f"toolwright: {problem}" for problem in problems)
    if any(rule.tool == "Bash" and rule.behavior == "allow" for rule in rules.rules):
        from toolwright.permissions.shell.breadth import breadth_note  # for settings that allow commands

        note = breadth_note(rules.rules)
        yield from (f"toolwright: settings: {note}",) if note else ()
    for named, folder in ground.settings_folders().items():
        if not os.path.isdir(folder):
            yield f"toolwright: settings: additionalDirectories: {named} is not a folder and was left out"
    for key in sorted(settings.said & {"outputStyle", "apiKeyHelper", "availableModels", "statusLine"}):
        yield f"toolwright: settings: the key {key} has no effect in this version"


# rules


@lru_cache(maxsize=64)
def settings_rules(rules: tuple[SourcedRule, ...]) -> tuple[RuleSet, tuple[str, ...]]:
    """The rules of all settings, and what is wrong with those that cannot work.

    A deny or ask rule that cannot work is refused: whoever wrote it relies on it. Such an allow rule allows nothing.
    """
    parsed: list[Rule] = []
    problems: list[str] = []
    for rule in rules:
        try:
            parsed.append(parsed_rule(rule))
        except OptionsError as error:
            if rule.behavior != "allow":
                raise OptionsError(f"{rule.source}: {error}") from None
            problems.append(f"{rule.source}: {error} It has no effect.")
    return RuleSet(parsed), tuple(problems)


def parsed_rule(rule: SourcedRule) -> Rule:
    source = rule.source
    parsed = parse_rule(rule.text, rule.behavior, source=SOURCE_OF[source.scope], base=source.base, canonical=canonical_name)
    return replace(parsed, where=str(source))


def keep_update(update: PermissionUpdate, ground: SessionConfig) -> None:
    """Write a person's answer to the settings file that it names as its destination."""
    if update.destination in (None, "session"):
        return
    from toolwright.settings.writing import write_update  # few sessions write settings

    write_update(update, ground.where)


class Remembering:
    """The memory files of one session: read with the first prompt, and those of a subfolder once a file there has been read."""

    __slots__ = ("_further", "_ground", "_hidden", "_hooks", "_recollection", "_tell")

    def __init__(
        self,
        ground: SessionConfig,
        hooks: SessionHooks,
        *,
        further: tuple[str, ...],
        hidden: Callable[[], Hidden | None],
        tell: Callable[[str], None],
    ) -> None:
        self._ground = ground
        self._hooks = hooks
        self._further = further
        self._hidden = hidden
        self._tell = tell
        self._recollection: Recollection | None = None

    def beginning(self) -> str:
        from toolwright.settings.memory import Recollection  # not before there is a prompt

        self._recollection = Recollection(self._places())
        return self._told(self._recollection.beginning(), "session_start")

    def below(self, folders: Collection[str]) -> list[str]:
        """The texts about these folders that were not told yet."""
        if not folders or self._recollection is None:
            return []
        told = self._told(self._recollection.below(folders), "nested_traversal")
        return [told] if told else []

    def _told(self, memory: Memory, reason: str) -> str:
        for note in memory.notes:
            self._tell(f"toolwright: {note}")
        for file in memory.loaded:
            why = "include" if file.imported_by else reason
            self._hooks.instructions_are_loaded(file.path, file.kind, reason=why, parent=file.imported_by)
        return memory.text

    def _places(self) -> MemoryPlaces:
        from toolwright.settings.memory import MemoryPlaces

        ground = self._ground
        with_added = ground.env.get("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD", "").lower() in ("1", "true")
        return MemoryPlaces(
            ground.cwd,
            ground.where.config,
            SOURCES if ground.sources is None else ground.sources,
            further=self._further if with_added else (),
            excludes=ground.settings.memory_excludes,
            is_trusted=ground.is_trusted,
            is_hidden=self._hidden(),
        )
