"""The two ways to open something below a folder: by openat2, and by a walk where there is none. Both refuse the same."""

import errno
import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from toolwright.base.open_beneath import DIRECTORY, LINK_ERRORS, PATH_ONLY, Opener, open_beneath, walk_open

NAMES = ("file", "folder", "to_file", "to_folder", "outside", "loop", "nowhere", "missing")
FLAGS = {
    "read": os.O_RDONLY | os.O_NONBLOCK,
    "write": os.O_WRONLY,
    "folder": DIRECTORY,
    "stand on": PATH_ONLY,
    "stand on a folder": PATH_ONLY | os.O_DIRECTORY,
}


@pytest.fixture
def root(tmp_path: Path) -> Iterator[int]:
    top, other = tmp_path / "top", tmp_path / "other"
    for folder in (other, top, top / "folder", top / "folder" / "folder"):
        folder.mkdir()
        (folder / "file").write_text(str(folder))
        for name, target in (("to_file", "file"), ("to_folder", "."), ("outside", other), ("loop", "loop"), ("nowhere", "no")):
            (folder / name).symlink_to(target)
    descriptor = os.open(top, DIRECTORY)
    yield descriptor
    os.close(descriptor)


def outcome(opener: Opener, root: int, parts: tuple[str, ...], flags: int) -> object:
    """The file that was opened, or why it was not."""
    try:
        descriptor = opener(root, parts, flags, 0)
    except OSError as error:
        return "a link" if error.errno in LINK_ERRORS else errno.errorcode[error.errno or 0]
    try:
        assert not os.get_inheritable(descriptor)
        return os.fstat(descriptor).st_ino
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_a_walk_opens_what_the_system_opens_in_one_step_and_leaves_nothing_open(flags: int, root: int) -> None:
    before = os.listdir("/dev/fd")
    opened = 0
    for parts in (parts for depth in range(4) for parts in product(NAMES, repeat=depth)):
        walked = outcome(walk_open, root, parts, flags)
        assert (parts, walked) == (parts, outcome(open_beneath, root, parts, flags))
        opened += isinstance(walked, int)
        assert not isinstance(walked, int) or {*parts} <= {"file", "folder"}, "no link is ever followed"
    assert opened or flags & os.O_WRONLY
    assert os.listdir("/dev/fd") == before


@pytest.mark.parametrize("opener", [open_beneath, walk_open])
def test_a_new_file_gets_its_mode_and_a_link_is_never_written_through(opener: Opener, root: int, tmp_path: Path) -> None:
    create = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
    os.close(opener(root, ("folder", "new"), create | os.O_EXCL, 0o600))
    assert (tmp_path / "top" / "folder" / "new").stat().st_mode & 0o777 == 0o600
    for name in ("nowhere", "outside", "to_file"):
        assert outcome(opener, root, (name,), create) == "a link"
    assert not (tmp_path / "top" / "no").exists()
