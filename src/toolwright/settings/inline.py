"""The `settings` option (`--settings`): a path, or JSON text. Settings files of user and project are not read here.

A key that limits what a session may do and is not carried out in this version is refused, never skipped: a person who wrote it
relies on it. Other unknown keys are named in `ignored`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolwright.types import OptionsError

MUST_NOT_BE_IGNORED = ("sandbox", "hooks", "apiKeyHelper", "disableBypassPermissionsMode")
PERMISSION_KEYS = ("allow", "ask", "deny", "defaultMode", "additionalDirectories")


@dataclass(frozen=True, slots=True)
class InlineSettings:
    """The settings that this version carries out."""

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    default_mode: str | None = None
    additional_directories: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    model: str | None = None
    ignored: tuple[str, ...] = ()


def read_inline(settings: str | None, cwd: str) -> InlineSettings:
    if not settings:
        return InlineSettings()
    source, text = locate(settings, cwd)
    return interpret(parse(text, source), source)


def locate(settings: str, cwd: str) -> tuple[str, str]:
    if settings.lstrip().startswith("{"):
        return "settings", settings
    path = Path(cwd, settings).expanduser()
    try:
        return str(path), path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionsError(f"settings: cannot read {settings!r}: {error}") from None


def parse(text: str, source: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise OptionsError(f"{source}: not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise OptionsError(f"{source}: settings must be a JSON object, not {type(value).__name__}")
    return value


def interpret(value: dict[str, Any], source: str) -> InlineSettings:
    permissions = expect(value, "permissions", dict, source) or {}
    for key in MUST_NOT_BE_IGNORED:
        if value.get(key) or permissions.get(key):
            raise OptionsError(f"{source}: {key} is not supported in this version and must not be ignored; remove it")
    for key in permissions:
        if key not in PERMISSION_KEYS:
            raise OptionsError(f"{source}: unknown key permissions.{key}; known are {', '.join(PERMISSION_KEYS)}")
    return InlineSettings(
        allow=texts(permissions, "allow", source),
        ask=texts(permissions, "ask", source),
        deny=texts(permissions, "deny", source),
        default_mode=expect(permissions, "defaultMode", str, source),
        additional_directories=texts(permissions, "additionalDirectories", source),
        env=text_map(value, "env", source),
        model=expect(value, "model", str, source),
        ignored=tuple(key for key in value if key not in ("permissions", "env", "model", "$schema")),
    )


def expect(value: dict[str, Any], key: str, kind: type, source: str) -> Any:
    found = value.get(key)
    if found is not None and not isinstance(found, kind):
        raise OptionsError(f"{source}: {key} must be of type {kind.__name__}, not {type(found).__name__}")
    return found


def texts(value: dict[str, Any], key: str, source: str) -> tuple[str, ...]:
    found = expect(value, key, list, source) or []
    if not all(isinstance(item, str) for item in found):
        raise OptionsError(f"{source}: {key} must be a list of texts")
    return tuple(found)


def text_map(value: dict[str, Any], key: str, source: str) -> dict[str, str]:
    found = expect(value, key, dict, source) or {}
    if not all(isinstance(item, str) for item in found.values()):
        raise OptionsError(f"{source}: every value of {key} must be a text")
    return dict(found)
