"""Grep beside ripgrep run by hand, on small trees and options that hypothesis makes up."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from support_search import by_hand, hand_arguments
from support_tools import call, make_workspace
from toolwright.tools import results

NAMES = ["a.py", "b.ts", "src/a.py", "src/deep/c-1-d.py", "src/x:y 12-z.py", ".hidden", ".git/config", "skipped/i.py", "ü.txt"]
LINES = [
    "TODO one",
    "todo",
    "import os",
    "",
    "  x TODO TODO y",
    "return 1",
    "--",
    "12:not a number",
    "one\r",
    "ende ü",
    "z" * 2100,
]
PATTERNS = [
    "TODO",
    "todo",
    "^import",
    "o",
    "one|two",
    "r.*1",
    "zzz",
    r"\bos\b",
    "x{3}",
    "TODO one\ntodo",
    "^$",
    "--",
    "-",
    "e$",
]

TREES = st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(LINES), max_size=12), min_size=1, max_size=9)
FIELDS = st.fixed_dictionaries(
    {
        "pattern": st.sampled_from(PATTERNS),
        "output_mode": st.sampled_from(["content", "content", "files_with_matches", "count"]),
    },
    optional={
        "path": st.sampled_from([".", "src", "src/deep"]),
        "glob": st.sampled_from(["*.py", "*.{py,ts}", "src/**", "!*.py", "deep/*", "[ab].*"]),
        "exclude": st.sampled_from(["*.ts", "deep", "src/a*"]),
        "type": st.sampled_from(["py", "ts", "txt"]),
        "-i": st.booleans(),
        "-n": st.booleans(),
        "-o": st.booleans(),
        "-A": st.integers(0, 3),
        "-B": st.integers(0, 3),
        "-C": st.integers(0, 3),
        "context": st.integers(0, 3),
        "multiline": st.booleans(),
        "head_limit": st.integers(0, 9),
        "offset": st.integers(0, 9),
    },
)
Tree = Mapping[str, list[str]]


def plant(folder: Path, tree: Tree) -> Path:
    shutil.rmtree(folder / "ws", ignore_errors=True)
    for name in ("src/deep", ".git"):
        (folder / "ws" / name).mkdir(parents=True)
    (folder / "ws/.gitignore").write_text("skipped\n")
    for name, lines in tree.items():
        file = folder / "ws" / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return folder / "ws"


def whole_answer(root: Path, fields: dict[str, Any]) -> list[str]:
    """All lines by hand, named from the root whatever folder is searched."""
    path = fields.get("path", ".")
    lines = by_hand(str(root / path), *hand_arguments(fields))
    prefix = "" if path == "." else f"{path}/"
    return [line if line == "--" else prefix + line for line in lines]


def check(folder: Path, tree: Tree, fields: dict[str, Any]) -> None:
    root = plant(folder, tree)
    whole = whole_answer(root, fields)
    workspace = make_workspace(folder)

    async def answer() -> Any:
        return await call("Grep", workspace, **fields)

    output = anyio.run(answer)
    if output.is_error:
        assert "not allowed" in output.content  # a line feed in a pattern needs multiline
        assert not whole
        return
    start, limit = fields.get("offset", 0), fields.get("head_limit", 0)
    page = whole[start : start + limit] if limit else whole[start:]
    assume(sum(map(len, page)) < results.MAX_CHARACTERS // 2)  # what does not fit is told, and tested, elsewhere
    content = fields["output_mode"] == "content"
    note = f"of {len(whole)}" if page else f"there are {len(whole)}"
    shown = output.content.split("\n")
    assert shown[: len(page)] == page
    assert ([note in line for line in shown[len(page) :]] == [True]) == (0 < len(whole) != len(page))
    assert whole or shown == ["No matches found" if content else "No files found"]
    structured = output.structured
    files = whole_answer(root, {**fields, "output_mode": "files_with_matches"}) if content else whole
    if not (fields.get("multiline") and fields["pattern"] == "^$"):  # then ripgrep shows lines of files it lists as no match
        assert structured["totalFiles"] == len(files)
    assert content or structured["numFiles"] == len(page)
    assert "totalLines" not in structured or structured["totalLines"] == len(whole)
    if fields["output_mode"] == "count":
        assert structured["numMatches"] == sum(int(line.rpartition(":")[2]) for line in whole)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tree=TREES, fields=FIELDS)
def test_every_page_and_total_equals_ripgrep_by_hand(
    tmp_path_factory: pytest.TempPathFactory, tree: Tree, fields: dict[str, Any]
) -> None:
    folder = tmp_path_factory.getbasetemp() / "grep-differential"
    folder.mkdir(exist_ok=True)
    check(folder, tree, fields)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(tree=TREES, fields=FIELDS)
def test_the_same_when_ripgrep_has_to_put_the_answers_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tree: Tree, fields: dict[str, Any]
) -> None:
    monkeypatch.setattr(results, "MAX_BYTES_TO_ORDER", 1)
    check(tmp_path, tree, fields)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(tree=TREES, fields=FIELDS)
def test_the_same_when_what_lies_behind_the_page_is_dropped_all_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tree: Tree, fields: dict[str, Any]
) -> None:
    monkeypatch.setattr(results, "_FIRST_SORTING", 1)
    check(tmp_path, tree, fields)
