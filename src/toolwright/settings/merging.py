"""Many settings into one: lists together, variables per name, of the rest what the highest says.

Folders that nobody has trusted come in last and only tighten: whatever they say, no call is allowed that was not allowed
without them, and nothing of theirs runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

from msgspec.structs import replace

from toolwright.settings.sandbox import merge_sandbox, tighten_sandbox
from toolwright.settings.values import Origin, ServerEntry, Settings

T = TypeVar("T")

STRICTER: dict[str, frozenset[str]] = {
    "bypassPermissions": frozenset({"acceptEdits", "auto", "default", "plan", "dontAsk"}),
    "acceptEdits": frozenset({"default", "plan", "dontAsk"}),
    "auto": frozenset({"default", "plan", "dontAsk"}),
    "default": frozenset({"plan", "dontAsk"}),
}
"""Mode → modes in which no call is allowed that it does not allow. Of two that cannot be compared none is stricter."""

HARMLESS = frozenset({"permissions", "boundary", "sandbox", "outputStyle", "$schema"})
"""Top-level keys of an untrusted folder that are looked at, or of which nothing comes."""


def merge(ranked: Sequence[Settings]) -> Settings:
    """The settings of all, the highest first."""
    result = Settings()
    for lower in ranked:
        result = _merge_two(result, lower)
    return result


def _merge_two(high: Settings, low: Settings) -> Settings:
    by_mode = high if high.default_mode is not None else low
    return Settings(
        rules=(*high.rules, *low.rules),
        default_mode=by_mode.default_mode,
        default_mode_source=by_mode.default_mode_source,
        additional_directories=_together(high.additional_directories, low.additional_directories),
        bypass_disabled=high.bypass_disabled or low.bypass_disabled,
        boundary_is_strict=high.boundary_is_strict or low.boundary_is_strict,
        env={**low.env, **high.env},
        hooks=(*high.hooks, *low.hooks),
        all_hooks_disabled=_first(high.all_hooks_disabled, low.all_hooks_disabled),
        hook_urls=_first(high.hook_urls, low.hook_urls),
        hook_variables=_first(high.hook_variables, low.hook_variables),
        model=_first(high.model, low.model),
        available_models=_first(high.available_models, low.available_models),
        output_style=_first(high.output_style, low.output_style),
        sandbox=merge_sandbox(high.sandbox, low.sandbox),
        mcp_servers=_servers(high, low),
        all_project_servers_enabled=_first(high.all_project_servers_enabled, low.all_project_servers_enabled),
        enabled_servers=_together(high.enabled_servers, low.enabled_servers),
        disabled_servers=_together(high.disabled_servers, low.disabled_servers),
        api_key_helper=_first(high.api_key_helper, low.api_key_helper),
        status_line=_first(high.status_line, low.status_line),
        memory_excludes=_together(high.memory_excludes, low.memory_excludes),
        auto_memory=_first(high.auto_memory, low.auto_memory),
        cleanup_period_days=_first(high.cleanup_period_days, low.cleanup_period_days),
        said=high.said | low.said,
        notes=(*high.notes, *low.notes),
    )


def _first(high: T | None, low: T | None) -> T | None:
    return low if high is None else high


def _together(high: Iterable[str], low: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain(high, low)))


def _servers(high: Settings, low: Settings) -> tuple[ServerEntry, ...]:
    names = {server.name for server in high.mcp_servers}
    return (*high.mcp_servers, *(server for server in low.mcp_servers if server.name not in names))


# untrusted folders


def tighten(trusted: Settings, wish: Settings, origin: Origin) -> Settings:
    """`trusted` with what the untrusted file `wish` forbids, and a note for each thing of it that is left out."""
    mode, source, left_out = _stricter_mode(trusted, wish)
    sandbox = trusted.sandbox if wish.sandbox is None else tighten_sandbox(trusted.sandbox, wish.sandbox)
    notes = [*left_out, *_left_out(wish, origin)]
    if wish.sandbox is not None and merge_sandbox(wish.sandbox, trusted.sandbox) != sandbox:
        notes.append(f"{origin.path}: sandbox: what would loosen the sandbox")
    return replace(
        trusted,
        rules=(*trusted.rules, *(rule for rule in wish.rules if rule.behavior != "allow")),
        default_mode=mode,
        default_mode_source=source,
        bypass_disabled=trusted.bypass_disabled or wish.bypass_disabled,
        boundary_is_strict=trusted.boundary_is_strict or wish.boundary_is_strict,
        sandbox=sandbox,
        disabled_servers=_together(trusted.disabled_servers, wish.disabled_servers),
        said=trusted.said | (wish.said & HARMLESS),
        notes=(*trusted.notes, *wish.notes, *(f"{note} has no effect: this folder is not trusted" for note in notes)),
    )


def _stricter_mode(trusted: Settings, wish: Settings) -> tuple[str | None, Origin | None, list[str]]:
    base = trusted.default_mode or "default"
    if wish.default_mode is None or wish.default_mode == base:
        return trusted.default_mode, trusted.default_mode_source, []
    if wish.default_mode in STRICTER.get(base, ()):
        return wish.default_mode, wish.default_mode_source, []
    note = f"{wish.default_mode_source}: permissions.defaultMode {wish.default_mode!r}"
    return trusted.default_mode, trusted.default_mode_source, [note]


def _left_out(wish: Settings, origin: Origin) -> Iterator[str]:
    for rule in wish.rules:
        if rule.behavior == "allow":
            yield f"{rule.source}: permissions.allow {rule.text!r}"
    if wish.additional_directories:
        yield f"{origin.path}: permissions.additionalDirectories ({', '.join(wish.additional_directories)})"
    for key in sorted(wish.said - HARMLESS - {"disabledMcpjsonServers"}):
        yield f"{origin.path}: the key {key}"
