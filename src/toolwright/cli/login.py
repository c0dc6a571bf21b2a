"""`toolwright login` and `logout`: a model server's key, tried and then kept where only its owner can read it."""

from __future__ import annotations

import os
import sys
from collections import ChainMap
from collections.abc import Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from msgspec import Struct

from toolwright.cli.failures import EXIT_FAILED, EXIT_INTERRUPTED, complain
from toolwright.cli.flags import Flag, UsageError, parse
from toolwright.cli.plain_output import write_now
from toolwright.cli.signals import run
from toolwright.config.kept_keys import KeptKeys
from toolwright.config.session_config import config_folders
from toolwright.models.registry import ANTHROPIC_URL, OPENAI_URL, kept_key_name, resolve

if TYPE_CHECKING:
    from toolwright.models.base import ModelError

LOGIN_FLAGS = (Flag("model", "text"), Flag("untried", "switch"), Flag("help", "switch", short="h"))
USAGE = """\
Usage: toolwright login [anthropic | openai] [--model NAME] [--untried]
       toolwright logout [anthropic | openai]

Asks for a key (or takes the first line of stdin), tries it with one short question,
and keeps it in your config folder, in a file that only you can read. It goes to that
server alone, and a variable such as ANTHROPIC_API_KEY counts before it.

  --model NAME  The model to try it with
  --untried     Keep it without trying
"""


class Provider(Struct, frozen=True):
    """Where a key is for, and the model that it is tried with."""

    name: str
    url: str
    base_variable: str
    variables: tuple[str, ...]
    model: str

    def server(self) -> str:
        return os.environ.get(self.base_variable) or self.url


PROVIDERS = {
    "anthropic": Provider(
        "anthropic", ANTHROPIC_URL, "ANTHROPIC_BASE_URL", ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY"), "haiku"
    ),
    "openai": Provider("openai", OPENAI_URL, "OPENAI_BASE_URL", ("OPENAI_API_KEY",), "openai:gpt-5-mini"),
}
_KEY_WAS_KNOWN = (400, 402, 404, 429)
"""Answers of a server that had looked at the key first: no such model, nothing paid, too much asked."""


def login_command(arguments: Sequence[str]) -> int:
    line = parse(arguments, LOGIN_FLAGS)
    if line.values.get("help"):
        write_now(1, USAGE)
        return 0
    provider = _named(line.words)
    try:
        key = _ask_for_key(provider)
    except (EOFError, KeyboardInterrupt):
        complain("no key was given; nothing was kept")
        return EXIT_INTERRUPTED
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError("that is not a key: it must be one word without special characters; nothing was kept")
    if not line.values.get("untried"):
        model = line.values.get("model") or provider.model
        code = run(lambda stopping: _try(provider, key, model))
        if code:
            return code
    return _keep(provider, key)


def logout_command(arguments: Sequence[str]) -> int:
    line = parse(arguments, LOGIN_FLAGS)
    if line.values.get("help"):
        write_now(1, USAGE)
        return 0
    provider, keys = _named(line.words), kept_keys()
    if kept_key_name(provider.server()) not in keys:
        write_now(1, f"There is no key for {provider.server()} in {keys.path}.\n")
        return 0
    keys.put(provider.server(), None)
    write_now(1, f"The key for {provider.server()} was removed from {keys.path}.\n")
    return 0


def kept_keys() -> KeptKeys:
    return KeptKeys(config_folders(os.environ.get("CLAUDE_CONFIG_DIR") or "", os.environ.get("HOME") or "")[0])


def _named(words: Sequence[str]) -> Provider:
    name = words[0] if words else "anthropic"
    if len(words) > 1 or name not in PROVIDERS:
        raise UsageError(f"expected one of {', '.join(PROVIDERS)}; got {' '.join(words)!r}")
    return PROVIDERS[name]


def _ask_for_key(provider: Provider) -> str:
    if not os.isatty(0):
        return sys.stdin.readline().strip()
    from getpass import getpass  # only where somebody types

    return getpass(f"Key for {provider.server()} (not shown): ").strip()


async def _try(provider: Provider, key: str, name: str) -> int:
    """Ask one short question with this key. Says what is wrong with it; 0 if nothing is."""
    from toolwright.models.base import HistoryMessage, ModelError, ModelRequest

    environment = {name: value for name, value in os.environ.items() if name not in provider.variables}
    found = resolve(name, ChainMap({kept_key_name(provider.server()): key}, environment))
    question = HistoryMessage("user", [{"type": "text", "text": "Say yes."}])
    try:
        async with aclosing(found.model.stream(ModelRequest(found.id, [question], max_tokens=16))) as answer:
            async for _ in answer:
                pass
    except ModelError as error:
        return _judged(error, provider)
    finally:
        await found.model.aclose()
    return 0


def _judged(error: ModelError, provider: Provider) -> int:
    if error.status in _KEY_WAS_KNOWN and error.kind != "authentication_failed":
        complain(f"{provider.server()} took the key, but said: {error}")
        return 0
    if error.status in (401, 403) or error.kind == "authentication_failed":
        complain(f"{provider.server()} refused the key: {error}; nothing was kept")
    else:
        complain(f"the key could not be tried: {error}; nothing was kept (--untried keeps it all the same)")
    return EXIT_FAILED


def _keep(provider: Provider, key: str) -> int:
    keys = kept_keys()
    try:
        keys.put(provider.server(), key)
    except OSError as error:
        complain(f"the key cannot be kept in {keys.path}: {error.strerror}")
        return EXIT_FAILED
    write_now(1, f"The key for {provider.server()} is kept in {keys.path}; only you can read it.\n")
    louder = [name for name in provider.variables if os.environ.get(name)]
    if louder:
        complain(f"{louder[0]} is set and counts before the kept key")
    return 0
