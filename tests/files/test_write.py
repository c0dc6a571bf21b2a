"""A change of a file is made in a thread: given up before it begins, or made and known, whoever waits for it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from support_tools import error_of, make_workspace
from toolwright.workspace import FileContent, ReadState, workspace

pytestmark = pytest.mark.anyio
LONG = 30.0


async def test_a_change_that_cannot_begin_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "MAX_WAIT", 0.0)
    made = make_workspace(tmp_path)
    with pytest.raises(TimeoutError, match="no thread was free"):
        await made.replace_file("file", lambda before: b"new")
    assert "no thread was free" in await error_of("Write", made, file_path="file", content="new")
    assert os.listdir(made.home) == []


async def test_a_change_that_has_begun_is_made_and_known_whoever_gives_up_waiting(tmp_path: Path) -> None:
    made = make_workspace(tmp_path)
    begun, go = threading.Event(), threading.Event()

    def change(before: FileContent | None) -> bytes:
        begun.set()
        assert go.wait(LONG)
        return b"new"

    async with anyio.create_task_group() as group:
        group.start_soon(made.replace_file, "file", change)
        await anyio.to_thread.run_sync(begun.wait, LONG)
        group.cancel_scope.cancel()
        go.set()
    file = Path(made.home) / "file"
    assert file.read_bytes() == b"new"
    assert made.reads.knowledge(str(file), file.stat(), b"new") is ReadState.CURRENT
    assert os.listdir(made.home) == ["file"]
