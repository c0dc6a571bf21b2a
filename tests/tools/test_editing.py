from __future__ import annotations

import os
from functools import partial
from operator import ne
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolwright.tools.edit import EditInput
from toolwright.tools.editing import edit_file
from toolwright.tools.patches import structured_patch
from toolwright.tools.text_spans import line_above, line_below
from toolwright.workspace import FileContent, Replaced, Workspace

pytestmark = pytest.mark.anyio
TEXTS = st.text(st.sampled_from("ab\nä"), max_size=30)


class InMemory(Workspace):
    """Writes nothing: what an edit makes of a file is all that counts."""

    content = b""

    async def replace_file(self, path: str, change: object, *, granted: object = ()) -> Replaced:
        status = os.stat("/")
        before = FileContent(path, self.content, status)
        self.reads.note(path, status, self.content)
        new = change(before)  # type: ignore[operator]  # a function
        return Replaced(before, FileContent(path, new, status), durable=True)


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, list[EditInput]]:
    """A text, and edits of it that can be made one after the other."""
    middle = draw(TEXTS)
    text = now = f"1\n2\n3\n4\n{middle}\n5\n6\n7\n8\n" if draw(st.booleans()) else f"x{middle}"
    made = []
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(now) - 1))
        old = now[start : start + draw(st.integers(1, 4))]
        new = draw(st.text(st.sampled_from("ab\nä"), min_size=1, max_size=3).filter(partial(ne, old)))
        made.append(EditInput("file", old, new, replace_all=True))
        now = now.replace(old, new)
    return text, made


@given(edits())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
async def test_the_patch_of_an_edit_is_that_of_the_whole_file(tmp_path: Path, case: tuple[str, list[EditInput]]) -> None:
    text, replacements = case
    workspace = InMemory(str(tmp_path), env={}, state_dir=str(tmp_path / "state"))
    workspace.content = text.encode()
    edited = await edit_file("file", replacements, workspace)
    assert edited.shown["originalFile"] == text
    assert edited.shown["structuredPatch"] == structured_patch(text, edited.replaced.after.data.decode())


@given(TEXTS, st.integers(0, 40), st.integers(0, 4))
def test_lines_above_and_below_a_place_are_found_by_counting(text: str, at: int, count: int) -> None:
    data = text.encode()
    offset = min(at, len(data))
    lines = data.splitlines(keepends=True)
    number = data.count(b"\n", 0, offset)
    assert line_above(data, offset, count) == sum(map(len, lines[: max(0, number - count)]))
    assert line_below(data, offset, count) == sum(map(len, lines[: number + count + 1]))
