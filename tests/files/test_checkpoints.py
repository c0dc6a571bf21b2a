"""Files as they were: kept before each change, put back on demand, and that taken back again."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from toolwright.base.workspace_errors import CheckpointError, UnknownPoint
from toolwright.files.checkpoints import FileHistory
from toolwright.files.rewind import Rewound
from toolwright.workspace import FileChanged, FileContent, ReadState, Workspace, WorkspaceError

pytestmark = pytest.mark.anyio


def lines_changed(old: bytes, new: bytes) -> tuple[int, int]:
    return new.count(b"\n"), old.count(b"\n")


class Tree:
    """A workspace with a history; `put` is what a tool does, everything else is done by hand."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.root = folder / "tree"
        self.root.mkdir(parents=True, exist_ok=True)
        self.kept = folder / "history/session"
        self.workspace = Workspace(str(self.root), env={}, state_dir=str(folder / "state"))
        self.workspace.history = FileHistory(str(self.kept), **settings)
        self.undos = 0

    def mark(self, point: str) -> None:
        self.workspace.mark(point)

    async def put(self, name: str, data: bytes) -> None:
        await self.workspace.replace_file(name, lambda before: data)

    async def rewind(self, point: str, *, dry: bool = False) -> Rewound:
        self.undos += 1
        undo = None if dry else f"undo-{os.getpid()}-{self.undos}"
        return await self.workspace.rewind(point, count=lines_changed, undo=undo)

    def path(self, name: str) -> str:
        return str(self.root / name)

    def state(self) -> dict[str, tuple[bytes, int]]:
        found = (path for path in self.root.rglob("*") if path.is_file())
        return {str(path.relative_to(self.root)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) for path in found}


def contents(tree: Tree) -> dict[str, bytes]:
    """By name; unfinished files of a killed process, which the next session removes, do not count."""
    return {name: data for name, (data, _) in tree.state().items() if not Path(name).name.startswith(".toolwright-")}


def run_python(program: str, *arguments: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


# putting back


async def test_edited_files_come_back_and_created_ones_go_with_their_folders(tree: Tree) -> None:
    (tree.root / "old.txt").write_bytes(b"one\n")
    (tree.root / "old.txt").chmod(0o640)
    before = tree.state()
    tree.mark("first")
    await tree.put("old.txt", b"two\n")
    await tree.put("old.txt", b"three\n")
    await tree.put("new/deep/file.txt", b"made\n")
    told = await tree.rewind("first")
    assert tree.state() == before
    assert [path.name for path in tree.root.iterdir()] == ["old.txt"]
    assert told.changed == [tree.path("old.txt"), tree.path("new/deep/file.txt")]
    assert (told.insertions, told.deletions) == (1, 2)
    assert (told.skipped_links, told.changed_by_hand, told.not_restored) == ([], [], {})


async def test_a_folder_with_somebody_elses_file_stays(tree: Tree) -> None:
    tree.mark("first")
    await tree.put("new/a.txt", b"made")
    (tree.root / "new/b.txt").write_bytes(b"theirs")
    await tree.rewind("first")
    assert list(tree.state()) == ["new/b.txt"]


async def test_the_folder_the_session_stands_in_stays(tree: Tree) -> None:
    tree.mark("first")
    await tree.put("new/deep/a.txt", b"made")
    assert tree.workspace.move_to(tree.path("new"))
    await tree.rewind("first")
    assert [path.name for path in tree.root.rglob("*")] == ["new"]


async def test_a_rewind_goes_back_to_its_point_and_not_further(tree: Tree) -> None:
    tree.mark("first")
    await tree.put("a.txt", b"1")
    tree.mark("nothing happens here")
    tree.mark("third")
    await tree.put("a.txt", b"3")
    await tree.put("b.txt", b"3")
    assert (await tree.rewind("nothing happens here")).changed == [tree.path("a.txt"), tree.path("b.txt")]
    assert {name: data for name, (data, _) in tree.state().items()} == {"a.txt": b"1"}
    assert (await tree.rewind("third")).changed == []
    await tree.rewind("first")
    assert tree.state() == {}


async def test_a_rewind_can_be_undone_and_that_too(tree: Tree) -> None:
    (tree.root / "kept.txt").write_bytes(b"0")
    tree.mark("first")
    await tree.put("kept.txt", b"1")
    await tree.put("made/here.txt", b"1")
    changed = tree.state()
    told = await tree.rewind("first")
    rewound = tree.state()
    assert told.undo is not None
    undone = await tree.rewind(told.undo)
    assert tree.state() == changed
    assert undone.undo is not None
    await tree.rewind(undone.undo)
    assert tree.state() == rewound
    assert not (tree.root / "made").exists()
    await tree.rewind(told.undo)
    assert tree.state() == changed


async def test_a_preview_tells_the_same_and_changes_nothing(tree: Tree) -> None:
    (tree.root / "old.txt").write_bytes(b"one\n")
    tree.mark("first")
    await tree.put("old.txt", b"two\n")
    await tree.put("new.txt", b"made\n")
    (tree.root / "new.txt").write_bytes(b"by hand\n")
    before, index = tree.state(), (tree.kept / "index.jsonl").read_bytes()
    told = await tree.rewind("first", dry=True)
    assert (tree.state(), (tree.kept / "index.jsonl").read_bytes()) == (before, index)
    real = await tree.rewind("first")
    assert told == replace(real, undo=None)
    assert told.changed_by_hand == [tree.path("new.txt")]


async def test_rewinding_twice_finds_nothing_to_do(tree: Tree) -> None:
    tree.mark("first")
    await tree.put("a.txt", b"1")
    await tree.rewind("first")
    index = (tree.kept / "index.jsonl").read_bytes()
    assert await tree.rewind("first") == Rewound()
    assert (tree.kept / "index.jsonl").read_bytes() == index


async def test_an_unknown_point_is_named(tree: Tree) -> None:
    tree.mark("first")
    for dry in (True, False):
        with pytest.raises(UnknownPoint, match="No file checkpoint found for message somewhere"):
            await tree.rewind("somewhere", dry=dry)


async def test_without_a_history_nothing_is_kept_and_nothing_rewound(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path), env={}, state_dir=str(tmp_path / "state"))
    workspace.mark("first")
    await workspace.replace_file("a.txt", lambda before: b"1")
    with pytest.raises(CheckpointError, match="File rewinding is not enabled"):
        await workspace.rewind("first", count=lines_changed, undo="x")


# what others did meanwhile


async def test_changes_by_hand_are_named_and_the_undo_brings_them_back(tree: Tree) -> None:
    for name in ("edited", "removed", "grown", "alone"):
        (tree.root / name).write_bytes(b"before")
    tree.mark("first")
    for name in ("edited", "removed", "grown"):
        await tree.put(name, b"ours")
    (tree.root / "edited").write_bytes(b"theirs")
    (tree.root / "removed").unlink()
    (tree.root / "alone").write_bytes(b"not ours to take back")
    by_hand = tree.state()
    told = await tree.rewind("first")
    assert told.changed_by_hand == [tree.path("edited"), tree.path("removed")]
    assert {data for data, _ in tree.state().values()} == {b"before", b"not ours to take back"}
    assert told.undo is not None
    await tree.rewind(told.undo)
    assert tree.state() == by_hand


async def test_a_file_put_back_by_hand_needs_nothing(tree: Tree) -> None:
    (tree.root / "a").write_bytes(b"before")
    tree.mark("first")
    await tree.put("a", b"ours")
    (tree.root / "a").write_bytes(b"before")
    assert await tree.rewind("first") == Rewound()


async def test_a_mode_changed_by_hand_comes_back(tree: Tree) -> None:
    (tree.root / "a").write_bytes(b"before")
    (tree.root / "a").chmod(0o750)
    tree.mark("first")
    await tree.put("a", b"ours")
    (tree.root / "a").unlink()
    await tree.rewind("first")
    assert tree.state() == {"a": (b"before", 0o750)}


async def test_links_are_skipped_and_named(tree: Tree, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"theirs")
    (tree.root / "inside").write_bytes(b"inside")
    for name in ("link", "made", "folder/file"):
        (tree.root / name).parent.mkdir(exist_ok=True)
        if name != "made":
            (tree.root / name).write_bytes(b"before")
    tree.mark("first")
    for name in ("link", "made", "folder/file"):
        await tree.put(name, b"ours")
    for name, target in (("link", "inside"), ("made", outside / "file")):
        (tree.root / name).unlink()
        (tree.root / name).symlink_to(target)
    (tree.root / "folder").rename(tree.root / "elsewhere")
    (tree.root / "folder").symlink_to(outside)
    told = await tree.rewind("first")
    assert told.skipped_links == [tree.path(name) for name in ("link", "made", "folder/file")]
    assert told.changed == []
    assert (outside / "file").read_bytes() == b"theirs"
    assert (tree.root / "inside").read_bytes() == b"inside"
    assert (tree.root / "elsewhere/file").read_bytes() == b"ours"


async def test_a_root_that_was_taken_back_is_left_alone(tree: Tree, tmp_path: Path) -> None:
    added = tmp_path / "added"
    added.mkdir()
    tree.workspace.add_directory(str(added))
    tree.mark("first")
    await tree.put(str(added / "a"), b"ours")
    tree.workspace.remove_directory(str(added))
    assert (await tree.rewind("first")).skipped_links == [str(added / "a")]
    assert (added / "a").read_bytes() == b"ours"


async def test_what_stands_in_the_way_is_named_and_the_others_come_back(tree: Tree) -> None:
    for name in ("a", "b/c", "d"):
        (tree.root / name).parent.mkdir(exist_ok=True)
        (tree.root / name).write_bytes(b"before")
    tree.mark("first")
    for name in ("a", "b/c", "d", "new/e"):
        await tree.put(name, b"ours")
    (tree.root / "a").unlink()
    (tree.root / "a").mkdir()
    for name, folder in (("b/c", "b"), ("new/e", "new")):
        (tree.root / name).unlink()
        (tree.root / folder).rmdir()
        (tree.root / folder).write_bytes(b"a file now")
    for dry in (True, False):
        told = await tree.rewind("first", dry=dry)
        assert told.changed == [tree.path("d")]
        assert "directory" in told.not_restored.pop(tree.path("a"))
        assert told.not_restored == {tree.path("b/c"): "Not a directory"}
    assert (tree.root / "d").read_bytes() == b"before"


async def test_a_change_that_failed_leaves_nothing_to_take_back(tree: Tree) -> None:
    tree.mark("first")

    def lose_the_race(before: FileContent | None) -> bytes:
        (tree.root / "a").write_bytes(b"theirs")
        return b"ours"

    with pytest.raises(FileChanged):
        await tree.workspace.replace_file("a", lose_the_race)
    assert (await tree.rewind("first")).changed == []
    assert (tree.root / "a").read_bytes() == b"theirs"


# what the session knows afterwards


async def test_the_session_knows_what_came_back_if_it_had_seen_it(tree: Tree) -> None:
    (tree.root / "seen").write_bytes(b"before")
    (tree.root / "unseen").write_bytes(b"before")
    reads = tree.workspace.reads

    def knowledge(name: str) -> ReadState:
        path = tree.root / name
        return reads.knowledge(str(path), path.stat(), path.read_bytes())

    await tree.workspace.with_file("seen", lambda file: reads.note(file.path, file.status, file.read_all(100)))
    tree.mark("first")
    for name in ("seen", "unseen"):
        await tree.put(name, b"ours")
    (tree.root / "seen").write_bytes(b"theirs")
    told = await tree.rewind("first")
    assert (knowledge("seen"), knowledge("unseen")) == (ReadState.CURRENT, ReadState.UNREAD)
    assert told.undo is not None
    await tree.rewind(told.undo)
    assert knowledge("seen") is ReadState.UNREAD


# sizes, disks, restarts


async def test_a_large_file_is_changed_without_a_copy_and_that_is_said(tmp_path: Path) -> None:
    tree = Tree(tmp_path, largest=10)
    (tree.root / "large").write_bytes(b"x" * 11)
    (tree.root / "small").write_bytes(b"x" * 10)
    tree.mark("first")
    await tree.put("large", b"ours")
    await tree.put("small", b"ours" * 20)
    told = await tree.rewind("first")
    assert told.not_restored == {tree.path("large"): "it had 11 bytes, too many to keep a copy of."}
    assert (tree.root / "small").read_bytes() == b"x" * 10
    assert told.undo is not None
    await tree.rewind(told.undo)
    assert (tree.root / "small").read_bytes() == b"ours" * 20, "an undo keeps what it replaces, whatever its size"


async def test_a_file_too_large_to_be_kept_for_an_undo_is_left_alone(tree: Tree) -> None:
    tree.mark("first")
    await tree.put("log", b"ours")
    os.truncate(tree.root / "log", 1 << 30)
    told = await tree.rewind("first")
    assert "holds more than" in told.not_restored[tree.path("log")]
    assert (tree.root / "log").stat().st_size == 1 << 30


async def test_a_change_that_cannot_be_kept_is_not_made(tree: Tree) -> None:
    (tree.root / "a").write_bytes(b"before")
    tree.kept.parent.mkdir()
    tree.kept.write_bytes(b"a file where the folder should be")
    tree.mark("first")
    for name in ("a", "new/b"):
        with pytest.raises(CheckpointError, match=r"Nothing was changed: what .* could not be kept for rewinding"):
            await tree.put(name, b"ours")
    assert [path.name for path in tree.root.iterdir()] == ["a"]
    assert (tree.root / "a").read_bytes() == b"before"
    tree.kept.unlink()
    await tree.put("a", b"ours")
    await tree.rewind("first")
    assert (tree.root / "a").read_bytes() == b"before"


FULL = """
import resource, sys
import anyio
from toolwright.workspace import Workspace
from toolwright.files.checkpoints import FileHistory

root, kept, state = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))  # larger files fail like on a full disk
workspace = Workspace(root, env={}, state_dir=state)
workspace.history = FileHistory(kept)
anyio.run(workspace.replace_file, "big", lambda before: b"small")
"""


async def test_a_full_disk_refuses_the_change_and_leaves_the_history_whole(tree: Tree, tmp_path: Path) -> None:
    (tree.root / "big").write_bytes(b"x" * 60_000)
    tree.mark("first")
    run = run_python(FULL, tree.root, tree.kept, tmp_path / "state")
    assert "CheckpointError: Nothing was changed" in run.stderr
    assert (tree.root / "big").read_bytes() == b"x" * 60_000
    await tree.put("big", b"small")
    await tree.rewind("first")
    assert (tree.root / "big").read_bytes() == b"x" * 60_000


async def test_only_the_owner_can_read_what_is_kept(tree: Tree) -> None:
    old = os.umask(0)
    try:
        (tree.root / "a").write_bytes(b"before")
        tree.mark("first")
        await tree.put("a", b"ours")
    finally:
        os.umask(old)
    files = list(tree.kept.iterdir())
    assert len(files) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tree.kept, tree.kept.parent)} == {0o700}


async def test_the_same_content_is_kept_once(tree: Tree) -> None:
    for number in range(5):
        (tree.root / f"{number}").write_bytes(b"the same")
    for point in ("first", "second"):
        tree.mark(point)
        for number in range(5):
            await tree.put(f"{number}", point.encode())
    assert len(list(tree.kept.iterdir())) == 1 + len({"the same", "first"})


async def test_another_process_goes_on_where_one_was_killed(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.mark("first")
    await tree.put("a", b"1")
    with (tree.kept / "index.jsonl").open("ab") as index:
        index.write(b'{"path": "/torn')
    (tree.kept / "incoming").write_bytes(b"half a file")
    later = Tree(tmp_path)
    later.mark("second")
    await later.put("a", b"2")
    await later.rewind("second")
    assert (tree.root / "a").read_bytes() == b"1"
    await later.rewind("first")
    assert later.state() == {}


async def test_damage_to_what_was_kept_is_found(tree: Tree) -> None:
    for name in ("a", "b"):
        (tree.root / name).write_bytes(name.encode())
    tree.mark("first")
    for name in ("a", "b"):
        await tree.put(name, b"ours")
    damaged, gone = sorted(path for path in tree.kept.iterdir() if path.name != "index.jsonl")
    damaged.write_bytes(b"?")
    gone.unlink()
    told = await tree.rewind("first")
    assert told.changed == []
    assert sorted(reason.partition(" (")[0] for reason in told.not_restored.values()) == [
        "its kept content cannot be read: No such file or directory",
        "its kept content is damaged",
    ]


KILLED = """
import os, signal, sys
import anyio
from toolwright.workspace import Workspace
from toolwright.files import rewind as rewinding
from toolwright.files.checkpoints import FileHistory

anyio.run(anyio.sleep, 0)  # loads what the children need
WATCHED = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.truncate", "ctypes.call_function"}

def rewind_and_die(folder, step):
    workspace = Workspace(folder + "/tree", env={}, state_dir=folder + "/state")
    workspace.history = FileHistory(folder + "/history/session")
    calls = 0

    def watch(event, given):
        nonlocal calls
        if event not in WATCHED:
            return
        calls += 1
        if calls == step:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    anyio.run(lambda: workspace.rewind("first", count=lambda old, new: (0, 0), undo="undo"))
    os._exit(0)

for folder in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        rewind_and_die(folder, int(os.path.basename(folder)))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the killing is done in children
async def test_a_rewind_killed_anywhere_leaves_each_file_old_or_restored_and_can_be_repeated(tmp_path: Path) -> None:
    before = {"a": b"before a", "b": b"before b"}
    folders = [tmp_path / str(step) for step in (*range(1, 31, 2), 10_000)]
    for folder in folders:
        tree = Tree(folder)
        for name, data in before.items():
            (tree.root / name).write_bytes(data)
        tree.mark("first")
        for name in ("a", "b", "made/c"):
            await tree.put(name, b"ours")
    run = run_python(KILLED, *folders)
    ends = run.stdout.split()
    assert ends.count("-9") > 5, run.stderr
    assert ends[-1] == "0", run.stderr
    for folder in folders:
        assert all(data in (b"ours", before.get(name)) for name, data in contents(Tree(folder)).items())
        told = await Tree(folder).rewind("first")
        assert contents(Tree(folder)) == before
        await Tree(folder).rewind(told.undo or "undo")
        assert contents(Tree(folder)) == dict.fromkeys(("a", "b", "made/c"), b"ours")


# the law

NAMES = ("a", "b", "d/c", "d/e/f")
CONTENTS = st.sampled_from([b"", b"1\n", b"2\n2\n", b"\xff\x00"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from(NAMES), CONTENTS),
        st.tuples(st.just("by hand"), st.sampled_from(NAMES), CONTENTS),
        st.tuples(st.just("remove"), st.sampled_from(NAMES), st.none()),
        st.tuples(st.just("mark"), st.none(), st.none()),
        st.tuples(st.just("rewind"), st.integers(0, 10), st.none()),
    ),
    max_size=25,
)


class Oracle:
    """The same story told by copies of everything: the whole tree before each change of the session's."""

    def __init__(self) -> None:
        self.story: list[tuple[str | None, set[str], dict[str, bytes]]] = []

    def at(self, point: str, now: dict[str, bytes]) -> dict[str, bytes]:
        wanted = dict(now)
        start = next(number for number, (name, _, _) in enumerate(self.story) if name == point)
        for _, names, before in reversed(self.story[start:]):
            for name in names:
                wanted.pop(name, None)
                wanted.update({name: before[name]} if name in before else {})
        return wanted


def by_hand(tree: Tree, name: str, data: bytes | None) -> None:
    path = tree.root / name
    if data is None:
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_rewinding_anywhere_equals_the_oracle_and_undoing_equals_the_state_before(steps: list[tuple[str, Any, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(play, Tree(Path(folder)), steps)


async def play(tree: Tree, steps: list[tuple[str, Any, Any]]) -> None:
    oracle, points = Oracle(), ["start"]
    tree.mark("start")
    oracle.story.append(("start", set(), {}))
    for kind, what, data in steps:
        now = contents(tree)
        if kind == "mark":
            points.append(f"point {len(points)}")
            tree.mark(points[-1])
            oracle.story.append((points[-1], set(), {}))
        elif kind == "put":
            oracle.story.append((None, {what}, now))
            await tree.put(what, data)
        elif kind == "rewind":
            await rewound(tree, oracle, points, points[what % len(points)])
        else:
            by_hand(tree, what, data)
    before = contents(tree)
    for point in list(points):
        undo = await rewound(tree, oracle, points, point)
        if undo is not None:
            await rewound(tree, oracle, points, undo)
        assert contents(tree) == before


async def rewound(tree: Tree, oracle: Oracle, points: list[str], point: str) -> str | None:
    now = contents(tree)
    wanted = oracle.at(point, now)
    told = await tree.rewind(point)
    assert contents(tree) == wanted
    changed = {name for name in now.keys() | wanted.keys() if now.get(name) != wanted.get(name)}
    assert changed == {os.path.relpath(path, tree.root) for path in told.changed}
    assert not told.not_restored
    if told.undo is not None:
        oracle.story.append((told.undo, set(), {}))
        oracle.story.append((None, changed, now))
        points.append(told.undo)
    return told.undo


def test_errors_are_errors_of_the_workspace() -> None:
    assert issubclass(CheckpointError, WorkspaceError)
    assert issubclass(UnknownPoint, WorkspaceError)
