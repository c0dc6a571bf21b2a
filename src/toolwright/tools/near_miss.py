"""Explain why a text was not found: what in the file comes nearest, and how it differs. Bounded work, plain words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

PIECE = 1 << 15
"""Characters that are looked at together: much more would keep other threads waiting."""
_MAX_PIECES = 256
_MAX_LINES = 5000
_MAX_SHOWN = 12
_LOOKALIKES = {
    **{"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "..."},
    **{"\u00a0": " ", "\u2009": " ", "\u200b": ""},
}
_LINE_NUMBER = re.compile(r"^\s*\d+\t", re.MULTILINE)


class _Clues:
    """What was found so far, the best kind first; a later kind is not looked for once there is a better one."""

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted
        self._found: list[str | None] = [None] * len(_KINDS)
        self._first_lines: list[str] = []

    def look(self, text: str, above: int) -> None:
        """Look at a part of the file, with so many lines above it."""
        if len(self._first_lines) < _MAX_LINES:
            self._first_lines += text.split("\n")[len(self._first_lines) - above : _MAX_LINES - above]
        for kind, find in enumerate(_KINDS):
            if self._found[kind] is None:
                self._found[kind] = find(text, self._wanted, above)
            if self._found[kind] is not None:
                return

    @property
    def is_certain(self) -> bool:
        return self._found[0] is not None

    def best(self) -> str:
        found = next((clue for clue in self._found if clue), None) or _nearest_line(self._first_lines, self._wanted)
        return found or "Nothing similar is in the file: read it again and copy the text exactly."


def explain_missing(pieces: Iterable[str], wanted: str) -> str:
    """One or two sentences, with the lines that come nearest to `wanted`; `pieces` together are the file's text."""
    wanted = wanted.replace("\r\n", "\n")
    clues = _Clues(wanted)
    for above, text in _parts(islice(pieces, _MAX_PIECES), wanted.count("\n") + 1):
        clues.look(text.replace("\r\n", "\n"), above)
        if clues.is_certain:
            break
    return clues.best()


def _parts(pieces: Iterable[str], lines: int) -> Iterator[tuple[int, str]]:
    """Whole lines, if they are not too long, each part with the last `lines` of the one before; and the lines above it."""
    above, held = 0, ""
    for piece in pieces:
        held += piece
        end = held.rfind("\n")
        if end < 0 and len(held) < PIECE:
            continue
        end = len(held) if end < 0 else end
        yield above, held[:end]
        kept = end
        for _ in range(lines):
            kept = max(held.rfind("\n", 0, kept), 0)
        kept = max(kept + 1 if kept else 0, end - PIECE)
        above += held.count("\n", 0, kept)
        held = held[kept:]
    yield above, held


def _line_numbers(text: str, wanted: str, above: int) -> str | None:
    unnumbered = _LINE_NUMBER.sub("", wanted)
    if unnumbered == wanted or unnumbered not in text:
        return None
    return "old_string contains the line numbers that Read shows; leave out the number and the tab."


def _whitespace_difference(text: str, wanted: str, above: int) -> str | None:
    lines, looked_for = text.split("\n"), wanted.strip().split("\n")
    squeezed = [" ".join(line.split()) for line in lines]
    target = [" ".join(line.split()) for line in looked_for]
    for start in range(len(lines) - len(target) + 1):
        if squeezed[start : start + len(target)] == target:
            shown = lines[start : start + len(target)]
            return (
                "It differs from the file only in whitespace (indentation, tabs, spaces at the end of lines). "
                f"The file has, with tabs as \\t:\n{_show(shown, above + start, escaped=True)}"
            )
    return None


def _lookalike_difference(text: str, wanted: str, above: int) -> str | None:
    return _folded_difference(text, wanted, above, _plain, "quotes, dashes or special spaces")


def _case_difference(text: str, wanted: str, above: int) -> str | None:
    return _folded_difference(text, wanted, above, str.lower, "upper and lower case")


def _folded_difference(text: str, wanted: str, above: int, fold: Callable[[str], str], words: str) -> str | None:
    folded = fold(text)
    position = folded.find(fold(wanted))
    if position < 0:
        return None
    start = folded.count("\n", 0, position)
    lines = text.split("\n")[start : start + wanted.count("\n") + 1]
    return f"It differs from the file only in {words}. The file has:\n{_show(lines, above + start)}"


def _plain(text: str) -> str:
    for special, plain in _LOOKALIKES.items():  # many times as fast as str.translate
        text = text.replace(special, plain)
    return text


def _nearest_line(lines: list[str], wanted: str) -> str | None:
    target = max((line.strip() for line in wanted.split("\n")), key=len)[:200]
    near = difflib.get_close_matches(target, {line.strip()[:200] for line in lines}, n=1, cutoff=0.6)
    if not near:
        return None
    number = next(number for number, line in enumerate(lines) if line.strip()[:200] == near[0])
    start = max(0, number - 1)
    return f"The nearest text is around line {number + 1}:\n{_show(lines[start : number + 2], start)}"


_KINDS = (_line_numbers, _whitespace_difference, _lookalike_difference, _case_difference)


def _show(lines: list[str], start: int, *, escaped: bool = False) -> str:
    rows = [
        f"{number}\t{line.replace(chr(9), chr(92) + 't') if escaped else line}" for number, line in enumerate(lines, start + 1)
    ]
    more = [f"[... {len(rows) - _MAX_SHOWN} more lines]"] if len(rows) > _MAX_SHOWN else []
    return "\n".join(rows[:_MAX_SHOWN] + more)
