"""Somebody else writes at the worst moment: between our last look and the rename."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from toolwright.base import renames
from toolwright.files import atomic_write
from toolwright.files.boundary import Boundary
from toolwright.files.write import replace
from toolwright.workspace import FileChanged, FileTooLarge, NotRegularFile

OURS, OLD, THEIRS = b"ours", b"old!", b"them"


def in_place(file: Path) -> None:
    """The same size, the same time: only the bytes tell."""
    status = file.stat()
    file.write_bytes(THEIRS)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def by_rename(file: Path) -> None:
    other = file.with_name("other")
    other.write_bytes(THEIRS)
    other.rename(file)


def by_link(file: Path) -> None:
    file.with_name("target").write_bytes(THEIRS)
    file.unlink()
    file.symlink_to("target")


def longer(file: Path) -> None:
    """What was read is still there, but not all that is there."""
    with file.open("ab") as more:
        more.write(b"!")


def emptied(file: Path) -> None:
    os.truncate(file, 0)


def test_another_file_of_the_same_content_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, other = tmp_path / "file", tmp_path / "other"
    file.write_bytes(OLD)
    other.write_bytes(OLD)
    theirs = other.stat().st_ino

    def swap(number: int) -> None:
        if number == 1:
            other.rename(file)

    before_exchange(monkeypatch, swap)
    with pytest.raises(FileChanged, match="by someone else"):
        replace(Boundary([str(tmp_path)]), str(file), lambda before: OURS, limit=100)
    assert file.stat().st_ino == theirs
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize(
    ("write", "theirs"),
    [(in_place, THEIRS), (by_rename, THEIRS), (by_link, THEIRS), (longer, OLD + b"!"), (emptied, b"")],
)
def test_a_write_in_the_last_moment_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None], theirs: bytes
) -> None:
    file = tmp_path / "file"
    file.write_bytes(OLD)
    before_exchange(monkeypatch, lambda number: write(file) if number == 1 else None)
    with pytest.raises(FileChanged, match="by someone else"):
        replace(Boundary([str(tmp_path)]), str(file), lambda before: OURS, limit=100)
    assert file.read_bytes() == theirs
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".toolwright")]


def test_of_several_writes_in_the_last_moment_the_last_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_bytes(OLD)

    def write(number: int) -> None:
        other = tmp_path / "other"
        other.write_bytes(b"them %d" % number)
        other.rename(file)

    before_exchange(monkeypatch, lambda number: write(number) if number <= 3 else None)
    with pytest.raises(FileChanged):
        replace(Boundary([str(tmp_path)]), str(file), lambda before: OURS, limit=100)
    assert file.read_bytes() == b"them 3"
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_made_in_the_last_moment_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"

    def late(folder: int, source: str, target: str) -> None:
        file.write_bytes(THEIRS)
        renames.rename_new(folder, source, target)

    for plain in (False, True):
        monkeypatch.setattr(atomic_write, "rename_new", late)
        if plain:
            monkeypatch.setattr(renames, "c_function", lambda name, arguments: None)
        with pytest.raises(FileChanged, match="made by someone else"):
            replace(Boundary([str(tmp_path)]), str(file), lambda before: OURS, limit=100)
        assert file.read_bytes() == THEIRS
        assert os.listdir(tmp_path) == ["file"]
        file.unlink()


def test_a_file_removed_in_the_last_moment_stays_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_bytes(OLD)
    before_exchange(monkeypatch, lambda number: file.unlink())
    with pytest.raises(FileChanged, match="removed"):
        replace(Boundary([str(tmp_path)]), str(file), lambda before: OURS, limit=100)
    assert os.listdir(tmp_path) == []


def test_errors_name_the_file_and_not_the_temporary_one(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()

    def remove_the_folder(before: object) -> bytes:
        (tmp_path / "folder").rmdir()
        return OURS

    with pytest.raises(OSError, match="folder/file") as caught:
        replace(Boundary([str(tmp_path)]), str(tmp_path / "folder/file"), remove_the_folder, limit=100)
    assert ".toolwright" not in str(caught.value)


def test_a_file_whose_folder_was_removed_meanwhile_is_not_called_write_protected(tmp_path: Path) -> None:
    file = tmp_path / "folder/file"
    file.parent.mkdir()
    file.write_bytes(OLD)

    def remove_the_folder(before: object) -> bytes:
        file.unlink()
        file.parent.rmdir()
        return OURS

    with pytest.raises(FileChanged, match="removed"):
        replace(Boundary([str(tmp_path)]), str(file), remove_the_folder, limit=100)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc tells the open files")
def test_nothing_stays_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, boundary = tmp_path / "file", Boundary([str(tmp_path)])
    replace(boundary, str(file), lambda before: OLD, limit=100)
    before = len(os.listdir("/proc/self/fd"))
    replace(boundary, str(file), lambda before: OURS, limit=100)
    with pytest.raises(FileTooLarge):
        replace(boundary, str(file), lambda before: OURS, limit=1)
    with pytest.raises(NotRegularFile):
        replace(boundary, str(tmp_path), lambda before: OURS, limit=100)
    before_exchange(monkeypatch, lambda number: in_place(file) if number == 1 else None)
    with pytest.raises(FileChanged):
        replace(boundary, str(file), lambda before: OLD, limit=100)
    assert len(os.listdir("/proc/self/fd")) == before


def before_exchange(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], None]) -> None:
    """Act right before names are traded; `act` is told how often that was."""
    count = 0

    def late(folder: int, one: str, other: str) -> bool:
        nonlocal count
        count += 1
        act(count)
        return renames.exchange(folder, one, other)

    monkeypatch.setattr(atomic_write, "exchange", late)
