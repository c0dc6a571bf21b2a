"""Writing a text to a descriptor, outside the event loop's time: help, version, an error line. Imports nothing heavy.

Here is also the one place that says what a terminal may be sent. What models, tools, files and servers wrote may hold sequences
that a terminal obeys: set its title, fill the clipboard, clear or rewrite what stands there. On a terminal they are spelled
out; a pipe or a file gets every byte as it is.
"""

from __future__ import annotations

import io
import os

_OBEYED = (
    *(code for code in range(0x20) if chr(code) not in "\n\t"),
    *range(0x7F, 0xA0),  # delete, and the one-character forms of the sequences
    0x061C,
    *range(0x200E, 0x2010),
    *range(0x202A, 0x202F),  # marks that turn the direction of a line, so that it reads as another
    *range(0x2066, 0x206A),
)
_SPELLED = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _OBEYED}
_SPELLED_IN_JSON = {code: f"\\u{code:04x}" for code in _OBEYED}


class OutputClosed(Exception):
    """Whoever read our output has gone; there is nobody left to write to."""


def harmless(text: str) -> str:
    """`text` with every character spelled out that a terminal would obey; line ends and tabs stay."""
    return text.replace("\r\n", "\n").translate(_SPELLED)


def harmless_json(line: bytes) -> bytes:
    """The same for a line of JSON, which still says the same: such characters only stand inside its strings."""
    return line.decode("utf-8", "backslashreplace").translate(_SPELLED_IN_JSON).encode()


def write_now(descriptor: int, text: str) -> None:
    """Write all of `text`: harmless if a person sits there, as it is otherwise. Raises `OutputClosed`."""
    write_raw(descriptor, harmless(text) if os.isatty(descriptor) else text)


def write_raw(descriptor: int, text: str) -> None:
    """Write `text` as it is, also to a terminal: for who draws on it. Raises `OutputClosed`."""
    rest = text.encode("utf-8", "backslashreplace")
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except BrokenPipeError:
        raise OutputClosed from None


class TerminalErrors(io.TextIOBase):
    """Takes the place of `sys.stderr` at a terminal: warnings, log lines and tracebacks may repeat what others wrote."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, text: str) -> int:
        write_now(self._descriptor, text)
        return len(text)

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor
