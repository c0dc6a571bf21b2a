"""Frames on standard input and output: JSON objects, one per line.

A line that is not one is reported and skipped; the conversation goes on. What a frame means is not known here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from toolwright.cli.plain_output import OutputClosed, harmless
from toolwright.cli.stdio import Output, read_lines
from toolwright.protocol.lines import decode, encode
from toolwright.types import CLIJSONDecodeError

Frame = dict[str, Any]


async def read_frames(descriptor: int, report: Callable[[str], Awaitable[None]]) -> AsyncGenerator[Frame, None]:
    """The frames that come in. `report` hears of each line that is none."""
    number = 0
    async for line in read_lines(descriptor):
        number += 1
        try:
            frame = decode(line)
        except CLIJSONDecodeError as error:
            await report(f"line {number} of stdin is not a frame and was skipped: {error}")
            continue
        if frame is not None:
            yield frame
        elif line.strip():
            await report(f"line {number} of stdin is not a JSON object and was skipped: {_beginning(line)}")


def _beginning(line: bytes) -> str:
    shown = repr(line[:60].decode("utf-8", "replace"))
    return shown if len(line) <= 60 else f"{shown} … ({len(line)} bytes)"


class FrameOutput:
    """Writes frames or text, in order, a frame on a line. `closed` is called once nobody reads them any more."""

    def __init__(self, descriptor: int, closed: Callable[[], None]) -> None:
        self._lines = Output(descriptor)
        self._closed = closed

    async def write(self, frame: Frame) -> None:
        await self._write(encode(frame))

    async def write_text(self, text: str) -> None:
        """Lines for a person, or for a program that wants the words alone: those get every byte."""
        shown = harmless(text) if self._lines.is_terminal else text
        await self._write(shown.encode("utf-8", "replace"))

    async def _write(self, data: bytes) -> None:
        try:
            await self._lines.write(data)
        except OutputClosed:
            self._closed()
            raise

    async def taken(self) -> None:
        await self._lines.taken()

    def abandon(self) -> None:
        self._lines.abandon()
