"""`toolwright config`: the settings in force in a folder, and the file that each comes from."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from toolwright.cli.failures import EXIT_FAILED, complain
from toolwright.cli.flags import Flag, folder_argument, parse
from toolwright.cli.plain_output import write_now
from toolwright.cli.terminal import visible

if TYPE_CHECKING:
    from toolwright.settings.values import Origin, Settings

CONFIG_FLAGS = (Flag("json", "switch"), Flag("help", "switch", short="h"))
USAGE = """\
Usage: toolwright config [DIR] [--json]

Shows the settings in force in a folder (this one, if none is given), and the file
that each comes from. Where several files say something, the first one listed wins;
rules, hooks, folders and variables of all of them count. Values that look like
keys are not shown.
"""
_SCOPES = frozenset({"managed", "local", "project", "user"})
_SINGLE = ("model", "output_style", "api_key_helper", "status_line", "sandbox", "auto_memory", "cleanup_period_days")
_VARIABLES = (
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "OPENAI_API_KEY"),
    *("OPENAI_BASE_URL", "TOOLWRIGHT_MODEL", "CLAUDE_CONFIG_DIR"),
)
_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "AUTHORIZATION")


def config_command(arguments: Sequence[str]) -> int:
    from toolwright.types import OptionsError

    line = parse(arguments, CONFIG_FLAGS)
    if line.values.get("help"):
        write_now(1, USAGE)
        return 0
    folder = folder_argument(line, "config")
    try:
        found = in_force(folder)
    except OptionsError as error:
        complain(str(error))
        return EXIT_FAILED
    write_now(1, json.dumps(found, indent=2) + "\n" if line.values.get("json") else report(found))
    return 0


def in_force(folder: str) -> dict[str, Any]:
    """What counts in the folder, as JSON has it: rows of what, value and source, and the variables beside them."""
    from toolwright.config.kept_keys import KeptKeys
    from toolwright.config.session_config import whereabouts
    from toolwright.settings.load import load
    from toolwright.settings.locations import read_text

    where = whereabouts(folder, os.environ)
    loaded = load(where)
    files = [(origin, text) for origin in where.files(_SCOPES) if (text := read_text(origin.path)) is not None]
    return {
        "folder": folder,
        "trusted": loaded.is_trusted(),
        "files": [{"scope": origin.scope, "path": origin.path} for origin, _ in files],
        "settings": [*_sourced(loaded.settings), *_found(loaded.settings, files)],
        "variables": {name: _shown(name, os.environ[name]) for name in _VARIABLES if os.environ.get(name)},
        "kept_keys": [name.removesuffix(" key") for name in KeptKeys(where.config[0])],
        "notes": list(loaded.settings.notes),
    }


def _sourced(settings: Settings) -> Iterator[dict[str, str]]:
    """What knows by itself where it was said."""
    yield from (_row(rule.behavior, rule.text, rule.source) for rule in settings.rules)
    if settings.default_mode is not None and settings.default_mode_source is not None:
        yield _row("mode", settings.default_mode, settings.default_mode_source)
    for hook in settings.hooks_in_force:
        yield _row(f"hook {hook.event}", str(hook.command or hook.url or hook.prompt or hook.tool), hook.source)
    yield from (_row("server", server.name, server.source) for server in settings.mcp_servers)


def _found(settings: Settings, files: Sequence[tuple[Origin, str]]) -> Iterator[dict[str, str]]:
    """What counts as a whole: the highest file that says it is where it comes from."""
    from toolwright.settings.schema import parse_settings
    from toolwright.settings.together import is_server_file

    said = [(origin, parse_settings(text, origin)) for origin, text in files if not is_server_file(origin)]
    for name, value in settings.env.items():
        source = next((origin for origin, one in said if one.env.get(name) == value), None)
        yield _row(f"variable {name}", _shown(name, value), source)
    for folder in settings.additional_directories:
        yield _row("folder", folder, next((origin for origin, one in said if folder in one.additional_directories), None))
    if settings.boundary_is_strict:
        yield _row("boundary", "strict", next((origin for origin, one in said if one.boundary_is_strict), None))
    for name in _SINGLE:
        value = getattr(settings, name)
        if value is not None:
            source = next((origin for origin, one in said if getattr(one, name) is not None), None)
            yield _row(name.replace("_", " "), str(to_builtins(value)), source)


def _row(what: str, value: str, source: Origin | None) -> dict[str, str]:
    return {"what": what, "value": value, "source": "several files" if source is None else str(source)}


def _shown(name: str, value: str) -> str:
    """A variable's value, unless it looks like a key."""
    return "(set; not shown)" if any(word in name.upper() for word in _SECRET) else value


def report(found: dict[str, Any]) -> str:
    trust = "trusted" if found["trusted"] else "not trusted: what permits or runs anything in its own settings does not count"
    lines = [f"{found['folder']} ({trust})", "", "Files, the first wins:"]
    lines += [f"  {file['scope']:8} {file['path']}" for file in found["files"]] or ["  none"]
    lines += ["", "In force:"]
    lines += [f"  {row['what']} {row['value']}   [{row['source']}]" for row in found["settings"]] or ["  the defaults"]
    lines += ["", "From the environment:"]
    lines += [f"  {name}={value}" for name, value in found["variables"].items()] or ["  nothing"]
    lines += (
        ["", "Keys kept by toolwright login, for:", *(f"  {server}" for server in found["kept_keys"])]
        if found["kept_keys"]
        else []
    )
    lines += ["", *(f"Note: {note}" for note in found["notes"])] if found["notes"] else []
    return "".join(visible(line.replace("\n", "\\n")) + "\n" for line in lines)
