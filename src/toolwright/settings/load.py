"""All settings of a session, read once when it starts: which files, in which order, how far trusted."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from toolwright.settings.merging import merge, tighten
from toolwright.settings.places import Whereabouts, read_text
from toolwright.settings.schema import parse_servers, parse_settings
from toolwright.settings.trust import TrustStore, fingerprint, folder_files
from toolwright.settings.values import OF_THE_FOLDER, PRECEDENCE, Origin, Scope, Settings
from toolwright.types import OptionsError

SOURCES = ("user", "project", "local")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What all settings say together, and whether the folder is trusted (looked up when first asked)."""

    settings: Settings
    is_trusted: Callable[[], bool]


def load(
    where: Whereabouts, *, inline: str | None = None, sources: Sequence[str] | None = None, trusted: bool = False
) -> Loaded:
    """Read everything. `sources` None means all; managed and inline settings are always read. Raises `OptionsError`."""
    wanted = {"managed", *(SOURCES if sources is None else sources)}
    texts = [pair for scope in PRECEDENCE for pair in _of_scope(scope, where, wanted, inline)]
    of_folder = [(origin.path, text) for origin, text in texts if origin.scope in OF_THE_FOLDER]

    @cache
    def is_trusted() -> bool:
        files = of_folder if wanted >= OF_THE_FOLDER else folder_files(where)
        return trusted or TrustStore(where.config[0]).holds(where.cwd, fingerprint(files))

    if not of_folder:
        return Loaded(merge([parse_settings(text, origin) for origin, text in texts]) if texts else NOTHING, is_trusted)
    return Loaded(_together(texts, is_trusted()), is_trusted)


NOTHING = Settings()


def _of_scope(scope: Scope, where: Whereabouts, wanted: set[str], inline: str | None) -> list[tuple[Origin, str]]:
    if scope == "inline":
        return [_inline(inline, where.cwd)] if inline else []
    if scope not in wanted:
        return []
    origins = [*where.files(scope), *([where.servers()] if scope == "project" else [])]
    return [(origin, text) for origin in origins if (text := read_text(origin.path)) is not None]


def _inline(given: str, cwd: str) -> tuple[Origin, str]:
    if given.lstrip("\ufeff \t\r\n").startswith("{"):
        return Origin("inline", "settings"), given
    path = os.path.join(cwd, os.path.expanduser(given))
    text = read_text(path)
    if text is None:
        raise OptionsError(f"settings: cannot read {given!r}: there is no such file (it is neither a path nor JSON)"[:500])
    return Origin("inline", path, base=os.path.dirname(path)), text


def _together(texts: list[tuple[Origin, str]], trusted: bool) -> Settings:
    if trusted:
        return merge([_parse(origin, text) for origin, text in texts])
    own = merge([parse_settings(text, origin) for origin, text in texts if origin.scope not in OF_THE_FOLDER])
    for origin, text in texts:
        if origin.scope in OF_THE_FOLDER:
            own = tighten(own, _untrusted(origin, text), origin)
    return own


def _parse(origin: Origin, text: str) -> Settings:
    if not origin.path.endswith(".mcp.json"):
        return parse_settings(text, origin)
    return Settings(mcp_servers=parse_servers(text, origin), said=frozenset({"mcpServers"}))


def _untrusted(origin: Origin, text: str) -> Settings:
    """Servers of an untrusted folder are not even looked at: nothing there can forbid anything."""
    return Settings(said=frozenset({"mcpServers"})) if origin.path.endswith(".mcp.json") else parse_settings(text, origin)
