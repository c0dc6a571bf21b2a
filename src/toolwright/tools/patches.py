"""The difference of two texts as hunks, the way `structuredPatch` carries it. Knows no files."""

from __future__ import annotations

from typing import Any

CONTEXT = 3
_MAX_COMPARED = 1500
"""Above so many changed lines a line-by-line comparison takes longer than it helps: one hunk says it all."""


def structured_patch(old: str, new: str, *, above: int = 0) -> list[dict[str, Any]]:
    """Hunks with three lines of context. The common beginning and end are passed over first: edits are small.

    `above`: both stand behind so many lines of the texts they are taken from.
    """
    start = _common_start(old, new)
    end = _common_end(old, new, min(len(old), len(new)) - start)
    first = old.count("\n", 0, start)
    lead = _before(old, start)
    tail = _after(old, len(old) - end)
    before, after = _lines(old[start : len(old) - end]), _lines(new[start : len(new) - end])
    changes = _changes(before, after, len(lead))
    offset = above + first - len(lead)
    return [_hunk(lead + before + tail, lead + after, offset, group) for group in _groups(changes)]


def one_line_patch(lead: str, old: str, new: str, tail: str, *, number: int) -> list[dict[str, Any]]:
    """The same for texts that differ in one line: that line, its number, and the context that both have around it."""
    if old == new:
        return []
    above, below = ([f" {line}" for line in _lines(text)] for text in (lead, tail))
    start, count = number - len(above), len(above) + 1 + len(below)
    lines = [*above, "-" + old.removesuffix("\n"), "+" + new.removesuffix("\n"), *below]
    return [{"oldStart": start, "oldLines": count, "newStart": start, "newLines": count, "lines": lines}]


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else lines


def _common_start(old: str, new: str) -> int:
    """How many characters of whole lines both begin with."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if new.startswith(old[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low if low == len(old) == len(new) else old.rfind("\n", 0, low) + 1


def _common_end(old: str, new: str, most: int) -> int:
    """How many characters of whole lines both end with, not more than `most`."""
    low, high = 0, most
    old_length, new_length = len(old), len(new)
    while low < high:
        middle = (low + high + 1) // 2
        if new.endswith(old[old_length - middle : old_length - low], 0, new_length - low):
            low = middle
        else:
            high = middle - 1
    if low == 0 or (_starts_line(old, len(old) - low) and _starts_line(new, len(new) - low)):
        return low
    line_end = old.find("\n", len(old) - low)
    return 0 if line_end < 0 else len(old) - line_end - 1


def _starts_line(text: str, position: int) -> bool:
    return position == 0 or text[position - 1] == "\n"


def _before(text: str, position: int) -> list[str]:
    """The lines of context that end at `position`."""
    start = position
    for _ in range(CONTEXT):
        if start > 0:
            start = text.rfind("\n", 0, start - 1) + 1
    return _lines(text[start:position]) if start < position else []


def _after(text: str, position: int) -> list[str]:
    """The lines of context that begin at `position`."""
    end = position
    for _ in range(CONTEXT):
        if end < len(text):
            found = text.find("\n", end)
            end = len(text) if found < 0 else found + 1
    return _lines(text[position:end]) if position < end else []


def _changes(before: list[str], after: list[str], start: int) -> list[tuple[int, int, int, int]]:
    """Ranges (old from, old to, new from, new to) that differ."""
    if not before and not after:
        return []
    if len(before) * len(after) <= 1 or len(before) + len(after) > _MAX_COMPARED:
        return [(start, start + len(before), start, start + len(after))]
    import difflib  # only edits that touch several places come here

    codes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [(start + a, start + b, start + c, start + d) for tag, a, b, c, d in codes if tag != "equal"]


def _groups(changes: list[tuple[int, int, int, int]]) -> list[list[tuple[int, int, int, int]]]:
    """Changes whose contexts touch belong to one hunk."""
    groups: list[list[tuple[int, int, int, int]]] = []
    for change in changes:
        if groups and change[0] - groups[-1][-1][1] <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk(before: list[str], after: list[str], offset: int, changes: list[tuple[int, int, int, int]]) -> dict[str, Any]:
    """One hunk. Line numbers of `changes` count from `offset` lines into the files."""
    old_start = max(0, changes[0][0] - CONTEXT)
    new_start = changes[0][2] - (changes[0][0] - old_start)
    position = old_start
    lines: list[str] = []
    for old_from, old_to, new_from, new_to in changes:
        lines += [f" {line}" for line in before[position:old_from]]
        lines += [f"-{line}" for line in before[old_from:old_to]]
        lines += [f"+{line}" for line in after[new_from:new_to]]
        position = old_to
    tail = before[position : position + CONTEXT]
    lines += [f" {line}" for line in tail]
    old_lines = position + len(tail) - old_start
    new_lines = changes[-1][3] + len(tail) - new_start
    return {
        "oldStart": offset + old_start + (1 if old_lines else 0),
        "oldLines": old_lines,
        "newStart": offset + new_start + (1 if new_lines else 0),
        "newLines": new_lines,
        "lines": lines,
    }
