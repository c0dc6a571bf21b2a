"""Writing a text to a descriptor, outside the event loop's time: help, version, an error line. Imports nothing heavy."""

from __future__ import annotations

import os


class OutputClosed(Exception):
    """Whoever read our output has gone; there is nobody left to write to."""


def write_now(descriptor: int, text: str) -> None:
    rest = text.encode("utf-8", "backslashreplace")
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except BrokenPipeError:
        raise OutputClosed from None
