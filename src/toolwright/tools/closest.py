"""Explain why a text was not found: what in the file comes nearest, and how it differs. Bounded work, plain words."""

from __future__ import annotations

import difflib
import re

_MOST_LINES = 5000
_MOST_SHOWN = 12
_LOOKALIKES = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\u00a0": " ", "\u2009": " ", "\u200b": "", "…": "..."}
)
_LINE_NUMBER = re.compile(r"^\s*\d+\t", re.MULTILINE)


def explain_missing(text: str, wanted: str) -> str:
    """One or two sentences, with the lines of `text` that come nearest to `wanted`."""
    text = text.replace("\r\n", "\n")
    wanted = wanted.replace("\r\n", "\n")
    unnumbered = _LINE_NUMBER.sub("", wanted)
    if unnumbered != wanted and unnumbered in text:
        return "old_string contains the line numbers that Read shows; leave out the number and the tab."
    return (
        _whitespace_difference(text, wanted)
        or _folded_difference(text, wanted)
        or _nearest_line(text, wanted)
        or "Nothing similar is in the file: read it again and copy the text exactly."
    )


def _whitespace_difference(text: str, wanted: str) -> str | None:
    lines, looked_for = text.split("\n"), wanted.strip().split("\n")
    squeezed = [" ".join(line.split()) for line in lines]
    target = [" ".join(line.split()) for line in looked_for]
    for start in range(len(lines) - len(target) + 1):
        if squeezed[start : start + len(target)] == target:
            shown = lines[start : start + len(target)]
            return (
                "It differs from the file only in whitespace (indentation, tabs, spaces at the end of lines). "
                f"The file has, with tabs as \\t:\n{_show(shown, start, escaped=True)}"
            )
    return None


def _folded_difference(text: str, wanted: str) -> str | None:
    for fold, words in ((_plain, "quotes, dashes or special spaces"), (str.lower, "upper and lower case")):
        position = fold(text).find(fold(wanted))
        if position >= 0:
            start = fold(text).count("\n", 0, position)
            lines = text.split("\n")[start : start + wanted.count("\n") + 1]
            return f"It differs from the file only in {words}. The file has:\n{_show(lines, start)}"
    return None


def _plain(text: str) -> str:
    return text.translate(_LOOKALIKES)


def _nearest_line(text: str, wanted: str) -> str | None:
    lines = text.split("\n")[:_MOST_LINES]
    target = max((line.strip() for line in wanted.split("\n")), key=len)[:200]
    near = difflib.get_close_matches(target, {line.strip()[:200] for line in lines}, n=1, cutoff=0.6)
    if not near:
        return None
    number = next(number for number, line in enumerate(lines) if line.strip()[:200] == near[0])
    start = max(0, number - 1)
    return f"The nearest text is around line {number + 1}:\n{_show(lines[start : number + 2], start)}"


def _show(lines: list[str], start: int, *, escaped: bool = False) -> str:
    rows = [
        f"{number}\t{line.replace(chr(9), chr(92) + 't') if escaped else line}" for number, line in enumerate(lines, start + 1)
    ]
    more = [f"[... {len(rows) - _MOST_SHOWN} more lines]"] if len(rows) > _MOST_SHOWN else []
    return "\n".join(rows[:_MOST_SHOWN] + more)
