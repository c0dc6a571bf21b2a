"""One settings document → `Settings`, every key checked. Says what a file means, not where it lies or who trusts it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, get_args

from msgspec.structs import replace

from toolwright.base.jsonc import Document, NotJson, line_starts, parse_document
from toolwright.settings.hooks import read_hooks
from toolwright.settings.reader import ObjectReader
from toolwright.settings.sandbox import SandboxConfig, read_sandbox
from toolwright.settings.values import Origin, ServerEntry, Settings, SourcedRule
from toolwright.types import OptionsError, PermissionBehavior, PermissionMode

GUARDS = ("permissions", "boundary", "sandbox", "hooks", "disableAllHooks", "availableModels")
PERMISSION_GUARDS = ("ask", "deny", "defaultMode", "disableBypassPermissionsMode")

KNOWN_WITHOUT_EFFECT = frozenset(
    """$schema includeCoAuthoredBy attribution forceLoginMethod forceLoginOrgUUID enabledPlugins extraKnownMarketplaces
    strictKnownMarketplaces spinnerTipsEnabled spinnerVerbs alwaysThinkingEnabled language companyAnnouncements awsAuthRefresh
    awsCredentialExport otelHeadersHelper fileSuggestion respectGitignore plansDirectory showTurnDuration theme verbose
    skipDangerousModePermissionPrompt skipWebFetchPreflight feedbackSurveyState prefersReducedMotion terminalProgressBarEnabled
    teammateMode autoUpdatesChannel effortLevel fastMode voiceEnabled worktree autoMemoryDirectory agent ultrathink
    allowManagedHooksOnly allowManagedPermissionRulesOnly allowManagedMcpServersOnly allowedMcpServers deniedMcpServers
    includeGitInstructions defaultShell modelOverrides env_file
    autoCompactEnabled autoConnectIde autoInstallIdeExtension editorMode tui viewMode remote parentSettingsBehavior
    disableDeepLinkRegistration disableSkillShellExecution disableAutoMode autoMode useAutoModeDuringPlan
    channelsEnabled allowedChannelPlugins blockedMarketplaces pluginTrustMessage pluginConfigs minimumVersion
    showThinkingSummaries showClearContextOnPlanAccept skillOverrides subagentModel tools maxTurns""".split()  # noqa: SIM905 — a word list reads better
)
"""Keys of other programs that read the same files: known, and nothing here."""

MUST_BE_CARRIED_OUT = frozenset(
    {
        "allowManagedHooksOnly",
        "allowManagedPermissionRulesOnly",
        "allowManagedMcpServersOnly",
        "deniedMcpServers",
        "allowedMcpServers",
    }
)
"""Of these, the ones that limit when an administrator sets them: refused there, because nothing here does what they say."""

MAX_REMEMBERED_LENGTH = 64 * 1024
NOT_FROM_SETTINGS = ("CLAUDE_CONFIG_DIR", "HOME", "IS_SANDBOX", "TOOLWRIGHT_TRUST_WORKSPACE")
"""Variables that say where settings lie and how far they reach: those count only in the real environment."""


def parse_settings(text: str, origin: Origin) -> Settings:
    """What the settings `text` says. Raises `OptionsError` with file, line and key."""
    return _parsed(text, origin) if len(text) <= MAX_REMEMBERED_LENGTH else _parsed.__wrapped__(text, origin)


@lru_cache(maxsize=32)
def _parsed(text: str, origin: Origin) -> Settings:
    """Sessions that start in the same place read the same text: it is taken apart once."""
    reader = ObjectReader.of(document_of(text, origin.path), origin.path, guards=GUARDS)
    permissions = reader.inner("permissions", guards=PERMISSION_GUARDS)
    settings = Settings(
        boundary_is_strict=reader.choice("boundary", ("default", "strict")) == "strict",
        env=_env(reader),
        hooks=_hooks(reader, origin),
        all_hooks_disabled=reader.boolean("disableAllHooks"),
        hook_urls=reader.texts("allowedHttpHookUrls") if "allowedHttpHookUrls" in reader.names else None,
        hook_variables=reader.texts("httpHookAllowedEnvVars") if "httpHookAllowedEnvVars" in reader.names else None,
        model=reader.text("model"),
        available_models=reader.texts("availableModels") if "availableModels" in reader.names else None,
        output_style=reader.text("outputStyle"),
        sandbox=_sandbox(reader),
        mcp_servers=read_servers(reader.inner("mcpServers"), origin),
        all_project_servers_enabled=reader.boolean("enableAllProjectMcpServers"),
        enabled_servers=reader.texts("enabledMcpjsonServers"),
        disabled_servers=reader.texts("disabledMcpjsonServers"),
        api_key_helper=reader.text("apiKeyHelper"),
        status_line=_object(reader, "statusLine"),
        memory_excludes=reader.texts("claudeMdExcludes"),
        auto_memory=reader.boolean("autoMemoryEnabled"),
        cleanup_period_days=reader.whole("cleanupPeriodDays"),
        said=frozenset(reader.names),
    )
    settings = with_permissions(settings, permissions, origin) if permissions else settings
    reader.accept(*KNOWN_WITHOUT_EFFECT)
    reader.finish()
    if origin.scope == "managed" and settings.said & MUST_BE_CARRIED_OUT:
        key = min(settings.said & MUST_BE_CARRIED_OUT)
        reader.refuse(reader.node.get(key), key, "is not supported in this version and must not be ignored")
    return replace(settings, notes=tuple(reader.notes))


def document_of(text: str, name: str) -> Document:
    text = text.removeprefix("\ufeff")
    try:
        return parse_document(text)
    except NotJson as error:
        starts = [start for start in line_starts(text) if start <= error.offset]
        where = f"{name}:{len(starts)}:{error.offset - starts[-1] + 1}"
        raise OptionsError(f"{where}: not valid JSON: {error.problem}") from None


def with_permissions(settings: Settings, reader: ObjectReader, origin: Origin) -> Settings:
    mode = reader.choice("defaultMode", get_args(PermissionMode))
    settings = replace(
        settings,
        rules=tuple(_rules(reader, origin)),
        default_mode=mode,
        default_mode_source=replace(origin, line=reader.line("defaultMode")) if mode else None,
        additional_directories=reader.texts("additionalDirectories"),
        bypass_disabled=reader.choice("disableBypassPermissionsMode", ("disable",)) is not None,
    )
    reader.accept("disableAutoMode", "skipDangerousModePermissionPrompt")
    reader.finish()
    return settings


def _rules(reader: ObjectReader, origin: Origin) -> Iterator[SourcedRule]:
    behaviors: tuple[PermissionBehavior, ...] = get_args(PermissionBehavior)
    for behavior in behaviors:
        for text, line in reader.lined_texts(behavior):
            yield SourcedRule(text, behavior, replace(origin, line=line))


def _env(reader: ObjectReader) -> dict[str, str]:
    found = reader.text_map("env")
    for name in found:
        if not name or "=" in name or "\0" in name:
            reader.refuse(reader.node.get("env"), f"env.{name}", "this is not the name of a variable")
    for name in NOT_FROM_SETTINGS:
        if found.pop(name, None) is not None:
            reader.notes.append(f"{reader.name}: env.{name} has no effect: it counts only in the real environment")
    return found


def _hooks(reader: ObjectReader, origin: Origin) -> tuple[Any, ...]:
    inner = reader.inner("hooks")
    return read_hooks(inner, origin) if inner else ()


def _sandbox(reader: ObjectReader) -> SandboxConfig | None:
    inner = reader.inner("sandbox", guards=("enabled", "failIfUnavailable", "network", "filesystem", "credentials"))
    return read_sandbox(inner) if inner else None


def sandbox_of(option: Mapping[str, Any]) -> SandboxConfig:
    """The option `sandbox`, which is spelled as in settings files."""
    try:
        text = json.dumps(option)
    except (TypeError, ValueError) as error:
        raise OptionsError(f"sandbox: {error}") from None
    return read_sandbox(ObjectReader.of(document_of(text, "sandbox"), "sandbox"))


def _object(reader: ObjectReader, key: str) -> Mapping[str, Any] | None:
    inner = reader.inner(key)
    return None if inner is None else inner.node.plain()


# tool servers

_KINDS = ("stdio", "sse", "http", "ws")
_SPELLINGS = {"streamable-http": "http", "streamableHttp": "http"}


def parse_servers(text: str, origin: Origin) -> tuple[ServerEntry, ...]:
    """The servers of a `.mcp.json`."""
    reader = ObjectReader.of(document_of(text, origin.path), origin.path)
    return read_servers(reader.inner("mcpServers"), origin)


def read_servers(reader: ObjectReader | None, origin: Origin) -> tuple[ServerEntry, ...]:
    if reader is None:
        return ()
    return tuple(_server(reader, name, origin) for name in reader.names)


def _server(servers: ObjectReader, name: str, origin: Origin) -> ServerEntry:
    entry = servers.inner(name)
    assert entry is not None
    kind = entry.choice("type", (*_KINDS, *_SPELLINGS)) or (
        "http" if "url" in entry.names and "command" not in entry.names else "stdio"
    )
    kind = _SPELLINGS.get(kind, kind)
    if kind == "stdio":
        entry.required_text("command")
        entry.texts("args")
        entry.text_map("env")
    else:
        entry.required_text("url")
        entry.text_map("headers")
    return ServerEntry(name, kind, replace(origin, line=servers.line(name)), entry.node.plain())  # type: ignore[arg-type]  # one of _KINDS
