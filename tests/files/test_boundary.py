from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright.base import open_beneath
from toolwright.files.boundary import Boundary, BoundedPath
from toolwright.workspace import BadPath, PathNotAllowed


@pytest.fixture(params=["openat2", "walk"])
def boundary(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Boundary:
    """Both ways of opening keep the same laws."""
    if request.param == "walk":
        monkeypatch.setattr(open_beneath, "_openat2", lambda: None)
        monkeypatch.setattr(open_beneath, "_opener", lambda: open_beneath.walk_open)
    for folder in ("ws/sub", "ws-evil", "added"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "ws/inside").write_text("inside")
    (tmp_path / "ws-evil/secret").write_text("secret")
    (tmp_path / "added/more").write_text("more")
    return Boundary([str(tmp_path / "ws"), str(tmp_path / "added")])


def content(boundary: Boundary, path: Path | str) -> str:
    descriptor, _ = boundary.open(str(path), os.O_RDONLY)
    try:
        return os.read(descriptor, 100).decode()
    finally:
        os.close(descriptor)


def test_a_file_inside_opens_however_it_is_spelled(boundary: Boundary, tmp_path: Path) -> None:
    for spelling in (
        "ws/inside",
        "ws//inside",
        "ws/./inside",
        "ws/sub/../inside",
        "ws/inside/",
        "ws/../ws/inside",
        "added/../ws/inside",
    ):
        assert content(boundary, f"{tmp_path}/{spelling}") == "inside"


@pytest.mark.parametrize(
    "spelling", ["ws-evil/secret", "ws/../ws-evil/secret", "ws/sub/../../ws-evil/secret", "ws/..", "ws/nothing/../inside"]
)
def test_a_path_that_leaves_the_roots_is_refused(boundary: Boundary, tmp_path: Path, spelling: str) -> None:
    with pytest.raises(PathNotAllowed, match=r"Access denied: Path .* is outside allowed boundaries"):
        content(boundary, f"{tmp_path}/{spelling}")


@pytest.mark.parametrize("spelling", ["ws-evil/secret", "ws/../ws-evil/secret", "ws/out/secret", "ws/no/../x"])
def test_a_refusal_names_the_path_as_it_was_written_and_the_folders_that_are_open(
    boundary: Boundary, tmp_path: Path, spelling: str
) -> None:
    (tmp_path / "ws" / "out").symlink_to("../ws-evil")
    said = f"Access denied: Path {tmp_path}/{spelling} is outside allowed boundaries. Allowed: {tmp_path}/added, {tmp_path}/ws"
    for ask in (boundary.locate, boundary.resolve, lambda path: content(boundary, path)):
        with pytest.raises(PathNotAllowed) as refusal:
            ask(f"{tmp_path}/{spelling}")
        assert str(refusal.value) == said


def test_a_place_may_lie_in_folders_that_are_not_there_yet(boundary: Boundary, tmp_path: Path) -> None:
    for spelling in ("ws/new/folder/file", "ws/sub/../new/./folder/file"):
        assert boundary.locate(f"{tmp_path}/{spelling}").path == f"{tmp_path}/ws/new/folder/file"


def test_what_a_root_contains_is_told_by_whole_names(boundary: Boundary, tmp_path: Path) -> None:
    inside = {
        spelling: boundary.contains(f"{tmp_path}/{spelling}") for spelling in ("ws", "ws/a/b", "added", "ws-evil", "ws/../x")
    }
    assert inside == {"ws": True, "ws/a/b": True, "added": True, "ws-evil": False, "ws/../x": False}


def test_links_that_stay_inside_are_followed(boundary: Boundary, tmp_path: Path) -> None:
    ws = tmp_path / "ws"
    (ws / "relative").symlink_to("inside")
    (ws / "absolute").symlink_to(ws / "inside")
    (ws / "sub/up").symlink_to("../relative")
    (ws / "folder").symlink_to(tmp_path / "added")
    assert (
        content(boundary, ws / "relative") == content(boundary, ws / "absolute") == content(boundary, ws / "sub/up") == "inside"
    )
    assert content(boundary, ws / "folder/more") == "more"
    assert boundary.resolve(str(ws / "folder/more")).path == str(tmp_path / "added/more")


def test_links_that_lead_outside_are_refused(boundary: Boundary, tmp_path: Path) -> None:
    ws, outside = tmp_path / "ws", tmp_path / "ws-evil"
    (ws / "file").symlink_to(outside / "secret")
    (ws / "folder").symlink_to(outside)
    (ws / "three").symlink_to("two")
    (ws / "two").symlink_to("file")
    (ws / "dangling").symlink_to(outside / "new")
    (ws / "magic").symlink_to(f"/proc/self/root{outside}/secret")
    (ws / "parent").symlink_to("../ws-evil/secret")
    for name in ("file", "folder/secret", "folder", "three", "dangling", "magic", "parent"):
        with pytest.raises(PathNotAllowed):
            content(boundary, ws / name)
        with pytest.raises(PathNotAllowed):
            boundary.resolve(str(ws / name))


def test_a_loop_of_links_is_refused(boundary: Boundary, tmp_path: Path) -> None:
    (tmp_path / "ws/a").symlink_to("b")
    (tmp_path / "ws/b").symlink_to("a")
    with pytest.raises(BadPath, match="links"):
        content(boundary, tmp_path / "ws/a")


@pytest.mark.parametrize("path", ["", " ", "\n", "/a\0b", "/\udc80", "/" + "x" * 256, "/" + "x/" * 3000])
def test_what_cannot_be_a_path_never_reaches_the_system(boundary: Boundary, path: str) -> None:
    with pytest.raises(BadPath):
        boundary.open(path, os.O_RDONLY)


def test_proc_stays_closed_to_a_session_in_the_root_folder() -> None:
    whole = Boundary(["/"])
    for path in ("/proc/self/environ", "/proc/1/environ", f"/proc/{os.getpid()}/mem", "/dev/fd/0", "/../proc/self/environ"):
        with pytest.raises(PathNotAllowed):
            whole.open(path, os.O_RDONLY)


def test_a_root_may_be_named_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/file").write_text("here")
    (tmp_path / "link").symlink_to("real")
    boundary = Boundary([str(tmp_path / "link")])
    assert boundary.roots == (str(tmp_path / "real"),)
    assert content(boundary, tmp_path / "link/file") == content(boundary, tmp_path / "real/file") == "here"


def test_a_root_may_come_to_lie_behind_a_link(boundary: Boundary, tmp_path: Path) -> None:
    moved = tmp_path.with_name(f"{tmp_path.name}-moved")
    tmp_path.rename(moved)
    tmp_path.symlink_to(moved)
    assert content(boundary, tmp_path / "ws/inside") == "inside"
    with pytest.raises(PathNotAllowed):
        content(boundary, tmp_path / "ws-evil/secret")
    (moved / "ws/link").symlink_to("../ws-evil")
    with pytest.raises(PathNotAllowed):
        content(boundary, tmp_path / "ws/link/secret")


def test_a_place_may_be_farther_down_than_a_path_can_say(boundary: Boundary, tmp_path: Path) -> None:
    parts = ("x" * 200,) * 20 + ("x" * 70,)
    here = os.open(tmp_path / "ws", os.O_RDONLY)
    for name in parts:
        os.mkdir(name, dir_fd=here)
        here, above = os.open(name, os.O_RDONLY, dir_fd=here), here
        os.close(above)
    os.close(here)
    place = BoundedPath(str(tmp_path / "ws"), parts, "/".join((str(tmp_path / "ws"), *parts)))
    assert len("/".join(parts)) < 4095 < len(place.path)
    os.close(boundary.open_place(place, os.O_RDONLY))


def test_a_root_inside_a_root_cannot_be_swapped_for_a_link(tmp_path: Path) -> None:
    (tmp_path / "ws/sub").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/secret").write_text("secret")
    boundary = Boundary([str(tmp_path / "ws"), str(tmp_path / "ws/sub")])
    (tmp_path / "ws/sub").rmdir()
    (tmp_path / "ws/sub").symlink_to(tmp_path / "out")
    with pytest.raises(PathNotAllowed):
        content(boundary, tmp_path / "ws/sub/secret")


@given(
    st.lists(st.sampled_from(["..", ".", "", "sub", "inside", "ws", "ws-evil", "secret", "nothing", "out", "back"]), max_size=8)
)
def test_no_combination_of_names_reads_outside(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    base = tmp_path_factory.getbasetemp() / "combinations"
    if not base.exists():
        for folder in ("ws/sub", "ws-evil"):
            (base / folder).mkdir(parents=True)
        (base / "ws/inside").write_text("inside")
        (base / "ws-evil/secret").write_text("secret")
        (base / "ws/out").symlink_to("../ws-evil")
        (base / "ws/sub/back").symlink_to("..")
    boundary = Boundary([str(base / "ws")])
    try:
        descriptor, place = boundary.open(f"{base}/ws/" + "/".join(names), os.O_RDONLY)
    except (OSError, PathNotAllowed, BadPath):
        return
    real = os.readlink(f"/proc/self/fd/{descriptor}")
    os.close(descriptor)
    assert real == place.path.rstrip("/")
    assert real == str(base / "ws") or real.startswith(f"{base}/ws/")
