"""Text made safe, cut to width, and shown with or without a terminal."""

import os
import pty
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_cli import catching
from toolwright.cli.terminal import CLEAR_LINE, HIDE_CURSOR, SHOW_CURSOR, Terminal, Wrapper, display_width, fit, visible


@given(st.text())
def test_nothing_that_a_terminal_would_obey_is_left(text: str) -> None:
    shown = visible(text)
    assert not any((ord(character) < 32 and character != "\n") or 127 <= ord(character) < 160 for character in shown)
    shown.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]52;c;aGk=\x07", "\\x1b]52;c;aGk=\\x07"),
        ("50%\rdone\r\n", "50%\\x0ddone\n"),
        ("safe\u202etxt.exe", "safe\\u202etxt.exe"),
        ("a\tb", "a   b"),
        ("naïve 猫", "naïve 猫"),
    ],
)
def test_control_sequences_are_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cc"])), st.integers(2, 40))
def test_a_fitted_text_fits(text: str, width: int) -> None:
    assert display_width(fit(text, width)) <= width
    if display_width(text) <= width:
        assert fit(text, width) == text


@given(st.lists(st.text("ab \n", max_size=8), max_size=20))
def test_wrapping_keeps_every_word_whatever_the_pieces(pieces: list[str]) -> None:
    reader, writer = os.pipe()
    wrapper = Wrapper(Terminal(writer, {}))
    for piece in pieces:
        wrapper.feed(piece)
    wrapper.finish()
    os.close(writer)
    with os.fdopen(reader) as written:
        assert written.read().split() == "".join(pieces).split()


def test_long_text_is_broken_at_spaces(tmp_path: Path) -> None:
    with catching(tmp_path) as caught:
        wrapper = Wrapper(Terminal(caught.descriptor, {}))
        wrapper.feed("word " * 60)
        wrapper.finish()
        lines = caught.text.splitlines()
    assert [len(line) for line in lines] == [99, 99, 99]


def test_without_a_terminal_there_are_no_control_sequences(tmp_path: Path) -> None:
    with catching(tmp_path) as caught:
        terminal = Terminal(caught.descriptor, {"TERM": "xterm"})
        terminal.status("working")
        terminal.line(terminal.paint("done", "green"))
        terminal.close()
        assert caught.text == "done\n"


def test_a_locale_without_utf8_gets_plain_characters(tmp_path: Path) -> None:
    with catching(tmp_path) as caught:
        terminal = Terminal(caught.descriptor, {"LANG": "de_DE.ISO-8859-1"})
        terminal.line(f"{terminal.glyph('◆', '*')} naïve")
        assert caught.text == "* na?ve\n"


class Screen:
    """A pseudo-terminal of our own."""

    def __init__(self) -> None:
        self._master, self.descriptor = pty.openpty()

    def turned_off(self) -> str:
        """All that was written to it; the system hands that over in pieces of its own choice."""
        os.close(self.descriptor)
        shown = b""
        with suppress(OSError):  # what Linux says at the end
            while piece := os.read(self._master, 10_000):
                shown += piece
        os.close(self._master)
        return shown.decode().replace("\r\n", "\n")


def test_the_status_line_gives_way_and_the_cursor_comes_back() -> None:
    screen = Screen()
    terminal = Terminal(screen.descriptor, {"TERM": "xterm", "NO_COLOR": "1"})
    terminal.status("working")
    terminal.line("a line")
    terminal.status("still working")
    terminal.close()
    expected = (
        f"{HIDE_CURSOR}{CLEAR_LINE}working{CLEAR_LINE}{SHOW_CURSOR}a line\n"
        f"{HIDE_CURSOR}{CLEAR_LINE}still working{CLEAR_LINE}{SHOW_CURSOR}"
    )
    assert screen.turned_off() == expected


def test_colours_are_for_terminals_that_want_them() -> None:
    screen = Screen()
    assert Terminal(screen.descriptor, {"TERM": "xterm"}).paint("x", "bold", "red") == "\x1b[1;31mx\x1b[0m"
    assert Terminal(screen.descriptor, {"TERM": "xterm", "NO_COLOR": "1"}).paint("x", "red") == "x"
    assert Terminal(screen.descriptor, {"TERM": "dumb"}).paint("x", "red") == "x"
    assert screen.turned_off() == ""
