"""Commands as hooks, without processes: what they are told, when nobody waits for them any longer, and how they end."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from toolwright.hooks import Background, HookOutcome
from toolwright.hooks.commands import CommandEnd, CommandWork
from toolwright.hooks.hook import NoReply

pytestmark = pytest.mark.anyio

Listen = Callable[[bytes], None]


class Played:
    """A command that says these pieces, then waits for `go_on`, then says `last` and ends."""

    def __init__(self, *pieces: bytes, last: bytes = b"", waits: bool = False, error: Exception | None = None) -> None:
        self.pieces = pieces
        self.last = last
        self.error = error
        self.go_on = anyio.Event()
        self.cancelled = False
        self.stdin = b""
        if not waits:
            self.go_on.set()

    async def __call__(self, command: str, args: tuple[str, ...] | None, *, stdin: bytes, on_output: Listen) -> CommandEnd:
        self.stdin = stdin
        try:
            for piece in self.pieces:
                on_output(piece)
                await checkpoint()
            await self.go_on.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled = True
            raise
        if self.error is not None:
            raise self.error
        on_output(self.last)
        return CommandEnd(0, (b"".join(self.pieces) + self.last).decode(), "")


def work(played: Played, event: str = "SessionStart", late: Any = None) -> tuple[CommandWork, Background]:
    background = Background()
    return CommandWork(event, "true", None, played, background, late), background


async def test_a_command_is_told_the_input_as_json_and_answers() -> None:
    played = Played(b'{"systemMess', b'age": "hi"}')
    ask, _ = work(played)
    reply = await ask({"tool_name": "Bash", "tool_input": {"command": "ü"}})
    assert played.stdin == '{"tool_name":"Bash","tool_input":{"command":"ü"}}'.encode()
    assert reply.output == {"systemMessage": "hi"}
    await ask({"half": "\ud800 ü"})
    assert json.loads(played.stdin) == {"half": "\ud800 ü"}


async def test_a_command_that_says_async_is_not_waited_for_and_speaks_later() -> None:
    later: list[tuple[str, HookOutcome]] = []
    heard = anyio.Event()

    def late(event: str, outcome: HookOutcome) -> None:
        later.append((event, outcome))
        heard.set()

    played = Played(b'{"async": true}\n', last=b"words for the model", waits=True)
    ask, background = work(played, late=late)
    reply = await ask({})
    assert reply.output is None
    assert later == []
    played.go_on.set()
    with anyio.fail_after(30):
        await heard.wait()
    assert later[0][1].additional_context == ("words for the model",)
    await background.close()


async def test_a_command_that_went_on_alone_ends_with_the_session() -> None:
    played = Played(b'{"async": true, "asyncTimeout": 100000}\n', waits=True)
    ask, background = work(played)
    await ask({})
    await background.close()
    assert played.cancelled
    await background.close()


async def test_a_command_that_went_on_alone_ends_after_its_time() -> None:
    played = Played(b'{"async": true, "asyncTimeout": 1}\n', waits=True)
    ask, background = work(played)
    await ask({})
    with anyio.fail_after(30):
        while not played.cancelled:
            await checkpoint()
    await background.close()


async def test_an_object_that_is_not_async_or_not_first_is_waited_for() -> None:
    for first in (b'{"async": false}\n', b'hello\n{"async": true}\n', b"x" * 5000 + b'\n{"async": true}\n'):
        ask, _ = work(Played(first))
        assert (await ask({})).stdout.startswith(first.decode()[:10])


async def test_being_cancelled_cancels_the_command_and_waits_for_its_end() -> None:
    played = Played(waits=True)
    ask, _ = work(played)
    with anyio.move_on_after(0.05):
        await ask({})
    assert played.cancelled


async def test_a_command_that_cannot_be_started_gives_no_reply() -> None:
    ask, _ = work(Played(error=OSError("no bash here")))
    with pytest.raises(NoReply, match="no bash here"):
        await ask({})
