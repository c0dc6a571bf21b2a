"""Sending a request again when it failed before anything came of it.

Only errors marked retryable, and only before the first content block has been given out: after that a second answer would
not be the same answer. It knows no provider and no clock; the waiting is a function that it is given.
"""

from __future__ import annotations

import random as random_numbers
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import anyio
from msgspec import Struct

from toolwright.models.base import Event, Model, ModelError, ModelRequest, Retry

NOTHING_YET = ("message_start", "ping")


class RetryPolicy(Struct, frozen=True):
    """How often and how long. The n-th wait is drawn from 0 … min(cap, base · 2ⁿ): exponential, with full jitter."""

    max_retries: int = 10
    base: float = 0.5
    cap: float = 32.0
    budget_seconds: float = 300.0
    """All waits of one request together. A `Retry-After` that is longer than what is left ends it at once."""


def with_retries(
    model: Model,
    policy: RetryPolicy | None = None,
    *,
    random: Callable[[], float] = random_numbers.random,
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
) -> Model:
    """The model with retries around it. `random` gives numbers from 0 to 1."""
    return RetryingModel(model, policy or RetryPolicy(), random=random, sleep=sleep)


class RetryingModel:
    """See `with_retries`. Yields a `Retry` before each wait, and exactly one `message_start`, whatever happened before it."""

    def __init__(
        self, model: Model, policy: RetryPolicy, *, random: Callable[[], float], sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        self._model = model
        self._policy = policy
        self._random = random
        self._sleep = sleep

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event | Retry, None]:
        failures, waited = 0, 0.0
        while True:
            held: Event | None = None  # message_start, until it is sure that this attempt is the one
            begun = False
            try:
                async with aclosing(self._model.stream(request)) as events:
                    async for event in events:
                        if begun or isinstance(event, Retry):
                            yield event
                        elif event["type"] == "message_start":
                            held = event
                        else:
                            begun = event["type"] not in NOTHING_YET
                            if begun and held is not None:
                                yield held
                            yield event
                return
            except ModelError as error:
                failure = error
            delay = None if begun else self._delay(failure, failures, waited)
            if delay is None:
                raise failure
            failures += 1
            waited += delay
            yield Retry(failures, self._policy.max_retries, delay, failure)
            await self._sleep(delay)

    async def aclose(self) -> None:
        await self._model.aclose()

    def _delay(self, error: ModelError, failures: int, waited: float) -> float | None:
        """How long to wait before the next attempt; None if there is to be none."""
        policy = self._policy
        if not error.retryable or failures >= policy.max_retries:
            return None
        delay = self._random() * min(policy.cap, policy.base * 2.0 ** min(failures, 60))
        if error.retry_after is not None:
            delay = error.retry_after + min(delay, 1.0)  # never earlier, and not all sessions at the same moment
            if error.retry_after > policy.budget_seconds - waited:
                return None
        return delay if waited + delay <= policy.budget_seconds else None
