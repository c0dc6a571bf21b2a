"""Glob and Grep on trees as they are found: large, deep, looping, unreadable, and full of things that are no files."""

from __future__ import annotations

import json
import os
import site
import socket
import subprocess
import tempfile
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from support_search import by_hand, regular_files
from support_tools import call, make_workspace, text_of
from toolwright.sandbox.backends.landlock_launcher import give_up_capabilities
from toolwright.workspace import Workspace

SITE_PACKAGES = site.getsitepackages()[0]
FOLDERS, FILES_IN_EACH = 100, 1000
MEMORY = "/dev/shm"


def answer(workspace: Workspace, name: str, **fields: Any) -> Any:
    async def work() -> Any:
        return await call(name, workspace, **fields)

    return anyio.run(work)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(SITE_PACKAGES, env={}, state_dir=str(tmp_path_factory.mktemp("state")))


@pytest.mark.parametrize(("mode", "option"), [("files_with_matches", "-l"), ("count", "-c"), ("content", "-n")])
def test_grep_finds_in_the_installed_packages_what_ripgrep_finds(packages: Workspace, mode: str, option: str) -> None:
    expected = by_hand(SITE_PACKAGES, option, "-e", r"def __\w+exit__", "./")
    output = answer(packages, "Grep", pattern=r"def __\w+exit__", output_mode=mode)
    shown = output.content.split("\n")
    assert len(expected) > 20
    assert expected[: len(shown) - 1] == shown[:-1]
    assert output.structured.get("totalLines", output.structured["totalFiles"]) == len(expected)


def test_glob_finds_every_file_of_the_installed_packages(packages: Workspace) -> None:
    files = regular_files(Path(SITE_PACKAGES))
    modules = answer(packages, "Glob", pattern="**/*.py").structured
    everything = answer(packages, "Glob", pattern="*").structured
    assert modules["totalMatches"] == sum(name.endswith(".py") for name in files)
    assert everything["totalMatches"] == len(files)
    times = [os.stat(name).st_mtime_ns for name in everything["filenames"]]
    assert times == sorted((os.stat(f"{SITE_PACKAGES}/{name}").st_mtime_ns for name in files), reverse=True)[:100]


@pytest.fixture
def roomy() -> Iterator[Path]:
    """A folder for very many files: in memory where that is to be had. Removed by a program, which is faster than Python."""
    folder = tempfile.mkdtemp(dir=MEMORY if os.path.isdir(MEMORY) else None)
    yield Path(folder)
    subprocess.run(["rm", "-rf", folder], check=True)


def test_a_hundred_thousand_files_cost_no_memory_and_are_all_counted(roomy: Path) -> None:
    workspace = make_workspace(roomy)
    plant_many(Path(workspace.home))
    newest = Path(workspace.home) / "f7/n7"
    os.utime(newest, (2_000_000_000, 2_000_000_000))
    tracemalloc.start()
    try:
        listed = answer(workspace, "Glob", pattern="**/n*")
        paged = answer(workspace, "Grep", pattern="needle", head_limit=10, offset=5)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert listed.structured["totalMatches"] == FOLDERS * FILES_IN_EACH
    assert listed.structured["filenames"][0] == str(newest)
    expected = sorted(f"f{number}/n0" for number in range(FOLDERS))[5:15]
    assert paged.content.split("\n") == [*expected, f"[files 6-15 of {FOLDERS}; continue with offset=15]"]
    assert peak < 6_000_000


def plant_many(root: Path) -> None:
    for folder in range(FOLDERS):
        (root / f"f{folder}").mkdir()
        descriptor = os.open(root / f"f{folder}", os.O_RDONLY)
        for number in range(FILES_IN_EACH):
            os.close(os.open(f"n{number}", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
        os.close(descriptor)
        (root / f"f{folder}/n0").write_text("needle\n")


def test_a_file_a_thousand_folders_down_is_found(roomy: Path) -> None:
    workspace = make_workspace(roomy)
    descriptor = os.open(workspace.home, os.O_RDONLY)
    for _ in range(1000):
        os.mkdir("d", dir_fd=descriptor)
        deeper = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = deeper
    file = os.open("bottom.txt", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor)
    os.write(file, b"needle\n")
    os.close(file)
    os.close(descriptor)
    path = "d/" * 1000 + "bottom.txt"
    assert answer(workspace, "Grep", pattern="needle").content == path
    assert answer(workspace, "Glob", pattern="**/bottom.txt").content == path
    assert answer(workspace, "Glob", pattern="d/**/d/*.txt").content == path


@pytest.fixture
def odd(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path)


@pytest.mark.anyio
async def test_loops_of_links_end_and_links_are_not_listed(odd: Workspace) -> None:
    root = Path(odd.home)
    (root / "a").mkdir()
    (root / "a/file").write_text("needle\n")
    (root / "a/up").symlink_to("..")
    (root / "self").symlink_to("self")
    (root / "ping").symlink_to("pong")
    (root / "pong").symlink_to("ping")
    (root / "gone").symlink_to("nowhere")
    assert await text_of("Glob", odd, pattern="**") == "a/file"
    assert await text_of("Grep", odd, pattern="needle") == "a/file"
    assert await text_of("Grep", odd, pattern="needle", path="a/up/a/up/a/file") == "a/file"
    output = await call("Grep", odd, pattern="needle", path="self")
    assert output.is_error


@pytest.mark.anyio
async def test_fifos_sockets_and_devices_are_passed_by(odd: Workspace) -> None:
    root = Path(odd.home)
    os.mkfifo(root / "fifo")
    if os.geteuid() == 0:
        os.mknod(root / "endless", 0o020666, os.makedev(1, 5))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(root / "socket"))
        (root / "file").write_text("needle\n")
        assert await text_of("Glob", odd, pattern="*") == "file"
        assert await text_of("Grep", odd, pattern="needle|", output_mode="count") == "file:1"
        for path in ("fifo", "socket"):
            assert (await call("Grep", odd, pattern="x", path=path)).is_error
            assert (await call("Glob", odd, pattern="*", path=path)).is_error


def as_somebody_without_rights(work: Callable[[], Awaitable[Any]]) -> Any:
    """Do `work` in a child process that may be refused things. Root stays root, so that it gets to ripgrep, but has no say."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                give_up_capabilities()
            os.write(writer, json.dumps(anyio.run(work)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as stream:
        told = stream.read()
    os.waitpid(child, 0)
    return json.loads(told)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_unreadable_folders_are_told_and_the_rest_is_found() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        root = Path(folder) / "ws"
        for name in ("open", *(f"closed-{number:03}-with-a-long-name-that-fills-what-is-kept" for number in range(200))):
            (root / name).mkdir(parents=True)
            (root / name / "file").write_text("needle\n")
            (root / name).chmod(0o000 if name.startswith("closed") else 0o755)
        (root / "open/shut").write_text("needle\n")
        (root / "open/shut").chmod(0o000)
        workspace = Workspace(str(root), env={}, state_dir=f"{folder}/state")

        async def both() -> list[str]:
            return [str((await call(name, workspace, pattern=pattern)).content) for name, pattern in SEARCHES]

        grep, glob = as_somebody_without_rights(both)
        for closed in root.glob("closed*"):
            closed.chmod(0o755)
    assert grep.startswith("open/file\n[")
    assert "or more entries could not be read, the first: ./" in grep
    assert "Permission denied" in grep
    assert sorted(glob.split("\n")[:2]) == ["open/file", "open/shut"]
    assert "or more entries could not be read" in glob


SEARCHES = (("Grep", "needle"), ("Glob", "**"))
