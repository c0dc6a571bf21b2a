from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support_tools import make_workspace
from toolwright.processes.temp_files import FOREIGN_TIMEOUT, MAX_KEPT, Owner, TemporaryFolder, temporary_name

pytestmark = pytest.mark.anyio


@pytest.fixture
def ended() -> Owner:
    """A process that is no more."""
    text = "from toolwright.processes.temp_files import Owner; o = Owner.this_process(); print(o.namespace, o.pid, o.started)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return Owner(*map(int, done.stdout.split()))


def temporaries(tmp_path: Path) -> TemporaryFolder:
    return TemporaryFolder(str(tmp_path / "state"))


def unfinished(tmp_path: Path, owner: Owner) -> tuple[Path, Path]:
    """A file that `owner` did not finish, and the note of it."""
    file = tmp_path / temporary_name()
    file.write_bytes(b"half")
    folder = Path(temporaries(tmp_path).path)
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / owner.new_name("write")
    note.symlink_to(file)
    return file, note


def test_what_a_living_process_has_not_finished_stays(tmp_path: Path) -> None:
    file, note = unfinished(tmp_path, Owner.this_process())
    temporaries(tmp_path).sweep()
    assert file.exists()
    assert note.is_symlink()


def test_what_an_ended_process_left_goes(tmp_path: Path, ended: Owner) -> None:
    file, note = unfinished(tmp_path, ended)
    scratch = Path(temporaries(tmp_path).path) / ended.new_name("scratch")
    scratch.mkdir()
    (scratch / "output-1.txt").write_bytes(b"long")
    temporaries(tmp_path).sweep()
    assert not file.exists()
    assert not note.is_symlink()
    assert not scratch.exists()


def test_a_new_process_of_the_same_number_is_another_one(tmp_path: Path) -> None:
    own = Owner.this_process()
    file, _ = unfinished(tmp_path, Owner(own.namespace, own.pid, own.started - 1))
    temporaries(tmp_path).sweep()
    assert not file.exists()


def test_a_process_of_another_container_is_given_time(tmp_path: Path) -> None:
    foreign = Owner(1, 1, 1)
    young, _ = unfinished(tmp_path, foreign)
    old, note = unfinished(tmp_path, foreign)
    long_ago = time.time() - FOREIGN_TIMEOUT - 10
    os.utime(note, (long_ago, long_ago), follow_symlinks=False)
    temporaries(tmp_path).sweep()
    assert young.exists()
    assert not old.exists()


def test_a_forged_note_removes_nothing_but_temporary_files_of_ours(tmp_path: Path, ended: Owner) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"x")
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / ".toolwright-0123456789abcdef.tmp").write_bytes(b"x")
    (tmp_path / "link").symlink_to("real")
    folder = Path(temporaries(tmp_path).path)
    folder.mkdir(parents=True)
    for target in (precious, tmp_path / "link/.toolwright-0123456789abcdef.tmp", tmp_path, "/nothing/at/all"):
        (folder / ended.new_name("write")).symlink_to(target)
    (folder / "somebody-elses").write_bytes(b"x")
    temporaries(tmp_path).sweep()
    assert precious.exists()
    assert (tmp_path / "real/.toolwright-0123456789abcdef.tmp").exists()
    assert (folder / "somebody-elses").exists()


def test_a_forged_note_of_commands_ends_nobody(tmp_path: Path, ended: Owner) -> None:
    folder = Path(temporaries(tmp_path).path)
    folder.mkdir(parents=True)
    bystander = subprocess.Popen(["/bin/bash", "-c", "ulimit -S -x 7; exec sleep 1000"])
    try:
        for session in ("0", "1", "none", "9" * 40):
            (folder / f"commands-{ended.namespace}-{ended.pid}-{ended.started}-{session}").write_bytes(b"")
        temporaries(tmp_path).sweep()
        assert os.listdir(folder) == []
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_the_folder_of_notes_is_private(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        note = temporaries(tmp_path).draft("/somewhere").note
    finally:
        os.umask(old)
    assert note is not None
    folder = Path(note).parent
    assert [folder.stat().st_mode & 0o777, folder.parent.stat().st_mode & 0o777] == [0o700, 0o700]


def test_a_note_tells_where_the_unfinished_file_is(tmp_path: Path) -> None:
    draft = temporaries(tmp_path).draft("/somewhere")
    assert draft.note is not None
    assert os.readlink(draft.note) == f"/somewhere/{draft.name}"


def test_one_folder_needs_one_note_however_often_it_is_written_to(tmp_path: Path) -> None:
    folder = temporaries(tmp_path)
    first = folder.draft("/a")
    second = folder.draft("/a")
    assert first.name != second.name
    folder.keep(first)
    folder.keep(second)
    assert folder.draft("/a") is first
    assert folder.draft("/b") not in (first, second)
    assert len(os.listdir(folder.path)) == 2


def test_many_folders_do_not_need_many_notes(tmp_path: Path) -> None:
    folder = temporaries(tmp_path)
    for number in range(3 * MAX_KEPT):
        folder.keep(folder.draft(f"/{number}"))
    assert len(os.listdir(folder.path)) == MAX_KEPT
    assert folder.draft(f"/{3 * MAX_KEPT - 1}").is_noted
    assert len(os.listdir(folder.path)) == MAX_KEPT


def test_a_note_that_somebody_removed_is_made_again(tmp_path: Path) -> None:
    folder = temporaries(tmp_path)
    draft = folder.draft("/a")
    folder.keep(draft)
    shutil.rmtree(folder.path)
    again = folder.draft("/a")
    assert again is not draft
    assert again.is_noted


_FORK = """
import os, sys
from toolwright.processes.temp_files import Owner, TemporaryFolder

folder = TemporaryFolder(sys.argv[1])
folder.keep(folder.draft("/a"))
folder.keep(draft := folder.draft("/b"))
child = os.fork()
if child == 0:
    own = folder.draft("/a")
    print(Owner.of(os.path.basename(own.note)) == Owner.this_process(), own.is_noted, draft.is_noted, flush=True)
    folder.forget_drafts()
else:
    os.waitpid(child, 0)
    print(draft.is_noted)
"""


def test_a_fork_makes_notes_of_its_own_and_leaves_those_of_its_parent(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _FORK, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["True", "True", "False", "True"], "")


async def test_a_session_that_ends_takes_its_notes_back(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    for name in ("one", "two", "deeper/three"):
        await workspace.replace_file(name, lambda before: b"content")
    folder = temporaries(tmp_path).path
    assert len(os.listdir(folder)) == 2
    await workspace.close()
    assert os.listdir(folder) == []


async def test_a_name_of_ours_that_somebody_took_stays_theirs(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    await workspace.replace_file("file", lambda before: b"one")
    (note,) = Path(temporaries(tmp_path).path).iterdir()
    taken = note.readlink()
    taken.write_bytes(b"theirs")
    await workspace.replace_file("file", lambda before: b"two")
    assert (tmp_path / "ws/file").read_bytes() == b"two"
    assert taken.read_bytes() == b"theirs"
    assert sorted(os.listdir(tmp_path / "ws")) == sorted(["file", taken.name])


async def test_a_write_goes_on_where_no_note_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(b"a file, no folder")
    workspace = make_workspace(tmp_path)
    await workspace.replace_file("new", lambda before: b"content")
    assert (tmp_path / "ws/new").read_bytes() == b"content"


async def test_spilled_output_of_a_killed_session_goes_when_the_next_one_starts(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    program = (
        "import anyio, os, sys\n"
        "from toolwright.workspace import Workspace\n"
        "workspace = Workspace(sys.argv[1] + '/ws', env={}, state_dir=sys.argv[1] + '/state')\n"
        "result = anyio.run(workspace.commands.run, 'head -c 100000 /dev/zero')\n"
        "print(result.output.saved_to, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False)
    saved = Path(done.stdout.strip())
    assert saved.exists()
    assert saved.stat().st_mode & 0o777 == 0o600
    make_workspace(tmp_path)
    assert not saved.parent.exists()
