"""Glob beside a slow oracle, on small trees and patterns that hypothesis makes up."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from support_search import glob_matches
from support_tools import call, make_workspace
from toolwright.tools import glob

FILES = [
    *("a", "b", "a.py", "b.ts", "ab.py", ".h", ".h.py", "#a#", "c d.py", "src/a.py", "src/b", "src/deep/a.py", "src/deep/.h"),
    *("src/src/a.ts", "deep/a", "deep/deep/b.py", ".git/a.py", "src/.git/b", ".github/a", "skipped/a.py"),
]
SEGMENTS = st.sampled_from(
    ["*", "**", "?", "*.py", "a*", "[ab]*", "[!a]*", "{a,b}", "{a,b}.py", "src", "a", ".h*", "deep", "*.{py,ts}", "#*", "c *"]
)
PATTERNS = st.builds(
    lambda start, segments: start + "/".join(segments),
    st.sampled_from(["", "", "", "!", "./", "!./"]),
    st.lists(SEGMENTS, min_size=1, max_size=3),
)
TREES = st.dictionaries(st.sampled_from(FILES), st.integers(1, 3), min_size=1)
Tree = Mapping[str, int]
MAX_COUNT = 4


def plant(folder: Path, tree: Tree) -> None:
    shutil.rmtree(folder / "ws", ignore_errors=True)
    (folder / "ws").mkdir()
    for name, age in tree.items():
        file = folder / "ws" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        os.utime(file, (age, age))
    (folder / "ws/.gitignore").write_text("skipped\n")
    os.utime(folder / "ws/.gitignore", (9, 9))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(tree=TREES, pattern=PATTERNS)
@example(tree=dict.fromkeys(FILES, 1), pattern="**")
@example(tree=dict.fromkeys(FILES, 1), pattern="!src")
@example(tree=dict.fromkeys(FILES, 1), pattern=".git/**")
def test_files_order_and_total_equal_the_oracle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tree: Tree, pattern: str
) -> None:
    monkeypatch.setattr(glob, "MAX_FILES", MAX_COUNT)
    plant(tmp_path, tree)
    workspace = make_workspace(tmp_path)
    ages = {**tree, ".gitignore": 9}
    expected = sorted((-age, name) for name, age in ages.items() if glob_matches(pattern, name))

    async def answer() -> Any:
        return await call("Glob", workspace, pattern=pattern)

    output = anyio.run(answer)
    shown = [name for _, name in expected[:MAX_COUNT]]
    note = [f"[the newest {MAX_COUNT} of {len(expected)} files; narrow the pattern or path to see others]"] * (
        len(expected) > MAX_COUNT
    )
    assert output.content.split("\n") == [*(shown or ["No files found"]), *note]
    assert output.structured["totalMatches"] == len(expected)
    assert output.structured["filenames"] == [f"{workspace.home}/{name}" for name in shown]
