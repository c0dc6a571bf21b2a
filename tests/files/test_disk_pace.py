from __future__ import annotations

import os
import threading
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from support_tools import error_of, make_workspace
from toolwright.files.boundary import Boundary
from toolwright.files.disk_pace import Pace, pace_of
from toolwright.files.write import NotAtOnce, replace
from toolwright.workspace import FileContent, ReadState, workspace
from toolwright.workspace.workspace import INLINE_BYTES

pytestmark = pytest.mark.anyio
LONG = 30.0


@pytest.fixture
def quick(tmp_path: Path) -> Pace:
    """The disk of the test, known as quick."""
    pace = pace_of(str(tmp_path))
    for _ in range(200):
        pace.note(0.0)
    assert pace.is_quick
    return pace


def test_a_disk_has_to_prove_quick() -> None:
    pace = Pace()
    assert not pace.is_quick
    for _ in range(10):
        pace.note(0.001)
    assert pace.is_quick


def test_a_disk_that_held_somebody_up_is_trusted_less_the_longer_that_was() -> None:
    def quick_ones_needed_after(seconds: float) -> int:
        pace = Pace()
        pace.note(seconds)
        for number in range(1000):
            if pace.is_quick:
                return number
            pace.note(0.001)
        raise AssertionError

    assert 0 < quick_ones_needed_after(0.05) < quick_ones_needed_after(1) < quick_ones_needed_after(30)


def test_what_fails_proves_nothing() -> None:
    pace = Pace()
    for _ in range(50):
        with pytest.raises(ZeroDivisionError):
            pace.timed(lambda: 1 // 0)
    assert not pace.is_quick


async def test_a_small_write_to_a_quick_disk_needs_no_thread(tmp_path: Path, quick: Pace) -> None:
    assert await thread_of_a_write(tmp_path, b"new") == threading.get_ident()
    quick.note(60.0)
    assert await thread_of_a_write(tmp_path, b"newer") != threading.get_ident()
    assert (tmp_path / "ws/file").read_bytes() == b"newer"


@pytest.mark.parametrize("old", [b"old", b"o" * (INLINE_BYTES + 1)])
async def test_a_large_file_is_left_to_a_thread(tmp_path: Path, quick: Pace, old: bytes) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/file").write_bytes(old)
    new = b"n" * (INLINE_BYTES + (len(old) == 3))
    assert await thread_of_a_write(tmp_path, new) != threading.get_ident()
    assert (tmp_path / "ws/file").read_bytes() == new


async def test_a_change_that_cannot_begin_is_given_up(tmp_path: Path, quick: Pace, monkeypatch: pytest.MonkeyPatch) -> None:
    quick.note(60.0)
    monkeypatch.setattr(workspace, "MAX_WAIT", 0.0)
    made = make_workspace(tmp_path)
    with pytest.raises(TimeoutError, match="no thread was free"):
        await made.replace_file("file", lambda before: b"new")
    assert "no thread was free" in await error_of("Write", made, file_path="file", content="new")
    assert os.listdir(made.home) == []


async def test_a_change_that_has_begun_is_made_and_known_whoever_gives_up_waiting(tmp_path: Path, quick: Pace) -> None:
    quick.note(60.0)
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


async def thread_of_a_write(tmp_path: Path, data: bytes) -> int:
    threads = []

    def change(before: FileContent | None) -> bytes:
        threads.append(threading.get_ident())
        return data

    await make_workspace(tmp_path).replace_file("file", change)
    return threads[-1]


def test_who_wants_it_at_once_waits_for_no_other_writer(tmp_path: Path) -> None:
    boundary, path = Boundary([str(tmp_path)]), str(tmp_path / "file")
    begun, go = threading.Event(), threading.Event()

    def slow(before: FileContent | None) -> bytes:
        begun.set()
        assert go.wait(LONG)
        return b"slow"

    other = threading.Thread(target=lambda: replace(boundary, path, slow, limit=100))
    other.start()
    assert begun.wait(LONG)
    with pytest.raises(NotAtOnce):
        replace(boundary, path, lambda before: b"quick", limit=100, at_once=True)
    go.set()
    other.join(LONG)
    assert (tmp_path / "file").read_bytes() == b"slow"
    replace(boundary, path, lambda before: b"quick", limit=100, at_once=True)
    assert (tmp_path / "file").read_bytes() == b"quick"


def test_what_is_too_large_to_be_done_at_once_changes_nothing(tmp_path: Path) -> None:
    file, boundary = tmp_path / "file", Boundary([str(tmp_path)])
    for old, new in ((b"o" * 101, b"new"), (b"old", b"n" * 101)):
        file.write_bytes(old)
        with pytest.raises(NotAtOnce):
            replace(boundary, str(file), partial(lambda new, before: new, new), limit=100, at_once=True)
        assert file.read_bytes() == old
