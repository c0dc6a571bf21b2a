"""When a request is sent again, after how long, and what its user sees."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from toolwright.models.base import Event, Model, ModelError, ModelRequest, Retry
from toolwright.models.retry import RetryPolicy, with_retries

pytestmark = pytest.mark.anyio

START, PING, STOP = {"type": "message_start"}, {"type": "ping"}, {"type": "message_stop"}
BLOCK = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
REQUEST = ModelRequest("m", [])


class Attempts:
    """A model whose n-th answer is the n-th list: its events, then its error."""

    def __init__(self, *answers: Sequence[Event | ModelError]) -> None:
        self.answers = list(answers)
        self.closed = False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event | Retry, None]:
        for item in self.answers.pop(0):
            if isinstance(item, ModelError):
                raise item
            yield item

    async def aclose(self) -> None:
        self.closed = True


def failure(retryable: bool = True, after: float | None = None) -> ModelError:
    return ModelError("overloaded", kind="overloaded", retryable=retryable, retry_after=after)


class Waits(list[float]):
    async def sleep(self, seconds: float) -> None:
        self.append(seconds)


async def run(
    model: Model, waits: Waits, policy: RetryPolicy | None = None, random: Callable[[], float] = lambda: 1.0
) -> tuple[list[Any], ModelError | None]:
    seen: list[Any] = []
    async with aclosing(with_retries(model, policy, random=random, sleep=waits.sleep).stream(REQUEST)) as events:
        try:
            async for event in events:
                seen.append(event)
        except ModelError as error:
            return seen, error
    return seen, None


async def test_failures_before_content_are_tried_again_with_growing_waits() -> None:
    waits = Waits()
    errors = [failure() for _ in range(8)]
    seen, error = await run(Attempts(*[[item] for item in errors], [START, BLOCK, STOP]), waits)
    assert error is None
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 32.0]
    assert seen == [*[Retry(n + 1, 10, waits[n], errors[n]) for n in range(8)], START, BLOCK, STOP]


async def test_jitter_is_full() -> None:
    waits = Waits()
    numbers = iter([0.0, 0.25, 0.5])
    await run(Attempts([failure()], [failure()], [failure()], [STOP]), waits, random=lambda: next(numbers))
    assert waits == [0.0, 0.25, 1.0]


async def test_its_user_sees_one_message_start() -> None:
    waits = Waits()
    seen, error = await run(Attempts([START, failure()], [START, PING, failure()], [START, PING, BLOCK, STOP]), waits)
    assert error is None
    assert [event for event in seen if not isinstance(event, Retry)] == [PING, PING, START, BLOCK, STOP]
    assert len(waits) == 2


async def test_an_empty_answer_keeps_its_message_start() -> None:
    seen, error = await run(Attempts([START, STOP]), Waits())
    assert (seen, error) == ([START, STOP], None)


async def test_after_content_the_error_surfaces() -> None:
    waits, error = Waits(), failure()
    assert await run(Attempts([START, BLOCK, error]), waits) == ([START, BLOCK], error)
    assert waits == []


async def test_an_error_that_is_not_retryable_surfaces_at_once() -> None:
    waits, error = Waits(), failure(retryable=False)
    assert await run(Attempts([error]), waits) == ([], error)
    assert waits == []


async def test_there_is_a_most_number_of_tries() -> None:
    waits = Waits()
    errors = [failure() for _ in range(4)]
    seen, error = await run(Attempts(*[[item] for item in errors]), waits, RetryPolicy(max_retries=3))
    assert error is errors[3]
    assert len(seen) == len(waits) == 3


async def test_retry_after_is_the_least_wait() -> None:
    waits = Waits()
    await run(Attempts([failure(after=7.0)], [failure(after=0.0)], [STOP]), waits, random=lambda: 0.5)
    assert waits == [7.25, 0.5]


async def test_a_retry_after_beyond_the_budget_surfaces_at_once() -> None:
    waits, first, error = Waits(), failure(after=40.0), failure(after=61.0)
    policy = RetryPolicy(budget_seconds=100.0)
    assert await run(Attempts([first], [error]), waits, policy) == ([Retry(1, 10, 40.5, first)], error)
    assert waits == [40.5]


async def test_waiting_has_a_budget() -> None:
    waits, last = Waits(), failure()
    _, error = await run(Attempts([failure()], [failure()], [last]), waits, RetryPolicy(base=4.0, budget_seconds=13.0))
    assert error is last
    assert waits == [4.0, 8.0]


async def test_closing_closes_the_model_inside() -> None:
    model = Attempts()
    await with_retries(model).aclose()
    assert model.closed
