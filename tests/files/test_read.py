from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from toolwright.files.boundary import Boundary
from toolwright.files.read import opened
from toolwright.files.write import replace
from toolwright.workspace import FileChanged, FileContent, FileTooLarge, NotRegularFile, PathNotAllowed

LIMIT = 1 << 20


def put(boundary: Boundary, path: Path, data: bytes) -> None:
    replace(boundary, str(path), lambda before: data, limit=LIMIT)


def test_a_new_file_gets_its_folders(tmp_path: Path) -> None:
    put(Boundary([str(tmp_path)]), tmp_path / "a/b/c.txt", b"new")
    assert (tmp_path / "a/b/c.txt").read_bytes() == b"new"
    assert list((tmp_path / "a/b").iterdir()) == [tmp_path / "a/b/c.txt"]


def test_mode_owner_and_extended_attributes_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "script"
    file.write_bytes(b"old")
    file.chmod(0o751)
    if os.geteuid() == 0:
        os.chown(file, 1234, 2345)
    os.setxattr(file, "user.note", b"kept")
    before = file.stat()
    put(Boundary([str(tmp_path)]), file, b"new")
    after = file.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert os.getxattr(file, "user.note") == b"kept"


def test_a_link_inside_is_written_through_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "dangling").symlink_to("later")
    boundary = Boundary([str(tmp_path)])
    put(boundary, tmp_path / "link", b"new")
    put(boundary, tmp_path / "dangling", b"made")
    assert (tmp_path / "target").read_bytes() == b"new"
    assert (tmp_path / "later").read_bytes() == b"made"
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "dangling").is_symlink()


def test_a_hard_link_to_an_outside_file_leaves_that_file_alone(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "outside").write_bytes(b"theirs")
    os.link(tmp_path / "outside", tmp_path / "ws/hard")
    put(Boundary([str(tmp_path / "ws")]), tmp_path / "ws/hard", b"ours")
    assert (tmp_path / "outside").read_bytes() == b"theirs"
    assert (tmp_path / "ws/hard").read_bytes() == b"ours"


_AS_NOBODY = """
import ctypes, os, sys
from toolwright.files.boundary import Boundary
from toolwright.files.write import replace

os.setgid(65534)
os.setuid(65534)
for name in ("protected", "runs-as-root"):
    try:
        replace(Boundary([sys.argv[1]]), sys.argv[1] + "/" + name, lambda before: b"new", limit=1 << 20)
    except OSError as error:
        print(error.strerror)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become someone else")
def test_a_write_protected_file_stays_as_it_is_and_set_id_bits_do_not_change_hands() -> None:
    with tempfile.TemporaryDirectory() as name:  # everybody can get there, unlike to tmp_path
        folder = Path(name)
        folder.chmod(0o777)
        for file, mode in (("protected", 0o444), ("runs-as-root", 0o6777)):
            (folder / file).write_bytes(b"old")
            (folder / file).chmod(mode)
        done = subprocess.run([sys.executable, "-c", _AS_NOBODY, name], capture_output=True, text=True, check=True)
        assert done.stdout == "Permission denied: the file is write-protected\n"
        assert (folder / "protected").read_bytes() == b"old"
        assert (folder / "runs-as-root").read_bytes() == b"new"
        status = (folder / "runs-as-root").stat()
        assert (status.st_uid, status.st_mode & 0o7777) == (65534, 0o777)


def test_a_change_that_raises_leaves_everything_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")

    def refuse(before: FileContent | None) -> bytes:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        replace(Boundary([str(tmp_path)]), str(tmp_path / "file"), refuse, limit=LIMIT)
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_somebody_else_writes_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")

    def late(before: FileContent | None) -> bytes:
        file.write_bytes(b"theirs")
        return b"ours"

    with pytest.raises(FileChanged):
        replace(Boundary([str(tmp_path)]), str(file), late, limit=LIMIT)
    assert file.read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["file"]


def test_a_full_disk_leaves_the_old_file_and_no_temporary_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    program = (
        "import resource, signal, sys\n"
        "from toolwright.files.boundary import Boundary\n"
        "from toolwright.files.write import replace\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n"
        "    replace(Boundary([sys.argv[1]]), sys.argv[1] + '/file', lambda before: b'x' * 10000, limit=1 << 20)\n"
        "except OSError as error:\n"
        "    print(error.errno)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "27"
    assert (tmp_path / "file").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_writers_of_one_process_lose_no_update(tmp_path: Path) -> None:
    file = tmp_path / "count"
    file.write_bytes(b"0")
    boundary = Boundary([str(tmp_path)])
    barrier = threading.Barrier(4)

    def add(before: FileContent | None) -> bytes:
        assert before is not None
        return str(int(before.data) + 1).encode()

    def work() -> None:
        barrier.wait()
        for _ in range(25):
            replace(boundary, str(file), add, limit=LIMIT)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert file.read_bytes() == b"100"


def test_access_lists_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "shared"
    file.write_bytes(b"old")
    entries = ((1, 6, -1), (2, 6, 4321), (4, 4, -1), (16, 6, -1), (32, 4, -1))  # user, user 4321, group, mask, others
    access_list = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(file, "system.posix_acl_access", access_list)
    except OSError as error:
        pytest.skip(f"this disk keeps no access lists: {error}")
    mode = file.stat().st_mode
    put(Boundary([str(tmp_path)]), file, b"new")
    assert os.getxattr(file, "system.posix_acl_access") == access_list
    assert file.stat().st_mode == mode


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    boundary = Boundary([str(tmp_path)])
    for name, kind in (("fifo", "FIFO"), ("folder", "directory")):
        with pytest.raises(NotRegularFile, match=kind), opened(boundary, str(tmp_path / name)):
            pass
        with pytest.raises(NotRegularFile, match=kind):
            put(boundary, tmp_path / name, b"x")


def test_reading_stops_at_the_limit_whatever_the_size_says(tmp_path: Path) -> None:
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 1 << 40)
    boundary = Boundary([str(tmp_path)])
    with opened(boundary, str(tmp_path / "sparse")) as file, pytest.raises(FileTooLarge):
        file.read_all(1000)


def test_a_write_through_an_outward_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "ws/l").symlink_to(tmp_path / "out")
    with pytest.raises(PathNotAllowed):
        put(Boundary([str(tmp_path / "ws")]), tmp_path / "ws/l/x", b"x")
    assert not list((tmp_path / "out").iterdir())
