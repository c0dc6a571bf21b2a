"""The git preferences that commands get: who commits, but no credentials."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from toolwright.sandbox.git_identity import PROGRAMS, git_identity

pytestmark = pytest.mark.skipif(not any(Path(each).exists() for each in PROGRAMS), reason="git is not installed")
SECRET = "t0ken"
CONFIG = f"""\
[user]
    name = Ada "the \\"first\\"" \\\\ Lovelace
    email = ada@example.com
    signingKey = {SECRET}
[init]
    defaultBranch = trunk
[safe]
    directory = /one
    directory = /two
[core]
    autocrlf
    excludesFile = ~/.gitignore_global
    sshCommand = ssh -i {SECRET}
    fsmonitor = {SECRET}
    hooksPath = {SECRET}
[credential]
    helper = "!echo {SECRET}"
[http]
    extraHeader = Authorization: {SECRET}
[url "https://{SECRET}@example.com/"]
    insteadOf = https://example.com/
[alias]
    x = !echo {SECRET}
[include]
    path = more
[github]
    token = {SECRET}
"""


def read(path: Path, *arguments: str) -> list[str]:
    done = subprocess.run(
        ["git", "config", "--file", str(path), *arguments], capture_output=True, text=True, check=True, cwd=path.parent
    )
    return done.stdout.splitlines()


def test_identity_and_preferences_come_through_as_they_were(tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text(CONFIG)
    result = tmp_path / "result"
    result.write_bytes(git_identity(str(tmp_path)))
    for key in ("user.name", "user.email", "init.defaultBranch", "safe.directory", "core.excludesFile"):
        assert read(result, "--get-all", key) == read(tmp_path / ".gitconfig", "--get-all", key)
    assert read(result, "--bool", "core.autocrlf") == ["true"]


def test_nothing_that_can_hold_a_credential_comes_through(tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text(CONFIG)
    (tmp_path / "more").write_text(f"[user]\n  name = {SECRET}\n")
    assert SECRET.encode() not in git_identity(str(tmp_path))


def test_both_files_count_and_the_one_in_the_home_wins(tmp_path: Path) -> None:
    (tmp_path / ".config/git").mkdir(parents=True)
    (tmp_path / ".config/git/config").write_text("[user]\n name = Other\n email = other@example.com\n")
    (tmp_path / ".gitconfig").write_text("[user]\n name = Ada\n")
    result = tmp_path / "result"
    result.write_bytes(git_identity(str(tmp_path)))
    assert read(result, "user.name") == ["Ada"]
    assert read(result, "user.email") == ["other@example.com"]


def test_a_change_is_seen(tmp_path: Path) -> None:
    config = tmp_path / ".gitconfig"
    config.write_text("[user]\n name = Ada\n")
    assert b"Ada" in git_identity(str(tmp_path))
    config.write_text("[user]\n name = Grace H.\n")
    assert b"Grace H." in git_identity(str(tmp_path))


@pytest.mark.parametrize("content", ["[user\n name = x", "\0\0", ""])
def test_a_broken_file_says_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / ".gitconfig").write_text(content)
    assert git_identity(str(tmp_path)) == b""


def test_a_home_without_a_configuration_says_nothing(tmp_path: Path) -> None:
    assert git_identity(str(tmp_path)) == b""


def test_a_file_that_is_not_readable_in_a_home_is_not_named(tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text("[core]\n excludesFile = ~/.ssh/id\n")
    assert git_identity(str(tmp_path)) == b""
