"""Paths that were granted for one call: these are opened wherever they lie, nothing else is, and no link is followed."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from support_tools import make_workspace, open_descriptors
from toolwright.base.open_beneath import DIRECTORY
from toolwright.files.granted import GrantedPaths
from toolwright.workspace import NotRegularFile, OpenFile, PathNotAllowed, Workspace

pytestmark = pytest.mark.anyio


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "file").write_text("content")
    (folder / "other").write_text("other")
    return folder


def content(file: OpenFile) -> bytes:
    return file.read_all(100)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


async def test_exactly_what_was_granted_is_opened(outside: Path, workspace: Workspace) -> None:
    granted = [str(outside / "file")]
    assert await workspace.with_file(str(outside / "file"), content, granted=granted) == b"content"
    assert await workspace.with_file(f"{outside}/../outside/./file", content, granted=granted) == b"content"
    for path in (outside / "other", outside, outside / "file/below", outside.parent, Path("/etc/passwd")):
        with pytest.raises((PathNotAllowed, NotADirectoryError)):
            await workspace.with_file(str(path), content, granted=granted)
    with pytest.raises(PathNotAllowed):
        await workspace.with_file(str(outside / "file"), content)


async def test_a_call_with_a_grant_opens_nothing_inside_that_was_not_asked_about(outside: Path, workspace: Workspace) -> None:
    inside = Path(workspace.home) / "inside"
    inside.write_text("inside")
    (outside / "link").symlink_to(inside)
    for path in (inside, outside / "link"):
        with pytest.raises(PathNotAllowed):
            await workspace.with_file(str(path), content, granted=[str(outside / "file")])


async def test_a_path_with_a_link_is_opened_only_where_it_led(outside: Path, workspace: Workspace) -> None:
    link = outside.parent / "link"
    link.symlink_to(outside)
    assert await workspace.with_file(str(link / "file"), content, granted=[str(outside / "file")]) == b"content"
    with pytest.raises(PathNotAllowed) as refusal:
        await workspace.with_file(str(link / "file"), content, granted=[str(link / "file")])
    assert "outside allowed boundaries" in str(refusal.value)
    assert f"does not lead to what was allowed ({link}/file)" in str(refusal.value)


async def test_a_strict_workspace_knows_no_grants(outside: Path, tmp_path: Path) -> None:
    workspace, granted = make_workspace(tmp_path, strict=True), [str(outside / "file"), str(outside)]
    with pytest.raises(PathNotAllowed):
        await workspace.with_file(str(outside / "file"), content, granted=granted)
    with pytest.raises(PathNotAllowed):
        await workspace.replace_file(str(outside / "file"), lambda before: b"new", granted=granted)
    with pytest.raises(PathNotAllowed):
        await workspace.with_folder(str(outside), lambda folder: None, granted=granted)
    with pytest.raises(PathNotAllowed), workspace.search_place(str(outside), granted=granted):
        pass
    assert (outside / "file").read_text() == "content"
    assert workspace.touched_paths(str(outside / "file")) == (str(outside / "file"),)


async def test_what_is_no_file_and_no_folder_is_not_even_opened(outside: Path, workspace: Workspace) -> None:
    """A writer waits in its open until somebody opens the pipe to read."""
    pipe = str(outside / "pipe")
    os.mkfifo(pipe)
    opened = threading.Event()

    def write() -> None:
        descriptor = os.open(pipe, os.O_WRONLY)
        opened.set()
        os.close(descriptor)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with pytest.raises(NotRegularFile):
            await workspace.with_file(pipe, content, granted=[pipe])
        with pytest.raises(NotRegularFile):
            await workspace.replace_file(pipe, lambda before: b"new", granted=[pipe])
        with pytest.raises(NotRegularFile), workspace.search_place(pipe, granted=[pipe]):
            pass
        assert not opened.wait(0.1)
    finally:
        os.close(os.open(pipe, os.O_RDONLY))
        writer.join()


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/self/root/etc/passwd", "/proc/self/../self/environ"])
async def test_processes_stay_closed_even_if_granted(path: str, workspace: Workspace) -> None:
    with pytest.raises(PathNotAllowed):
        await workspace.with_file(path, content, granted=[path, os.path.normpath(path)])


async def test_links_outside_are_resolved_before_anybody_is_asked(outside: Path, workspace: Workspace) -> None:
    inside, beside = Path(workspace.home) / "link", outside.parent / "beside"
    inside.symlink_to(beside)
    beside.symlink_to(outside)
    for link in (inside, beside):
        assert workspace.touched_paths(str(link / "file")) == (str(outside / "file"), str(link / "file"))
        assert workspace.touched_paths(str(link / "new/file")) == (str(outside / "new/file"), str(link / "new/file"))
    (outside / "loop").symlink_to(outside / "loop")
    assert workspace.touched_paths(str(outside / "loop")) == (str(outside / "loop"),)
    assert workspace.touched_paths("/proc/self/root/etc") == ("/proc/self/root/etc",)


def test_nothing_stays_open(outside: Path) -> None:
    boundary, before = GrantedPaths([str(outside)]), open_descriptors()
    for path in (outside, outside / "file", outside / "gone"):
        try:
            os.close(boundary.open(str(path), DIRECTORY)[0])
        except PathNotAllowed:
            pass
    assert open_descriptors() == before
