"""What decisions about commands learn of the machine, on real files and repositories."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support_hostile_repositories import TRAPS
from toolwright.permissions.session.filesystem_facts import MACHINE_FILES, MAX_MATCHES
from toolwright.processes.git_environment import git_environment

JUDGED = json.loads((Path(__file__).parents[1] / "data" / "judged_commands.json").read_text())


def git(*arguments: str, cwd: Path) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder = tmp_path / "repo"
    folder.mkdir()
    git("init", "-q", cwd=folder)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=folder)
    return folder


def test_both_ends_of_a_link(tmp_path: Path) -> None:
    real = tmp_path.resolve()
    (real / "link").symlink_to("/etc")
    assert MACHINE_FILES.spellings(f"{real}/link/passwd") == ("/etc/passwd", f"{real}/link/passwd")
    assert MACHINE_FILES.spellings(f"{real}/new") == (f"{real}/new",)


def test_patterns(tmp_path: Path) -> None:
    for name in ("a.py", "b.py", ".hidden.py"):
        (tmp_path / name).touch()
    assert sorted(MACHINE_FILES.matching(f"{tmp_path}/*.py") or ()) == [f"{tmp_path}/a.py", f"{tmp_path}/b.py"]
    assert MACHINE_FILES.matching(f"{tmp_path}/[ab].py") is None
    for number in range(MAX_MATCHES):
        (tmp_path / f"{number}.py").touch()
    assert MACHINE_FILES.matching(f"{tmp_path}/*.py") is None


def test_what_a_folder_holds(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / ".env").touch()
    assert MACHINE_FILES.holds(str(tmp_path), lambda path: path.endswith("/.env")) is True
    assert MACHINE_FILES.holds(str(tmp_path), lambda path: False) is False


def fsmonitor(folder: Path) -> None:
    git("config", "core.fsmonitor", "./evil", cwd=folder)


def text_conversion(folder: Path) -> None:
    git("config", "diff.x.textconv", "./evil", cwd=folder)


def worktree_config(folder: Path) -> None:
    git("config", "extensions.worktreeConfig", "true", cwd=folder)
    (folder / ".git" / "config.worktree").write_text("[core]\n\tfsmonitor = ./evil\n")


def index_hook(folder: Path) -> None:
    (folder / ".git" / "hooks").mkdir(exist_ok=True)
    (folder / ".git" / "hooks" / "post-index-change").write_text("#!/bin/sh\n")


@pytest.mark.parametrize("change", [fsmonitor, text_conversion, worktree_config, index_hook])
def test_a_repository_that_names_programs_is_not_plain(repository: Path, change: Callable[[Path], None]) -> None:
    (repository / "sub").mkdir()
    assert MACHINE_FILES.git_is_plain(str(repository / "sub"))
    change(repository)
    assert not MACHINE_FILES.git_is_plain(str(repository / "sub"))


@pytest.mark.parametrize("text", JUDGED["hostile_configs"])
def test_a_configuration_that_may_name_a_program_is_not_plain(repository: Path, text: str) -> None:
    config = repository / ".git" / "config"
    config.write_text(text if text.startswith("fsmonitor") else config.read_text() + text)
    assert not MACHINE_FILES.git_is_plain(str(repository))


@pytest.mark.parametrize("text", ["", "# x\n", "[user]\n\tname = a\\\n\tb\n", '[submodule "a"]\n\tactive = true\n'])
def test_a_configuration_that_names_none_is_plain(repository: Path, text: str) -> None:
    with (repository / ".git" / "config").open("a") as config:
        config.write(text)
    assert MACHINE_FILES.git_is_plain(str(repository))


def test_a_bare_repository_inside_the_folder_is_never_plain(repository: Path) -> None:
    git("init", "-q", "--bare", "nested", cwd=repository)
    assert not MACHINE_FILES.git_is_plain(str(repository / "nested"))
    assert MACHINE_FILES.git_is_plain(str(repository))


def test_no_repository_at_all_is_plain(tmp_path: Path) -> None:
    assert MACHINE_FILES.git_is_plain(str(tmp_path))
    assert not MACHINE_FILES.git_is_plain(str(tmp_path / "missing"))


STOPPED_BY_ENVIRONMENT = frozenset(
    "fsmonitor hooks-path hook signature alternates worktree-config linked-worktree submodule-of-submodule".split()  # noqa: SIM905
)


@pytest.mark.parametrize("name", TRAPS)
def test_hostile_repositories_are_not_plain(tmp_path: Path, name: str) -> None:
    trap = TRAPS[name](tmp_path)
    where = re.match(r"cd (docs|tree) && ", trap.springs_on)
    folder = str(trap.folder / where[1] if where else trap.folder)
    assert not MACHINE_FILES.git_is_plain(folder)
    assert MACHINE_FILES.git_is_plain(folder, caged=True) is (name in STOPPED_BY_ENVIRONMENT)
    if name in STOPPED_BY_ENVIRONMENT:
        safe = git_environment({"PATH": os.environ["PATH"]}, looking=True)
        trap.reset()
        subprocess.run(["bash", "-c", trap.springs_on], cwd=trap.folder, env=safe, check=True, capture_output=True)
        assert not trap.canary.exists()


def test_what_is_remembered_is_forgotten_with_any_change(repository: Path) -> None:
    config = repository / ".git" / "config"
    plain = config.read_text()
    for _ in range(3):
        assert MACHINE_FILES.git_is_plain(str(repository))
        config.write_text(plain.replace("bare = false", "pager = evi"))
        assert not MACHINE_FILES.git_is_plain(str(repository))
        config.write_text(plain)
    time.sleep(0.2)
    assert MACHINE_FILES.git_is_plain(str(repository))
    config.write_text(plain.replace("bare = false", "pager = evi"))
    assert not MACHINE_FILES.git_is_plain(str(repository))


def test_a_submodule_that_comes_later_counts(repository: Path) -> None:
    time.sleep(0.2)
    assert MACHINE_FILES.git_is_plain(str(repository))
    git("init", "-q", "sub", cwd=repository)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=repository / "sub")
    fsmonitor(repository / "sub")
    assert MACHINE_FILES.git_is_plain(str(repository))
    git("add", "sub", cwd=repository)
    assert not MACHINE_FILES.git_is_plain(str(repository))


def test_tracked_files(repository: Path) -> None:
    def is_env(path: str) -> bool:
        return path == f"{repository.resolve()}/a/.env"

    assert not MACHINE_FILES.git_tracks(str(repository), is_env)
    (repository / "a").mkdir()
    (repository / "a" / ".env").touch()
    git("add", ".", cwd=repository)
    assert MACHINE_FILES.git_tracks(str(repository), is_env)
    assert MACHINE_FILES.git_tracks(str(repository / "a"), is_env)
    git("update-index", "--split-index", cwd=repository)
    assert MACHINE_FILES.git_tracks(str(repository), is_env)
    (repository / ".git" / "index").write_text("nonsense")
    assert MACHINE_FILES.git_tracks(str(repository), lambda path: False)


def test_a_worktree_is_judged_by_the_repository_it_belongs_to(repository: Path) -> None:
    git("worktree", "add", "-q", "../other", cwd=repository)
    assert MACHINE_FILES.git_is_plain(str(repository.parent / "other"))
    fsmonitor(repository)
    assert not MACHINE_FILES.git_is_plain(str(repository.parent / "other"))


def test_a_forged_pointer_is_not_plain(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("nonsense")
    assert not MACHINE_FILES.git_is_plain(str(tmp_path))
