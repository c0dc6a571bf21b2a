"""Texts that a terminal would obey, a pseudo-terminal to run the command at, and what may be seen there."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import termios
import tty
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from support_cli import bare_environment

HOSTILE = {
    "clipboard (OSC 52)": "\x1b]52;c;cm0gLXJmIH4=\x07",
    "clipboard, other end": "\x1b]52;c;cm0gLXJmIH4=\x1b\\",
    "title": "\x1b]0;owned\x07",
    "title, one character": "\x9d0;owned\x9c",
    "link (OSC 8)": "\x1b]8;;http://evil.example\x1b\\here\x1b]8;;\x1b\\",
    "file (OSC 1337)": "\x1b]1337;File=name=eA==:eA==\x07",
    "notification (OSC 9)": "\x1b]9;owned\x07",
    "palette (OSC 4)": "\x1b]4;0;rgb:ff/ff/ff\x07",
    "clear": "\x1b[2J\x1b[H",
    "clear, one character": "\x9b2J",
    "clear what scrolled": "\x1b[3J",
    "line up": "\x1b[1A\x1b[2K",
    "reset": "\x1bc",
    "other screen": "\x1b[?1049h",
    "pasting": "\x1b[?2004h\x1b[201~",
    "mouse": "\x1b[?1000h",
    "report": "\x1b[6n\x1b[c\x1b[21t",
    "colour": "\x1b[31;5m",
    "hidden": "\x1b[8mhidden\x1b[0m",
    "device string": '\x1bP$q"p\x1b\\',
    "program command": "\x1b_Gi=1;\x1b\\\x1b^x\x1b\\",
    "device string, one character": "\x90x\x9c\x9fx\x9c",
    "return": "safe\rowned",
    "backspace": "safe\b\b\b\bowned",
    "bell": "\x07",
    "form feed": "\x0c\x0b",
    "character set": "\x0e\x0f\x1b(0",
    "null": "\x00",
    "delete": "\x7f",
    "next line": "\x85\x84\x8d",
    "direction": "\u202egnp.exe\u202c \u2066x\u2069 \u200f\u061c",
    "unfinished": "\x1b]0;",
}
EVERYTHING = " ".join(HOSTILE.values())
IN_ARGUMENTS = EVERYTHING.replace("\x00", "")
"""Without what no argument, file name or variable can hold."""
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
OWN = re.compile(r"\x1b\[(?:1|2|31|32|33|36|0)(?:;(?:1|2|31|32|33|36))*m|\r\x1b\[2K|\x1b\[\?25[lh]")
"""What we draw ourselves: colours, the status line."""


def obeyed(shown: str) -> str:
    """What in `shown` a terminal would obey, apart from our own drawing."""
    return "".join(OBEYED.findall(OWN.sub("", shown)))


class Screen:
    """A pseudo-terminal that hands over every byte as it was written."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        tty.setraw(self.slave, termios.TCSANOW)

    def read_to_end(self) -> bytes:
        """All that was written, once nobody but us holds the other end."""
        os.close(self.slave)
        shown = b""
        with suppress(OSError):  # what Linux says at the end
            while piece := os.read(self.master, 1 << 16):
                shown += piece
        os.close(self.master)
        return shown


def at_terminal(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run the command with stdout and stderr on a pseudo-terminal: its exit code, and all that was sent there."""
    screen = Screen()
    process = started(arguments, screen.slave, cwd=cwd, env=env)
    shown = screen.read_to_end()
    return process.wait(60), shown.decode("utf-8", "surrogateescape")


def started(arguments: Sequence[str], output: int, *, cwd: Path, env: dict[str, str] | None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "toolwright.cli", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        cwd=cwd,
        env={**bare_environment(), "TERM": "xterm-256color", "HOME": str(cwd), **(env or {})},
    )
