"""What git answers about repositories, and what becomes of answers that cannot be relied on."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolwright.processes import git_queries
from toolwright.processes.git_queries import GitError, config_keys, find_repository


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", "repository"], cwd=tmp_path, check=True)
    return (tmp_path / "repository").resolve()


@pytest.fixture
def other_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A program that stands in for git."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").touch()
    (folder / "git").chmod(0o755)
    monkeypatch.setattr(git_queries, "_PLACES", (str(folder),))
    git_queries._program.cache_clear()
    yield folder / "git"
    git_queries._program.cache_clear()


def test_where_a_repository_is(repository: Path) -> None:
    (repository / "sub").mkdir()
    found = find_repository(str(repository / "sub"))
    assert found is not None
    assert found.tree == str(repository)
    assert found.own == found.common == f"{repository}/.git"
    assert {"core.bare", "core.filemode"} <= set(config_keys(found))


def test_no_repository(tmp_path: Path) -> None:
    assert find_repository(str(tmp_path)) is None


def test_whoever_owns_it(repository: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    for path in (repository, repository / ".git"):
        os.chown(path, 12345, 12345)
    assert find_repository(str(repository)) is not None


@pytest.mark.parametrize("text", ["gitdir: nowhere\n", "nonsense"])
def test_a_pointer_to_nothing_is_no_answer(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text)
    with pytest.raises(GitError):
        find_repository(str(tmp_path))


def test_a_line_break_in_a_path_is_no_answer(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "a\nb"], cwd=tmp_path, check=True)
    with pytest.raises(GitError, match="clearly"):
        find_repository(str(tmp_path / "a\nb"))


def test_a_configuration_that_never_ends_is_no_answer(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_queries, "TIMEOUT", 0.2)
    (repository / ".git" / "config").unlink()
    os.mkfifo(repository / ".git" / "config")
    assert stat.S_ISFIFO((repository / ".git" / "config").stat().st_mode)
    with pytest.raises(GitError, match="too long"):
        find_repository(str(repository))


@pytest.mark.parametrize("script", ["sleep 5", "yes", "exec >&- 2>&-; sleep 5", "yes >&2"])
def test_a_git_that_does_not_end_or_says_too_much_is_ended(
    repository: Path, other_git: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_queries, "TIMEOUT", 0.5)
    monkeypatch.setattr(git_queries, "MAX_ANSWER_SIZE", 100_000)
    other_git.write_text(f"#!/bin/sh\n{script.replace('sleep', 'exec sleep')}\n")
    with pytest.raises(GitError, match="too long"):
        find_repository(str(repository))


def test_without_git_there_is_no_answer(repository: Path, other_git: Path) -> None:
    other_git.unlink()
    with pytest.raises(GitError, match="not installed"):
        find_repository(str(repository))


def test_a_git_of_the_workspace_is_never_asked(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = repository / "git"
    planted.write_text(f"#!/bin/sh\ntouch {tmp_path}/CANARY\n")
    planted.chmod(0o755)
    monkeypatch.setenv("PATH", f"{repository}:{os.environ['PATH']}")
    monkeypatch.chdir(repository)
    assert find_repository(str(repository)) is not None
    assert not (tmp_path / "CANARY").exists()
