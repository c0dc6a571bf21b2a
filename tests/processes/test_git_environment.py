"""git in the environment of commands: the real git, judged by what ran."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from toolwright.processes.git_environment import FOR_EVERY_COMMAND, FOR_LOOKING, git_environment

OWN = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.com",
}
SIGNER = """#!/bin/sh
cat > /dev/null
printf '\\n[GNUPG:] SIG_CREATED \\n' >&2
printf -- '-----BEGIN PGP SIGNATURE-----\\nx\\n-----END PGP SIGNATURE-----\\n'
"""


class Repository:
    """A repository with one commit, and a program that leaves a mark when it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "repository"
        self.mark = folder / "mark"
        self.program = self.script(folder / "program", f"#!/bin/sh\necho x >> {self.mark}\n")
        self.folder.mkdir()
        self.git("init", "-q")
        (self.folder / "file").write_text("one\n")
        self.git("add", ".")
        self.git("commit", "-qm", "one")

    def script(self, path: Path, text: str) -> Path:
        path.write_text(text)
        path.chmod(0o755)
        return path

    def run(self, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *words],
            cwd=self.folder,
            env=OWN | (env or {}),
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=30,
        )

    def git(self, *words: str, env: dict[str, str] | None = None) -> str:
        done = self.run(*words, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def runs_something(self, *words: str, env: dict[str, str]) -> bool:
        self.mark.unlink(missing_ok=True)
        self.run(*words, env=env)
        return self.mark.exists()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_what_the_caller_has_stays_before_ours() -> None:
    given = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "me", "A": "b"}
    made = git_environment(given, looking=False)
    assert given.items() - made.items() == {("GIT_CONFIG_COUNT", "1")}
    assert made["GIT_CONFIG_COUNT"] == str(1 + len(FOR_EVERY_COMMAND))
    assert made["GIT_CONFIG_KEY_1"] == next(iter(FOR_EVERY_COMMAND))


@pytest.mark.parametrize("count", ["", "-1", " 2", "x", "1_0", "٣", "9" * 5000])
def test_a_count_that_is_no_number_counts_as_none(count: str) -> None:
    assert git_environment({"GIT_CONFIG_COUNT": count}, looking=False)["GIT_CONFIG_COUNT"] == str(len(FOR_EVERY_COMMAND))


@pytest.mark.parametrize("looking", [False, True])
def test_git_itself_reads_every_one_of_them(repository: Repository, looking: bool) -> None:
    shown = repository.git("config", "--list", "--show-scope", "-z", env=git_environment({}, looking=looking)).split("\0")
    read = dict(entry.split("\n", 1) for scope, entry in zip(shown[::2], shown[1::2], strict=False) if scope == "command")
    wanted = FOR_LOOKING if looking else FOR_EVERY_COMMAND
    assert read == {name.lower(): value for name, value in wanted.items()}


@pytest.mark.parametrize("looking", [False, True])
def test_no_fsmonitor_runs_neither_here_nor_in_a_submodule(repository: Repository, looking: bool) -> None:
    repository.git("-c", "protocol.file.allow=always", "clone", "-q", str(repository.folder), "module")
    repository.git("add", "module")
    for folder in (".", "module"):
        repository.git("-C", folder, "config", "core.fsmonitor", str(repository.program))
    for words in (["status"], ["diff"], ["-C", "module", "status"], ["describe", "--always", "--dirty"]):
        assert repository.runs_something(*words, env={})
        assert not repository.runs_something(*words, env=git_environment({}, looking=looking))


@pytest.mark.parametrize("looking", [False, True])
def test_an_embedded_bare_folder_is_no_repository(repository: Repository, looking: bool) -> None:
    repository.git("clone", "-q", "--bare", ".", "bare")
    repository.git("-C", "bare", "config", "alias.run", f"!{repository.program}")
    assert repository.runs_something("-C", "bare", "run", env={})
    assert not repository.runs_something("-C", "bare", "run", env=git_environment({}, looking=looking))


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (("log.showSignature=true", "gpg.program=PROGRAM"), ["log"]),
        (("gpg.program=PROGRAM",), ["log", "--format=%G?"]),
        (("gpg.openpgp.program=PROGRAM",), ["log", "--show-signature"]),
        (("core.alternateRefsCommand=PROGRAM",), ["rev-list", "--count", "--all", "--alternate-refs"]),
        (("core.editor=PROGRAM",), ["config", "--edit", "--local"]),
        (("core.sshCommand=PROGRAM", "remote.r.url=ssh://host.invalid/x", "protocol.ssh.allow=always"), ["ls-remote", "r"]),
        (("remote.r.url=ext::PROGRAM", "protocol.ext.allow=always"), ["ls-remote", "r"]),
        (("remote.r.url=.", "remote.r.uploadpack=PROGRAM", "protocol.file.allow=always"), ["ls-remote", "r"]),
        (("alias.x=!PROGRAM", "core.hooksPath=HOOKS"), ["status"]),
    ],
)
def test_looking_runs_no_program_of_the_repository(repository: Repository, keys: tuple[str, ...], words: list[str]) -> None:
    _sign_a_commit(repository)
    repository.git("clone", "-q", "--bare", ".", "../other.git")
    (repository.folder / ".git/objects/info/alternates").write_text(f"{repository.folder.parent}/other.git/objects\n")
    hooks = repository.folder.parent / "hooks"
    hooks.mkdir()
    (hooks / "post-index-change").symlink_to(repository.program)
    for key in keys:
        name, value = key.replace("PROGRAM", str(repository.program)).replace("HOOKS", str(hooks)).split("=", 1)
        repository.git("config", name, value)
    (repository.folder / "file").touch()
    assert repository.runs_something(*words, env={})
    (repository.folder / "file").touch()
    assert not repository.runs_something(*words, env=git_environment({}, looking=True))


@pytest.mark.parametrize("looking", [False, True])
def test_a_remote_of_a_partial_clone_runs_nothing(repository: Repository, looking: bool) -> None:
    repository.git("config", "uploadpack.allowFilter", "true")
    repository.git("-c", "protocol.file.allow=always", "clone", "-q", "--no-local", "--filter=blob:none", "-n", ".", "partial")
    repository.git("-C", "partial", "config", "remote.origin.uploadpack", f"{repository.program};false")
    assert repository.runs_something("-C", "partial", "show", env={})
    assert repository.runs_something("-C", "partial", "show", env=git_environment({}, looking=looking)) is not looking


def _sign_a_commit(repository: Repository) -> None:
    signer = repository.script(repository.folder.parent / "signer", SIGNER)
    repository.git("-c", f"gpg.program={signer}", "commit", "-q", "--allow-empty", "-S", "-m", "signed")


def test_variables_that_name_a_program_are_dropped_for_looking(repository: Repository) -> None:
    given = {"GIT_EXTERNAL_DIFF": str(repository.program), "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={repository.program}'"}
    (repository.folder / "file").write_text("two\n")
    assert repository.runs_something("diff", env=git_environment(given, looking=False))
    assert not repository.runs_something("diff", env=git_environment(given, looking=True))


def test_looking_shows_what_it_always_shows(repository: Repository) -> None:
    _sign_a_commit(repository)
    repository.git("tag", "v1")
    (repository.folder / "file").write_text("two\n")
    (repository.folder / "new").write_text("new\n")
    safe = git_environment({}, looking=True)
    for words in (
        ["status"],
        ["status", "--short", "--branch"],
        ["diff"],
        ["diff", "--stat"],
        ["log", "-p"],
        ["log", "--format=%H %an %s"],
        ["show"],
        ["blame", "HEAD", "--", "file"],
        ["grep", "-n", "o"],
        ["grep", "--no-index", "o"],
        ["branch", "-a"],
        ["describe", "--tags", "--dirty"],
        ["ls-files", "-s"],
        ["stash", "list"],
        ["remote", "-v"],
        ["rev-parse", "HEAD"],
        ["submodule", "status"],
        ["worktree", "list"],
        ["reflog"],
    ):
        assert repository.git(*words, env=safe) == repository.git(*words)


def test_everyday_work_goes_on(repository: Repository) -> None:
    safe = git_environment({}, looking=False)

    def git(*words: str) -> str:
        return repository.git(*words, env=safe)

    hook = repository.script(repository.folder / ".git/hooks/pre-commit", f"#!/bin/sh\ngit status > {repository.mark}\n")
    assert hook.exists()
    git("clone", "-q", "--bare", ".", "../bare.git")
    git("remote", "add", "origin", "../bare.git")
    git("checkout", "-qb", "work")
    (repository.folder / "file").write_text("two\n")
    git("commit", "-qam", "two")
    assert "On branch work" in repository.mark.read_text()
    git("push", "-q", "-u", "origin", "work")
    git("fetch", "-q", "--all")
    git("worktree", "add", "-q", "../tree", "HEAD~1")
    git("-C", "../tree", "log", "-1")
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", "../bare.git", "module")
    git("commit", "-qm", "module")
    git("submodule", "update", "--init", "--recursive")
    git("-C", "module", "log", "-1")
    (repository.folder / "file").write_text("three\n")
    git("stash")
    git("stash", "pop")
    git("commit", "-qam", "three")
    git("rebase", "-q", "HEAD~1")
    git("--git-dir=../bare.git", "log", "-1")
    git("gc", "-q")
