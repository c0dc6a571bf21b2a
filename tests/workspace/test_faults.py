"""A file is old or new, never anything else, whichever system call of a write fails or is the last one before a kill."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from support_faults import DURABLE, KILLED, NEW, OLD, REFUSED, UNCONFIRMED, FaultRunner, Run
from support_tools import make_workspace
from toolwright.processes.temp_files import FOLDER_NAME, TemporaryFolder

UNRELATED = frozenset(
    {"poll", "restart_syscall", "exit_group", "brk", "mmap", "munmap", "mremap", "mprotect", "futex", "madvise"}
)
"""Calls that have nothing to do with files."""
RENAMING = frozenset({"rename", "renameat", "link", "linkat", "unlink", "unlinkat", "symlink", "fsync"})
SPECIAL = {
    "write": ("error=ENOSPC", "error=EDQUOT", "error=EINTR", "retval=0"),
    "fsync": ("error=ENOSPC",),
    "openat": ("error=EMFILE", "error=ENOSPC", "error=EROFS", "error=EACCES"),
    "openat2": ("error=EMFILE", "error=EACCES"),
    "rename": ("error=ENOSPC",),
    "renameat": ("error=ENOSPC",),
    "renameat2": ("error=ENOSPC", "error=ENOSYS", "error=EINVAL"),
    "symlink": ("error=ENOSPC",),
    "mkdirat": ("error=ENOSPC",),
}


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultRunner]:
    runner = FaultRunner(tmp_path_factory.mktemp("strace") / "log")
    yield runner
    runner.close()


def prepare(folder: Path, *, existing: bool) -> Path:
    """A folder with ws/file in it, that has a mode and an attribute of its own."""
    (folder / "ws").mkdir(parents=True)
    if not existing:
        return folder / "ws/made/deep/file"
    file = folder / "ws/file"
    file.write_bytes(OLD)
    file.chmod(0o640)
    os.setxattr(file, "user.note", b"kept")
    return file


def temporary_files(folder: Path) -> list[str]:
    return [str(path) for path in (folder / "ws").rglob(".toolwright-*")]


def check(run: Run, folder: Path, file: Path, *, existing: bool) -> None:
    """The laws, whatever went wrong."""
    content = file.read_bytes() if file.exists() else None
    before = OLD if existing else None
    assert content in (before, NEW)
    if run.code in (DURABLE, UNCONFIRMED):
        assert content == NEW
    elif run.code == REFUSED:
        assert content == before
    else:
        assert run.code == KILLED
    if existing:
        assert file.stat().st_mode & 0o777 == 0o640
        assert os.getxattr(file, "user.note") == b"kept"
    TemporaryFolder(str(folder / "state")).sweep()
    assert temporary_files(folder) == []
    notes = folder / "state" / FOLDER_NAME
    assert not notes.exists() or not list(notes.iterdir())


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, if there is one that keeps attributes: a real disk's fsync would be most of the time."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        try:
            os.setxattr(folder, "user.note", b"")
        except OSError:
            folder = str(tmp_path)
        yield Path(folder)


@pytest.mark.parametrize(
    ("work", "existing", "only"),
    [
        ("replace_existing", True, None),
        ("replace_once_more", True, None),
        ("create_in_new_folders", False, None),
        ("replace_by_plain_rename", True, RENAMING),
        ("create_by_plain_link", False, RENAMING),
    ],
)
def test_every_system_call_of_a_write_may_fail_or_be_the_last(
    runner: FaultRunner, disk: Path, work: str, existing: bool, only: frozenset[str] | None
) -> None:
    file = prepare(disk / "clean", existing=existing)
    clean = runner.run(work, disk / "clean")
    assert clean.code == DURABLE
    check(clean, disk / "clean", file, existing=existing)
    outcomes: Counter[int] = Counter()
    for fault in faults(clean.calls, only):
        folder = disk / fault
        file = prepare(folder, existing=existing)
        run = runner.run(work, folder, fault)
        assert run.injected, fault
        assert (run.code == KILLED) == ("KILL" in fault), fault
        check(run, folder, file, existing=existing)
        outcomes[run.code] += 1
    assert all(outcomes[code] for code in (KILLED, REFUSED, DURABLE, UNCONFIRMED)), outcomes


def faults(calls: list[str], only: frozenset[str] | None) -> Iterator[str]:
    """Each kind of failure at each of the calls, in strace's words."""
    seen: Counter[str] = Counter()
    for call in calls:
        seen[call] += 1
        if call in UNRELATED or (only is not None and call not in only):
            continue
        for effect in ("signal=KILL", "error=EIO", *SPECIAL.get(call, ())):
            yield f"{call}:{effect}:when={seen[call]}"


def test_a_new_session_removes_what_a_killed_one_left(runner: FaultRunner, tmp_path: Path) -> None:
    prepare(tmp_path, existing=True)
    runner.run("replace_existing", tmp_path, "renameat2:signal=KILL:when=1")
    assert len(temporary_files(tmp_path)) == 1
    make_workspace(tmp_path)
    assert os.listdir(tmp_path / "ws") == ["file"]
    assert os.listdir(tmp_path / "state" / FOLDER_NAME) == []


def test_a_failed_sync_is_told_and_not_tried_again(runner: FaultRunner, tmp_path: Path) -> None:
    prepare(tmp_path / "file", existing=True)
    refused = runner.run("replace_existing", tmp_path / "file", "fsync:error=EIO:when=1")
    assert (refused.code, refused.calls.count("fsync")) == (REFUSED, 1)
    assert temporary_files(tmp_path / "file") == []
    prepare(tmp_path / "folder", existing=True)
    unconfirmed = runner.run("replace_existing", tmp_path / "folder", "fsync:error=EIO:when=2")
    assert (unconfirmed.code, unconfirmed.calls.count("fsync")) == (UNCONFIRMED, 2)


_FULL_DISK = """
import errno, os, sys
from toolwright.files.boundary import Boundary
from toolwright.files.write import replace
from toolwright.processes.temp_files import TemporaryFolder

disk = sys.argv[1]
boundary = Boundary([disk], TemporaryFolder(disk + "/state"))
write = lambda data: replace(boundary, disk + "/file", lambda before: data, limit=1 << 20)
write(b"o" * 30_000)
open(disk + "/filler", "wb").write(b"x" * 16_384)
try:
    write(b"n" * 30_000)
except OSError as error:
    print(errno.errorcode[error.errno])
print(open(disk + "/file", "rb").read() == b"o" * 30_000, sorted(os.listdir(disk)))
os.unlink(disk + "/filler")
write(b"n" * 30_000)
print(open(disk + "/file", "rb").read() == b"n" * 30_000)
"""


def test_a_full_disk_leaves_the_old_file_and_works_again_once_there_is_room(tmp_path: Path) -> None:
    script = 'mount -t tmpfs -o size=64k none "$1" && exec "$2" -c "$3" "$1"'
    command = ["unshare", "-Urm", "sh", "-c", script, "sh", str(tmp_path), sys.executable, _FULL_DISK]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "unshare:" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no private disk here: {done.stderr.strip()}")
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["ENOSPC", "True ['file', 'filler', 'state']", "True"]
