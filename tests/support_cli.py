"""For the tests of the command: a session that plays frames, a place to catch output, and programs run as processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio

Frame = dict[str, Any]


class PlayedSession:
    """Gives out the frames it was made with, once it has been sent a message. `hangs`: then never ends by itself."""

    def __init__(self, frames: Sequence[Frame], *, hangs: bool = False, fails: Exception | None = None) -> None:
        self._frames = frames
        self._hangs = hangs
        self._fails = fails
        self.sent: list[Frame] = []
        self.closed = False

    async def start(self) -> Frame:
        if self._fails is not None:
            raise self._fails
        return {}

    async def send(self, frame: Frame) -> None:
        self.sent.append(frame)

    async def frames(self) -> AsyncIterator[Frame]:
        for frame in self._frames:
            yield frame
        if self._hangs:
            await anyio.sleep_forever()

    async def control(self, request: Frame) -> Frame:
        return {}

    async def end_input(self) -> None:
        pass

    async def close(self) -> None:
        self.closed = True


class Caught:
    """What was written to `descriptor`, which is a file: it takes everything at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")

    @property
    def descriptor(self) -> int:
        return self._file.fileno()

    @property
    def text(self) -> str:
        return self._path.read_text(encoding="utf-8")

    def close(self) -> None:
        self._file.close()


@contextmanager
def catching(folder: Path) -> Iterator[Caught]:
    caught = Caught(folder / "caught")
    try:
        yield caught
    finally:
        caught.close()


def command(*arguments: str, stdin: str | bytes = b"", env: dict[str, str] | None = None, **more: Any) -> Any:
    """Run the command as a process of its own and wait for its end."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    return subprocess.run(
        [sys.executable, "-m", "toolwright.cli", *arguments],
        input=data,
        capture_output=True,
        timeout=60,
        env={**bare_environment(), **(env or {})},
        **more,
    )


def bare_environment() -> dict[str, str]:
    """The environment without anything that would choose a model."""
    chosen = ("ANTHROPIC_", "OPENAI_", "TOOLWRIGHT_", "CLAUDE_")
    return {name: value for name, value in os.environ.items() if not name.startswith(chosen)}
