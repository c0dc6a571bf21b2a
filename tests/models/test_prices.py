"""Costs come from the price file, and only from there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from toolwright.models import prices
from toolwright.models.prices import PricesError, canonical, cost, limits

USAGE = {
    "input_tokens": 1000,
    "output_tokens": 2000,
    "cache_creation_input_tokens": 3000,
    "cache_read_input_tokens": 4000,
    "cache_creation": {"ephemeral_5m_input_tokens": 2000, "ephemeral_1h_input_tokens": 1000},
}


def test_every_kind_of_token_has_its_own_price() -> None:
    expected = (1000 * 3 + 2000 * 15 + 2000 * 3.75 + 1000 * 6 + 4000 * 0.3) / 1_000_000
    assert cost("claude-sonnet-4-6", USAGE) == pytest.approx(expected)


@pytest.mark.parametrize(
    "model",
    [
        "claude-opus-4-5",
        "claude-opus-4-5-20251101",
        "claude-opus-4-5@20251101",
        "us.anthropic.claude-opus-4-5-20251101-v1:0",
        "anthropic.claude-opus-4-5-20251101-v1:0",
        "anthropic/claude-opus-4.5",
        "openrouter/anthropic/claude-opus-4.5",
        "claude-opus-4-5[1m]",
        "claude-opus-4-5-latest",
        "Claude-Opus-4-5",
    ],
)
def test_a_model_is_found_by_any_form_of_its_id(model: str) -> None:
    assert cost(model, {"input_tokens": 1_000_000}) == 5


@pytest.mark.parametrize(
    "model", ["claude-opus-4-99", "claude-opus-4-5-turbo", "claude", "", "gpt-5-huge", "qwen3", "claude-scripted"]
)
def test_an_unknown_model_has_no_price_and_no_limits(model: str) -> None:
    assert cost(model, USAGE) is None
    assert limits(model) is None


def test_dated_openai_ids_are_found_and_cached_input_is_cheaper() -> None:
    assert cost("gpt-4o-2024-08-06", {"input_tokens": 1_000_000, "cache_read_input_tokens": 1_000_000}) == 3.75


def test_a_long_request_is_priced_as_a_whole_by_its_own_rates() -> None:
    assert cost("claude-haiku-5-5", {"input_tokens": 100_000}) == pytest.approx(0.01)
    assert cost("claude-haiku-5-5", {"input_tokens": 1, "cache_read_input_tokens": 100_000}) == pytest.approx(0.0050005)


def test_web_searches_cost_what_the_provider_asks_and_are_unknown_elsewhere() -> None:
    usage = {"server_tool_use": {"web_search_requests": 3}}
    assert cost("claude-opus-4-5", usage) == pytest.approx(0.03)
    assert cost("gpt-4o", usage) is None


def test_odd_usage_counts_as_nothing() -> None:
    assert cost("gpt-4o", {"input_tokens": None, "output_tokens": "12", "cache_creation": None}) == 0


def test_limits_tell_window_and_output() -> None:
    known = limits("claude-opus-4-5-20251101")
    assert known is not None
    assert (known.context_window, known.max_output) == (200_000, 64_000)


def test_a_file_of_ones_own_goes_before_ours(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    models = {
        "qwen*": {"input": 1, "output": 2},
        "qwen3-coder*": {"input": 4, "output": 4},
        "gpt-4o": {"input": 9, "output": 9},
    }
    file.write_text(json.dumps({"models": models}))
    env = {prices.PRICES_VARIABLE: str(file)}
    million = {"input_tokens": 1_000_000}
    assert cost("qwen3-8b", million, env) == 1
    assert cost("qwen3-coder-30b", million, env) == 4
    assert cost("gpt-4o", million, env) == 9
    assert cost("gpt-4o", million, {}) == 2.5
    assert cost("claude-opus-4-5", million, env) == 5


@pytest.mark.parametrize("content", ["{", '{"models": {"x": {"input": "free"}}}', None])
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "prices.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(PricesError, match=r"TOOLWRIGHT_PRICES=.*prices\.json cannot be used"):
        cost("gpt-4o", {}, {prices.PRICES_VARIABLE: str(file)})


def test_every_listed_id_is_its_own_canonical_form_and_cache_prices_make_sense() -> None:
    for name, entry in prices._own().models.items():
        assert canonical(name) == name
        assert entry.cache_read is not None
        assert 0 < entry.cache_read < entry.input < entry.output
        if entry.provider == "anthropic":
            assert entry.cache_write_5m == pytest.approx(entry.input * 1.25, rel=0.05)
            assert entry.cache_write_1h == pytest.approx(entry.input * 2)
