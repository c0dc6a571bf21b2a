from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolwright.tools.patches import structured_patch

TEXTS = st.text(st.sampled_from("ab\n"), max_size=40)


def lines(text: str) -> list[str]:
    found = text.split("\n")
    return found[:-1] if not found[-1] else found


def apply(text: str, hunks: list[dict[str, Any]]) -> list[str]:
    source, out, position = lines(text), [], 0
    for hunk in hunks:
        start = hunk["oldStart"] - (1 if hunk["oldLines"] else 0)
        out += source[position:start]
        assert len(out) == hunk["newStart"] - (1 if hunk["newLines"] else 0)
        position = start
        for line in hunk["lines"]:
            if line[0] in " -":
                assert source[position] == line[1:]
                position += 1
            if line[0] in " +":
                out.append(line[1:])
        assert sum(line[0] in " -" for line in hunk["lines"]) == hunk["oldLines"]
        assert sum(line[0] in " +" for line in hunk["lines"]) == hunk["newLines"]
    return out + source[position:]


@given(TEXTS, TEXTS)
def test_a_patch_turns_the_old_text_into_the_new(old: str, new: str) -> None:
    assert apply(old, structured_patch(old, new)) == lines(new)


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_a_patch_of_a_small_edit_has_little_context(start: str, old: str, new: str, end: str) -> None:
    hunks = structured_patch(start + old + end, start + new + end)
    assert apply(start + old + end, hunks) == lines(start + new + end)


def test_far_changes_are_separate_hunks() -> None:
    old = "\n".join(map(str, range(100)))
    hunks = structured_patch(old, old.replace("10\n", "ten\n").replace("90\n", "ninety\n"))
    assert [(hunk["oldStart"], hunk["oldLines"]) for hunk in hunks] == [(8, 7), (88, 7)]
