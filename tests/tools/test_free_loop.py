"""No tool keeps the event loop from anything else, however large the files are that it works on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support_ticking import assert_no_stall
from support_tools import call, make_workspace

pytestmark = pytest.mark.anyio

SIZE = 8 << 20
LINE = "The quick brown fox jumps over 'the' lazy dog, number {}.\n"
LINES = SIZE // len(LINE)
Store = Callable[[str], bytes]
STORED: dict[str, Store] = {
    "ascii": str.encode,
    "utf-8": lambda text: text.replace("quick", "qüick “—”").encode(),
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "utf-16": lambda text: text.encode("utf-16"),
    "latin-1": lambda text: text.replace("quick", "qüick").encode("latin-1"),
    "one line": lambda text: text.replace("\n", " ").encode(),
    "one letter": lambda text: b"a" * len(text),
}


@pytest.fixture(scope="module")
def body() -> str:
    return "".join(LINE.format(number) for number in range(LINES))


@pytest.mark.parametrize("kind", STORED)
async def test_editing_a_large_file(tmp_path: Path, body: str, kind: str) -> None:
    workspace = make_workspace(tmp_path)
    path = tmp_path / "ws/large.txt"
    path.write_bytes(STORED[kind](body))
    await call("Read", workspace, file_path=str(path), limit=5)
    changes = [("fox", "wolf"), ("wolf", "fox")] if kind != "one letter" else [("a", "b"), ("b", "a")]
    lone = f"number {LINES // 2}."

    async def there_and_back() -> None:
        for old, new in changes:
            output = await call("Edit", workspace, file_path=str(path), old_string=old, new_string=new, replace_all=True)
            assert output.is_error is None, output.content
        if kind != "one letter":
            for old, new in ((lone, "here"), ("here", lone)):
                output = await call("Edit", workspace, file_path=str(path), old_string=old, new_string=new)
                assert output.is_error is None, output.content
        output = await call("Edit", workspace, file_path=str(path), old_string="'Not' to be\nfound", new_string="x")
        assert "String to replace not found in file" in str(output.content)

    await assert_no_stall(there_and_back)
    await workspace.close()


async def test_reading_and_searching(tmp_path: Path, body: str) -> None:
    workspace = make_workspace(tmp_path)
    root = tmp_path / "ws"
    (root / "large.txt").write_text(body)
    (root / "many").mkdir()
    for number in range(2000):
        (root / f"many/{number}.txt").write_text("fox\n")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("Read", {"file_path": str(root / "large.txt"), "offset": LINES - 100}),
        ("Write", {"file_path": str(root / "new.txt"), "content": body[: SIZE // 8]}),
        ("Grep", {"pattern": "fox", "output_mode": "content"}),
        ("Grep", {"pattern": "fox", "output_mode": "count"}),
        ("Glob", {"pattern": "**/*.txt"}),
        ("LS", {"path": str(root / "many")}),
        ("Bash", {"command": "cat large.txt large.txt"}),
    ]

    async def all_of_them() -> None:
        for name, fields in calls:
            output = await call(name, workspace, **fields)
            assert output.is_error is None, (name, output.content)

    await assert_no_stall(all_of_them)
    await workspace.close()


async def test_notebooks(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    path = tmp_path / "ws/n.ipynb"
    cells = [
        {
            "cell_type": "code",
            "id": f"c{number}",
            "metadata": {},
            "source": "x = 1\n" * 100,
            "outputs": [],
            "execution_count": 1,
        }
        for number in range(1000)
    ]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))

    async def read_and_edit() -> None:
        await call("Read", workspace, file_path=str(path))
        output = await call("NotebookEdit", workspace, notebook_path=str(path), cell_id="c5", new_source="y = 2")
        assert output.is_error is None, output.content

    await assert_no_stall(read_and_edit)
    await workspace.close()
