from __future__ import annotations

import errno
import os
import tracemalloc
from functools import partial
from pathlib import Path

import pytest

from support_tools import make_workspace, open_descriptors
from toolwright.base.worker_threads import in_thread, inline
from toolwright.workspace import BadPath, PathNotAllowed

pytestmark = pytest.mark.anyio


async def test_an_idle_workspace_is_small_and_holds_nothing_open(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    before = open_descriptors()
    tracemalloc.start()
    workspaces = [make_workspace(tmp_path) for _ in range(200)]
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert size / len(workspaces) < 4096
    assert open_descriptors() == before
    assert not (tmp_path / "state").exists()


async def test_rules_see_a_path_as_written_and_as_it_leads(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    workspace = make_workspace(tmp_path, add_dirs=[str(tmp_path / "secret")])
    (tmp_path / "ws/l").symlink_to(tmp_path / "secret")
    assert workspace.touched_paths("l/k") == (f"{tmp_path}/secret/k", f"{tmp_path}/ws/l/k")
    for spelling in ("a", "./a", "x/../a", f"{tmp_path}//ws/./a", f"{tmp_path}/ws/a/"):
        assert workspace.touched_paths(spelling)[-1] == f"{tmp_path}/ws/a"
    assert workspace.touched_paths("/etc/../etc/passwd") == ("/etc/passwd",)


async def test_folders_can_be_added_and_taken_back(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    (tmp_path / "more").mkdir()
    with pytest.raises(PathNotAllowed):
        workspace.resolve(f"{tmp_path}/more/x")
    workspace.add_directory(str(tmp_path / "more"))
    assert workspace.resolve(f"{tmp_path}/more/x") == f"{tmp_path}/more/x"
    workspace.remove_directory(str(tmp_path / "more"))
    with pytest.raises(PathNotAllowed):
        workspace.resolve(f"{tmp_path}/more/x")
    with pytest.raises(BadPath):
        workspace.add_directory(str(tmp_path / "nothing"))


async def test_a_workspace_without_its_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadPath, match="nothing"):
        make_workspace(tmp_path, add_dirs=[str(tmp_path / "nothing")])


async def test_the_scratch_folder_cannot_be_planted(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    old = os.umask(0)
    try:
        result = await workspace.commands.run("head -c 200000 /dev/zero")
    finally:
        os.umask(old)
    saved = Path(str(result.output.saved_to))
    assert saved.parent.stat().st_mode & 0o777 == 0o700
    assert saved.stat().st_mode & 0o777 == 0o600
    assert workspace.resolve(str(saved)) == str(saved)
    (saved.parent / "output-2.txt").symlink_to(tmp_path / "target")
    second = await workspace.commands.run("head -c 200000 /dev/zero")
    assert second.exit_code == 0
    assert "no file could be made for it: File exists" in second.output.text
    assert not (tmp_path / "target").exists()
    await workspace.close()
    assert workspace.roots == (f"{tmp_path}/ws",)


async def test_a_shortage_of_descriptors_is_tried_again_and_other_errors_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwright.base.worker_threads.FIRST_DELAY", 0.001)
    for run in (inline, in_thread):
        tries = 0

        def work(number: int = errno.EMFILE) -> int:
            nonlocal tries
            tries += 1
            if tries < 3:
                raise OSError(number, "short")
            return tries

        assert await run(work) == 3
        tries = 0
        with pytest.raises(OSError, match="short"):
            await run(partial(work, errno.EIO))
        assert tries == 1
