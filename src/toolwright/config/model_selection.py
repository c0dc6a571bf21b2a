"""Which models answer in a session, and how they are to: options and environment → models with retries, and their sampling."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from toolwright.config.kept_keys import KeptKeys
from toolwright.models.base import AnswerLimits, Sampling
from toolwright.models.registry import ResolvedModel, resolve
from toolwright.models.retry import RetryPolicy, with_retries
from toolwright.types import ClaudeAgentOptions, OptionsError

if TYPE_CHECKING:
    from toolwright.config.session_config import SessionConfig

MAX_RETRIES = 15

SMALL_MODEL = ("TOOLWRIGHT_SMALL_MODEL", "ANTHROPIC_SMALL_FAST_MODEL")
"""The variables that name the small model; the first that is set counts."""


def choose_models(name: Any, options: ClaudeAgentOptions, ground: SessionConfig) -> list[ResolvedModel]:
    """The model of that name with retries, then those to fall back to."""
    policy = retry_policy(min(MAX_RETRIES, whole_number(ground.env, "CLAUDE_CODE_MAX_RETRIES", 10)))
    fallbacks = [other.strip() for other in (options.fallback_model or "").split(",") if other.strip()]
    env = model_environment(ground)
    return [chosen_model(each, env, policy) for each in (name or ground.settings.model, *fallbacks)]


def model_environment(ground: SessionConfig) -> Mapping[str, str]:
    """The session's environment, and behind it the keys that `toolwright login` kept. No command ever sees these."""
    return ChainMap(cast("dict[str, str]", ground.env), cast("dict[str, str]", KeptKeys(ground.where.config[0])))


def chosen_model(wanted: Any, env: Mapping[str, str], policy: RetryPolicy) -> ResolvedModel:
    """A model by name, or an object that is one."""
    if hasattr(wanted, "stream"):
        name = str(getattr(wanted, "model", type(wanted).__name__))
        found = ResolvedModel(wanted, name, "custom", display_name=name)
    else:
        found = resolve(wanted, env)
    return replace(found, model=with_retries(found.model, policy))


@lru_cache(maxsize=MAX_RETRIES + 1)
def retry_policy(retries: int) -> RetryPolicy:
    return RetryPolicy(max_retries=retries)


def sampling(options: ClaudeAgentOptions, env: Mapping[str, str]) -> Sampling:
    return Sampling(
        thinking=thinking(options, env),
        effort=options.effort,
        betas=tuple(options.betas),
        max_tokens=whole_number(env, "CLAUDE_CODE_MAX_OUTPUT_TOKENS", 0) or None,
        limits=answer_limits(env),
    )


def answer_limits(env: Mapping[str, str]) -> AnswerLimits:
    """The most that one answer may bring; 0 is no limit."""
    usual = AnswerLimits()
    return AnswerLimits(
        megabytes=whole_number(env, "TOOLWRIGHT_MAX_ANSWER_MB", usual.megabytes),
        blocks=whole_number(env, "TOOLWRIGHT_MAX_ANSWER_BLOCKS", usual.blocks),
        calls=whole_number(env, "TOOLWRIGHT_MAX_ANSWER_CALLS", usual.calls),
    )


def thinking(options: ClaudeAgentOptions, env: Mapping[str, str]) -> dict[str, Any] | None:
    if options.thinking is not None:
        return dict(options.thinking)
    budget = options.max_thinking_tokens
    if budget is None and "MAX_THINKING_TOKENS" in env:
        budget = whole_number(env, "MAX_THINKING_TOKENS", 0)
    if budget is None:
        return None
    return {"type": "enabled", "budget_tokens": budget} if budget else {"type": "disabled"}


def whole_number(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name, "").strip()
    if not text:
        return default
    if not text.isdecimal():
        raise OptionsError(f"{name} must be a whole number; got {text!r}")
    return int(text)


def small_model(env: Mapping[str, str]) -> str | None:
    """The name of the model that judges, if one is configured."""
    return next((env[name] for name in SMALL_MODEL if env.get(name, "").strip()), None)
