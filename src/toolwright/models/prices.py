"""What tokens cost and how much a model can take, from a data file. A model that it does not list has no price: never a guess.

Ids are matched without what providers hang on them: a region or vendor in front, a date, `-latest`, `[1m]` or a version
behind. So `claude-opus-4-5-20251101` is `claude-opus-4-5`, but `claude-opus-4-9` is not `claude-opus-4`. The file named by the
environment variable TOOLWRIGHT_PRICES (same format) goes before our own; there a key may end with `*`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

PRICES_VARIABLE = "TOOLWRIGHT_PRICES"
OWN_FILE = Path(__file__).with_name("prices.json")
MILLION = 1_000_000

BEFORE_ID = re.compile(r"^(?:[a-z0-9_-]+/)*(?:(?:[a-z]+\.)?anthropic\.)?")
AFTER_ID = re.compile(r"(?:\[1m\]|-v\d+(?::\d+)?|[@-]\d{8}|-\d{4}-\d{2}-\d{2}|[@-](?:latest|default))+$")


class PricesError(ValueError):
    """The file of TOOLWRIGHT_PRICES cannot be used."""


class Rates(Struct, frozen=True):
    """US dollars per million tokens."""

    input: float
    output: float
    cache_write_5m: float | None = None
    cache_write_1h: float | None = None
    cache_read: float | None = None


class LongRates(Rates, frozen=True, kw_only=True):
    """The rates of a whole request whose input has more than `tokens` tokens."""

    tokens: int


class PriceEntry(Rates, frozen=True, kw_only=True):
    """All that the file says of one model."""

    provider: str = ""
    context_window: int | None = None
    max_output: int | None = None
    above: LongRates | None = None


class PriceFile(Struct, frozen=True):
    models: dict[str, PriceEntry] = {}
    web_search_per_1000: dict[str, float] = {}


class TokenLimits(Struct, frozen=True):
    """In tokens; None where it is not known."""

    context_window: int | None
    max_output: int | None


def cost(model: str, usage: Mapping[str, Any], env: Mapping[str, str] | None = None) -> float | None:
    """US dollars for the usage that one answer reported (in the Messages API's shape), or None if the price is not known."""
    prices = _prices(env)
    entry = _find(model, prices)
    if entry is None:
        return None
    fees = _search_fees(usage, entry, prices)
    return None if fees is None else _token_cost(usage, _rates(usage, entry)) + fees


def limits(model: str, env: Mapping[str, str] | None = None) -> TokenLimits | None:
    entry = _find(model, _prices(env))
    return None if entry is None else TokenLimits(entry.context_window, entry.max_output)


def canonical(model: str) -> str:
    """The id as the file has it: no vendor or region before it, no date or version after it."""
    name = AFTER_ID.sub("", BEFORE_ID.sub("", model.lower()))
    return name.replace(".", "-") if name.startswith("claude") else name  # gateways write claude-opus-4.6


def _token_cost(usage: Mapping[str, Any], rates: Rates) -> float:
    written = _count(usage, "cache_creation_input_tokens")
    long_lived = min(written, _count(usage.get("cache_creation") or {}, "ephemeral_1h_input_tokens"))
    total = (
        _count(usage, "input_tokens") * rates.input
        + _count(usage, "output_tokens") * rates.output
        + (written - long_lived) * _or_input(rates.cache_write_5m, rates)
        + long_lived * _or_input(rates.cache_write_1h, rates)
        + _count(usage, "cache_read_input_tokens") * _or_input(rates.cache_read, rates)
    )
    return total / MILLION


def _or_input(rate: float | None, rates: Rates) -> float:
    """A provider that names no price of its own for cached tokens takes the input price."""
    return rates.input if rate is None else rate


def _rates(usage: Mapping[str, Any], entry: PriceEntry) -> Rates:
    if entry.above is None:
        return entry
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return entry.above if sum(_count(usage, name) for name in names) > entry.above.tokens else entry


def _search_fees(usage: Mapping[str, Any], entry: PriceEntry, prices: PriceFile) -> float | None:
    searches = _count(usage.get("server_tool_use") or {}, "web_search_requests")
    if not searches:
        return 0.0
    fee = prices.web_search_per_1000.get(entry.provider)
    return None if fee is None else searches * fee / 1000


def _count(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) else 0


def _find(model: str, prices: PriceFile) -> PriceEntry | None:
    name = canonical(model)
    found = prices.models.get(model) or prices.models.get(name)
    if found is not None:
        return found
    patterns = [key for key in prices.models if key.endswith("*") and name.startswith(key[:-1])]
    return prices.models[max(patterns, key=len)] if patterns else None


def _prices(env: Mapping[str, str] | None) -> PriceFile:
    path = (env or {}).get(PRICES_VARIABLE)
    return _merged(path, Path(path).stat().st_mtime_ns if path and Path(path).exists() else 0) if path else _own()


@lru_cache(maxsize=1)
def _own() -> PriceFile:
    return msgspec.json.decode(OWN_FILE.read_bytes(), type=PriceFile)


@lru_cache(maxsize=8)
def _merged(path: str, _changed: int) -> PriceFile:
    """Ours with the file at `path` over it. `_changed` makes a changed file be read again."""
    try:
        extra = msgspec.json.decode(Path(path).read_bytes(), type=PriceFile)
    except (OSError, ValueError) as error:
        raise PricesError(f"{PRICES_VARIABLE}={path} cannot be used: {error}") from error
    own = _own()
    return PriceFile({**own.models, **extra.models}, {**own.web_search_per_1000, **extra.web_search_per_1000})
