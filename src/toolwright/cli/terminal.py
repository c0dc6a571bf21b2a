"""A place to print to: colours and a live status line where there is a terminal, plain lines where there is none.

It also makes foreign text safe to print: control sequences in a tool's output are shown, not obeyed. Of all that it is
given to print only its own colours reach the terminal as they are. It does not know what is printed.
"""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
from collections.abc import Mapping

from toolwright.cli.plain_output import harmless, write_raw

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
HIDE_CURSOR, SHOW_CURSOR, CLEAR_LINE = "\x1b[?25l", "\x1b[?25h", "\r\x1b[2K"
SPINNER, PLAIN_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\"

_HIDDEN = frozenset([*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF])
"""Zero-width and direction marks: invisible, and able to make a line read as another one."""


_OWN_STYLE = re.compile(r"(\x1b\[(?:(?:%s)(?:;(?:%s))*|0)m)" % (("|".join(STYLES.values()),) * 2))


def visible(text: str) -> str:
    """`text` with every control and invisible character spelled out; line ends stay, tabs become spaces."""
    lines = text.replace("\r\n", "\n").expandtabs(4)
    return "".join(_spelled(character) for character in lines)


def _spelled(character: str) -> str:
    code = ord(character)
    if character == "\n" or 0x20 <= code < 0x7F:
        return character
    if code < 0x20 or 0x7F <= code < 0xA0:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code in _HIDDEN or 0xD800 <= code < 0xE000 else character


def display_width(text: str) -> int:
    """How many columns `text` takes: wide characters two, combining ones none."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fit(text: str, width: int, ellipsis: str = "…") -> str:
    """`text` if it fits into `width` columns, else its beginning and an ellipsis."""
    if display_width(text) <= width:
        return text
    room, kept = width - len(ellipsis), ""
    for character in text:
        room -= _columns(character)
        if room < 0:
            break
        kept += character
    return kept + ellipsis


class Terminal:
    """One output stream. `live`: it is a terminal that understands cursor movement."""

    def __init__(self, descriptor: int, environment: Mapping[str, str]) -> None:
        self._descriptor = descriptor
        term = environment.get("TERM", "")
        self._is_terminal = os.isatty(descriptor)
        self.live = self._is_terminal and term not in ("", "dumb")
        self.coloured = self.live and not environment.get("NO_COLOR")
        self.rich_characters = _speaks_utf8(environment)
        self._status = ""
        self._column_zero = True

    @property
    def width(self) -> int:
        """Asked anew each time: windows change. Output that is no terminal has lines of 100."""
        return max(shutil.get_terminal_size((100, 24)).columns, 20) if self.live else 100

    def paint(self, text: str, *styles: str) -> str:
        if not self.coloured or not text:
            return text
        return f"\x1b[{';'.join(STYLES[style] for style in styles)}m{harmless(text)}\x1b[0m"

    def glyph(self, rich: str, plain: str) -> str:
        return rich if self.rich_characters else plain

    def write(self, text: str) -> None:
        """Print text at the cursor, which may stay in the middle of a line."""
        if not text:
            return
        self._send(self._erased() + self._shown(text))
        self._column_zero = text.endswith("\n")

    def line(self, text: str = "") -> None:
        """Print a whole line, below whatever stands in the current one."""
        self.write(("" if self._column_zero else "\n") + text + "\n")

    def end_line(self) -> None:
        if not self._column_zero:
            self.write("\n")

    def answered(self) -> None:
        """Somebody typed a line here: the cursor stands at the beginning of the next one."""
        self._column_zero = True

    def status(self, text: str) -> None:
        """Show `text` as the live last line, which gives way to the next print. Only on a terminal, at a line's beginning."""
        if not self.live or not self._column_zero:
            return
        begin = HIDE_CURSOR if not self._status else ""
        shown = fit(harmless(text).replace("\n", " "), self.width - 1)
        self._send(begin + CLEAR_LINE + self.paint(shown, "dim"))
        self._status = text

    def close(self) -> None:
        """Leave the terminal as it was: no status line, cursor shown, colours off."""
        if self._status:
            self._send(self._erased())

    def _erased(self) -> str:
        if not self._status:
            return ""
        self._status = ""
        return CLEAR_LINE + SHOW_CURSOR

    def _shown(self, text: str) -> str:
        """`text` with nothing in it that a terminal would obey, apart from colours of ours."""
        if not self._is_terminal:
            return text
        if not self.coloured:
            return harmless(text)
        return "".join(piece if _OWN_STYLE.fullmatch(piece) else harmless(piece) for piece in _OWN_STYLE.split(text))

    def _send(self, text: str) -> None:
        write_raw(self._descriptor, text if self.rich_characters else text.encode("ascii", "replace").decode())


def _speaks_utf8(environment: Mapping[str, str]) -> bool:
    """What the locale says. Nothing said, or C: Python itself takes UTF-8 then, and so do today's terminals."""
    chosen = next((environment[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environment.get(name)), "")
    return chosen in ("", "C", "POSIX") or "utf" in chosen.lower()


class Wrapper:
    """Breaks text that arrives in pieces into lines of at most `width` columns, at spaces where there are any."""

    def __init__(self, terminal: Terminal, indent: str = "") -> None:
        self._terminal = terminal
        self._indent = indent
        self._column = 0
        self._word = ""
        self._spaces = 0

    def feed(self, piece: str) -> None:
        for character in visible(piece):
            if character == "\n":
                self._flush_word()
                self._break_line()
            elif character == " ":
                self._flush_word()
                self._spaces += 1
            else:
                self._word += character

    def finish(self) -> None:
        self._flush_word()
        self._terminal.end_line()
        self._column = self._spaces = 0

    def _flush_word(self) -> None:
        if not self._word:
            return
        room = self._terminal.width - len(self._indent) - self._column
        if self._column and self._spaces + display_width(self._word) > room:
            self._break_line()
        lead = self._indent if self._column == 0 else ""
        text = " " * self._spaces + self._word
        self._terminal.write(lead + text)
        self._column += display_width(text)
        self._word, self._spaces = "", 0

    def _break_line(self) -> None:
        self._terminal.write("\n")
        self._column = self._spaces = 0
