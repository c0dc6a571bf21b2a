"""What the texts of several settings files say together, the highest first, and an untrusted folder only what tightens."""

from __future__ import annotations

import os
from collections.abc import Sequence

from toolwright.settings.locations import SERVERS
from toolwright.settings.merging import merge, tighten
from toolwright.settings.schema import parse_servers, parse_settings
from toolwright.settings.values import OF_THE_FOLDER, Origin, Settings


def together(texts: Sequence[tuple[Origin, str]], *, trusted: bool) -> Settings:
    """What these files say, the highest first."""
    if trusted:
        return merge([_parse(origin, text) for origin, text in texts])
    own = merge([parse_settings(text, origin) for origin, text in texts if origin.scope not in OF_THE_FOLDER])
    for origin, text in texts:
        if origin.scope in OF_THE_FOLDER:
            own = tighten(own, _untrusted(origin, text), origin)
    return own


def is_server_file(origin: Origin) -> bool:
    return os.path.basename(origin.path) == SERVERS and origin.scope == "project"


def _parse(origin: Origin, text: str) -> Settings:
    if not is_server_file(origin):
        return parse_settings(text, origin)
    return Settings(mcp_servers=parse_servers(text, origin), said=frozenset({"mcpServers"}))


def _untrusted(origin: Origin, text: str) -> Settings:
    """Servers of an untrusted folder are not even looked at: nothing there can forbid anything."""
    return Settings(said=frozenset({"mcpServers"})) if is_server_file(origin) else parse_settings(text, origin)
