"""`toolwright trust`: show what a folder's settings would bring into force, and let a person say yes to exactly that."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from toolwright.cli.failures import EXIT_FAILED, EXIT_USAGE, complain
from toolwright.cli.flags import Flag, folder_argument, parse
from toolwright.cli.plain_output import write_now
from toolwright.cli.terminal import visible
from toolwright.settings import Settings

TRUST_FLAGS = (
    Flag("yes", "switch", short="y"),
    Flag("show", "switch"),
    Flag("revoke", "switch"),
    Flag("help", "switch", short="h"),
)

USAGE = """\
Usage: toolwright trust [DIR] [--yes | --show | --revoke]

Settings that come with a folder (.claude/, .toolwright/, .mcp.json) may forbid, but not permit
or run anything until a person trusts the folder. Trust is for what the files say now:
when they change, it has to be given again. --trust-workspace trusts for one run.

  --yes, -y  Do not ask
  --show     Only show what would come into force
  --revoke   Take trust back
"""


def trust_command(arguments: Sequence[str]) -> int:
    from toolwright.types import OptionsError

    line = parse(arguments, TRUST_FLAGS)
    if line.values.get("help"):
        write_now(1, USAGE)
        return 0
    folder = folder_argument(line, "trust")
    try:
        return _trust(folder, line.values)
    except OptionsError as error:
        complain(str(error))
        return EXIT_FAILED


def _trust(folder: str, wishes: dict[str, object]) -> int:
    from toolwright.config.session_config import whereabouts
    from toolwright.settings.together import together
    from toolwright.settings.trust import TrustStore, fingerprint, folder_files

    where = whereabouts(folder, os.environ)
    store = TrustStore(where.config[0])
    if wishes.get("revoke"):
        store.revoke(folder)
        write_now(1, f"{visible(folder)} is not trusted any more.\n")
        return 0
    files = folder_files(where)  # read once: what is shown is what is agreed to
    if not files:
        write_now(1, f"{visible(folder)} has no settings of its own: there is nothing to trust.\n")
        return 0
    settings = together(files, trusted=True)
    write_now(1, "".join(visible(line.replace("\n", "\\n")) + "\n" for line in (f"{folder} says:", *_shown(settings))))
    if wishes.get("show"):
        return 0
    if not wishes.get("yes") and not _agrees():
        return EXIT_USAGE
    store.grant(folder, fingerprint(files))
    write_now(1, "Trusted, as long as these files do not change.\n")
    return 0


def _agrees() -> bool:
    if not sys.stdin.isatty():
        complain("nobody can be asked here: add --yes if all of this may come into force")
        return False
    write_now(1, "May all of this come into force? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _shown(settings: Settings) -> Iterator[str]:
    from msgspec import to_builtins

    yield from (f"  {rule.behavior} {rule.text}" for rule in settings.rules)
    if settings.default_mode:
        yield f"  mode {settings.default_mode}"
    yield from (f"  folder {folder}" for folder in settings.additional_directories)
    yield from (f"  variable {name}={value}" for name, value in settings.env.items())
    yield from (f"  runs on {hook.event}: {hook.command or hook.url or hook.prompt or hook.tool}" for hook in settings.hooks)
    yield from (f"  tool server {server.name}: {dict(server.config)}" for server in settings.mcp_servers)
    for name in ("model", "api_key_helper", "status_line"):
        if getattr(settings, name) is not None:
            yield f"  {name.replace('_', ' ')} {getattr(settings, name)}"
    if settings.sandbox is not None:
        yield f"  sandbox {to_builtins(settings.sandbox)}"
