"""Counts what one answer brings, and ends it with `AnswerTooLarge` where it passes a limit.

Without it a server that never stops fills the memory, and a model gone wild begins a hundred thousand calls.
"""

from __future__ import annotations

from toolwright.models.base import AnswerLimits, AnswerTooLarge

HOW_TO_RAISE = "The limit is set by {variable} (docs/models.md)."


class AnswerMeter:
    """The counts of one answer."""

    __slots__ = ("_blocks", "_calls", "_content", "_limits", "_streamed")

    def __init__(self, limits: AnswerLimits) -> None:
        self._limits = limits
        self._content = self._blocks = self._calls = self._streamed = 0

    def add_content(self, size: int) -> None:
        """Count characters, or bytes, that are kept."""
        self._content += size
        if self._content > self._limits.content > 0:
            raise too_large(f"holds more than {self._limits.megabytes} MB", "TOOLWRIGHT_MAX_ANSWER_MB")

    def add_block(self) -> None:
        self._blocks += 1
        if self._blocks > self._limits.blocks > 0:
            raise too_large(f"holds more than {self._limits.blocks:,} blocks", "TOOLWRIGHT_MAX_ANSWER_BLOCKS")

    def add_call(self) -> None:
        self._calls += 1
        if self._calls > self._limits.calls > 0:
            raise too_large(f"makes more than {self._limits.calls:,} tool calls", "TOOLWRIGHT_MAX_ANSWER_CALLS")

    def add_streamed(self, size: int, *, waiting: int) -> None:
        """Count bytes off the wire. `waiting` of them belong to an event that is not complete yet."""
        self._streamed += size
        if self._streamed > self._limits.stream > 0:
            raise too_large(f"takes more than {self._limits.stream >> 20} MB on the wire", "TOOLWRIGHT_MAX_ANSWER_MB")
        if waiting > self._limits.event > 0:
            raise too_large(f"has an event of more than {self._limits.event >> 20} MB", "TOOLWRIGHT_MAX_ANSWER_MB")


def too_large(what: str, variable: str) -> AnswerTooLarge:
    return AnswerTooLarge(f"The model's answer was ended: it {what}. {HOW_TO_RAISE.format(variable=variable)}")
