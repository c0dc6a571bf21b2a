"""A model that answers by a script: for tests, for the demo, for anything that must be the same every time.

Each request takes the next step. By default every conversation (`request.session_id`) goes through the script on its own, so
one instance serves any number of sessions. It knows no network; its clock is the event loop's.

    ScriptedModel([Call("Read", {"file_path": "/tmp/x"}), Say("It is empty.")])
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from inspect import isawaitable
from typing import Any, TypeAlias

import anyio
from anyio.lowlevel import checkpoint
from msgspec import Struct, field
from msgspec.structs import replace

from toolwright.models.answer_events import DEFAULT_USAGE, ModelAnswer, block_events, message_end, message_start
from toolwright.models.base import ErrorKind, Event, ModelError, ModelRequest, Retry

RETRYABLE_KINDS = frozenset({"rate_limit", "overloaded", "server_error", "timeout", "connection"})


class Say(Struct, frozen=True):
    """Text."""

    text: str


class Think(Struct, frozen=True):
    """Thinking, signed."""

    text: str
    signature: str = "scripted"


class Call(Struct, frozen=True):
    """A tool call. An `input` that is a string is sent as it is: for input that is no JSON."""

    name: str
    input: Mapping[str, Any] | str = field(default_factory=dict)
    id: str | None = None
    """None: a new one. An empty string is sent as an empty string."""


class Block(Struct, frozen=True):
    """Any other content block, in the Messages API's shape."""

    content: Mapping[str, Any]


class Wait(Struct, frozen=True):
    """Send nothing for so many seconds."""

    seconds: float


class WaitFor(Struct, frozen=True):
    """Send nothing until this returns: `WaitFor(event.wait)` holds the answer where a test wants it."""

    ready: Callable[[], Awaitable[object]]


Part: TypeAlias = Say | Think | Call | Block | Wait | WaitFor


class Turn(Struct, frozen=True):
    """A whole answer."""

    content: Sequence[Part] = ()
    stop_reason: str | None = None
    """None: tool_use if there is a call, otherwise end_turn."""
    usage: Mapping[str, Any] = field(default_factory=lambda: DEFAULT_USAGE)
    delay: float = 0.0
    """Seconds before anything comes."""
    message_id: str | None = None
    model: str | None = None


class Fail(Struct, frozen=True):
    """The request fails: at once, or after so many events of an answer."""

    message: str = "The script says: fail."
    kind: ErrorKind = "server_error"
    status: int | None = None
    retry_after: float | None = None
    during: Turn = field(default_factory=Turn)
    after_events: int = 0

    def error(self) -> ModelError:
        retryable = self.kind in RETRYABLE_KINDS
        return ModelError(self.message, kind=self.kind, status=self.status, retryable=retryable, retry_after=self.retry_after)


class BreakOff(Struct, frozen=True):
    """The answer breaks off after so many events: the stream just ends, which is an error."""

    during: Turn
    after_events: int

    def error(self) -> ModelError:
        retryable = self.after_events <= 1  # no block had begun
        return ModelError("The answer broke off, as the script says.", kind="truncated", retryable=retryable)


Outcome: TypeAlias = str | Part | Sequence[Part] | Turn | Fail | BreakOff
Step: TypeAlias = Outcome | Callable[[ModelRequest], "Outcome | Awaitable[Outcome]"]


class ScriptedModel:
    """See above. `requests` holds what it was asked, if `record` is on."""

    def __init__(
        self,
        steps: Sequence[Step],
        *,
        model: str = "scripted",
        shared: bool = False,
        repeat: bool = False,
        record: bool = True,
        pace: float = 0.0,
    ) -> None:
        """`shared`: one sequence for all conversations. `repeat`: at the end start again. `pace`: seconds per piece."""
        self.model = model
        self.requests: list[ModelRequest] = []
        self._steps = list(steps)
        self._shared = shared
        self._repeat = repeat
        self._record = record
        self._pace = pace
        self._taken: dict[str, int] = {}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event | Retry, None]:
        await checkpoint()  # an instant model must still let others run
        number, step = self._take(request)
        turn, error, limit = _planned(await _outcome(step, request))
        sent = 0
        for item in self._items(turn, f"{number}_{len(request.messages)}"):
            if isinstance(item, Wait | WaitFor):
                await _wait(item)
                continue
            if error is not None and (sent >= limit or item["type"] == "message_stop"):
                raise error
            yield item
            sent += 1
            if self._pace and item["type"] == "content_block_delta":
                await anyio.sleep(self._pace)

    async def aclose(self) -> None:
        await checkpoint()

    def _take(self, request: ModelRequest) -> tuple[int, Step]:
        if self._record:
            self.requests.append(replace(request, messages=tuple(request.messages)))
        key = "" if self._shared else request.session_id
        number = self._taken.get(key, 0)
        if number >= len(self._steps) and not (self._repeat and self._steps):
            raise self._exhausted(number + 1, len(self._steps))
        self._taken[key] = number + 1
        return number + 1, self._steps[number % len(self._steps)]

    def _exhausted(self, number: int, steps: int) -> ModelError:
        text = f"it has {steps} step{'s' * (steps != 1)}, and this is request {number}"
        return ModelError(f"The script of the model {self.model!r} is over: {text}.", kind="invalid_request")

    def _items(self, turn: Turn, label: str) -> Iterator[Event | Wait | WaitFor]:
        """The events of the turn, and between them the waits. Ids are made of the label: the same in every run."""
        blocks = [block_of(part, f"toolu_scripted_{label}_{position}") for position, part in enumerate(turn.content)]
        answer = ModelAnswer(
            turn.message_id or f"msg_scripted_{label}",
            turn.model or self.model,
            [block for block in blocks if not isinstance(block, Wait | WaitFor)],
            turn.stop_reason,
            turn.usage,
        )
        if turn.delay:
            yield Wait(turn.delay)
        yield message_start(answer)
        index = 0
        for block in blocks:
            if isinstance(block, Wait | WaitFor):
                yield block
            else:
                yield from block_events(index, block)
                index += 1
        yield from message_end(answer)


def block_of(part: Part, new_id: str) -> Mapping[str, Any] | Wait | WaitFor:
    match part:
        case Say(text):
            return {"type": "text", "text": text}
        case Think(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case Call(name, content, call_id):
            return {"type": "tool_use", "id": new_id if call_id is None else call_id, "name": name, "input": content}
        case Block(content):
            return content
        case _:
            return part


async def _outcome(step: Step, request: ModelRequest) -> Outcome:
    if not callable(step):
        return step
    made = step(request)
    return await made if isawaitable(made) else made


def _planned(outcome: Outcome) -> tuple[Turn, ModelError | None, int]:
    """The turn to send, and the error that ends it after so many events."""
    match outcome:
        case Fail() | BreakOff():
            return outcome.during, outcome.error(), outcome.after_events
        case Turn():
            return outcome, None, 0
        case str():
            return Turn([Say(outcome)]), None, 0
        case Say() | Think() | Call() | Block() | Wait() | WaitFor():
            return Turn([outcome]), None, 0
        case _:
            return Turn(list(outcome)), None, 0


async def _wait(item: Wait | WaitFor) -> None:
    if isinstance(item, Wait):
        await anyio.sleep(item.seconds)
    else:
        await item.ready()
