"""Questions to git itself about a repository: where it is, which keys its configuration has, what it tracks.

Which folder belongs to which repository only git knows for certain (`commondir`, links, split indexes), so it is git that is
asked: the machine's own, never one from the workspace, in an environment where it runs nothing of the repository's. Whatever it
does not answer in time, shortly and without a complaint, is a `GitError`.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Iterable, Iterator
from functools import cache

from msgspec import Struct

from toolwright.processes.environment import DEFAULT_PATH
from toolwright.processes.git_environment import git_environment

TIMEOUT = 2.0
MAX_ANSWER_SIZE = 64 * 1024 * 1024
MAX_REMEMBERED = 256
_PLACES = ("/usr/bin", "/usr/local/bin", "/bin", "/opt/homebrew/bin", "/opt/local/bin", "/run/current-system/sw/bin")
_NO_REPOSITORY = b"fatal: not a git repository (or any "
_SUBMODULE = b"160000 "
_PERSONS_OWN = frozenset(("system", "global", "command"))
_AT_REST = 100_000_000
"""Nanoseconds after which a file that changes again is sure to show it."""


class GitError(Exception):
    """git gave no answer that can be relied on."""


class Repository(Struct, frozen=True):
    """A repository as git finds it. All paths are absolute; `own` and `common` differ in a linked worktree."""

    tree: str
    own: str
    common: str
    index: str


def find_repository(folder: str) -> Repository | None:
    """The repository that a git started in `folder` would use, or None if there is none."""
    asked = ("--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir", "--git-path", "index")
    code, answer, complaint = _ask(folder, "rev-parse", *asked)
    if code and complaint.startswith(_NO_REPOSITORY):
        return None
    paths = os.fsdecode(_checked(code, answer, complaint)).removesuffix("\n").split("\n")
    if len(paths) != 4 or not all(path.startswith("/") for path in paths):  # four questions, and a line break in no answer
        raise GitError("git does not say clearly where the repository is")
    return Repository(*paths)


def config_keys(repository: Repository) -> tuple[str, ...]:
    """The keys of the repository's own configuration, with those of its worktree and of files that it includes."""
    files = _state(os.path.join(repository.common, "config"), os.path.join(repository.own, "config.worktree"))
    if files in _remembered:
        return _remembered[files]
    keys = _own_keys(_checked(*_ask(repository.tree, "config", "--list", "-z", "--show-scope", "--name-only")))
    includes = any(key.startswith("include") for key in keys)
    return keys if includes else _remember(files, keys)


def submodules(repository: Repository) -> tuple[str, ...]:
    """The paths of the repositories that the index has as submodules."""
    files = None if _may_have_split_index(repository) else _state(repository.index)
    if files in _remembered:
        return _remembered[files]
    entries = _checked(*_ask(repository.tree, "ls-files", "-z", "--stage")).split(b"\0")
    found = {entry.partition(b"\t")[2] for entry in entries if entry.startswith(_SUBMODULE)}
    return _remember(files, tuple(_paths(repository, found)))


def tracked(repository: Repository) -> Iterator[str]:
    """The paths of all files in the index."""
    return _paths(repository, _checked(*_ask(repository.tree, "ls-files", "-z")).split(b"\0"))


def _may_have_split_index(repository: Repository) -> bool:
    """Whether more than one file may hold the index."""
    return any(name.startswith("sharedindex.") for name in os.listdir(repository.own))


def _paths(repository: Repository, names: Iterable[bytes]) -> Iterator[str]:
    return (os.path.join(repository.tree, os.fsdecode(name)) for name in names if name)


def _own_keys(listed: bytes) -> tuple[str, ...]:
    words = listed.decode(errors="replace").split("\0")
    return tuple(key for scope, key in zip(words[::2], words[1::2], strict=False) if scope not in _PERSONS_OWN)


# what is remembered

_Files = tuple[tuple[str | int, ...], ...]
_remembered: dict[_Files | None, tuple[str, ...]] = {}
"""Answers that hang on certain files alone, by the state of these files."""


def _state(*paths: str) -> _Files | None:
    """What changes when one of the files does; None if one has changed only now, and might again without showing it."""
    states: list[tuple[str | int, ...]] = []
    for path in paths:
        try:
            found = os.stat(path)
        except FileNotFoundError:
            states.append((path,))
            continue
        if abs(time.time_ns() - found.st_ctime_ns) < _AT_REST:
            return None
        states.append((path, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))
    return tuple(states)


def _remember(files: _Files | None, answer: tuple[str, ...]) -> tuple[str, ...]:
    if files is not None:
        if len(_remembered) >= MAX_REMEMBERED:
            _remembered.clear()
        _remembered[files] = answer
    return answer


# how git is asked


def _ask(folder: str, *words: str) -> tuple[int, bytes, bytes]:
    """The exit code of git, its answer and its complaint."""
    process = subprocess.Popen(
        (_program(), "-C", folder, *words),
        env=_environment(),
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        try:
            answer, complaint = _read_out(process)
            return process.wait(TIMEOUT), answer, complaint
        except (GitError, subprocess.TimeoutExpired):
            process.kill()
            raise GitError("git takes too long, or says too much") from None


def _read_out(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    deadline, read = time.monotonic() + TIMEOUT, {process.stdout: bytearray(), process.stderr: bytearray()}
    with selectors.DefaultSelector() as waiting:
        for stream in read:
            assert stream is not None
            waiting.register(stream, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(max(0, deadline - time.monotonic()))
            if not ready or sum(map(len, read.values())) > MAX_ANSWER_SIZE:
                raise GitError
            for key, _ in ready:
                some = os.read(key.fd, 1 << 20)
                read[key.fileobj] += some  # type: ignore[index]
                if not some:
                    waiting.unregister(key.fileobj)
    return bytes(read[process.stdout]), bytes(read[process.stderr])


def _checked(code: int, answer: bytes, complaint: bytes) -> bytes:
    if code:
        raise GitError(complaint.decode(errors="replace").strip()[:300])
    return answer


@cache
def _program() -> str:
    paths = (f"{folder}/git" for folder in _PLACES)
    found = next((path for path in paths if os.access(path, os.X_OK)), None)
    if found is None:
        raise GitError("git is not installed in one of the usual places")
    return found


@cache
def _environment() -> dict[str, str]:
    """Nothing of this process's own, no configuration but the repository's, and whoever owns the repository."""
    bare = {
        "PATH": DEFAULT_PATH,
        "HOME": "/dev/null",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
    }
    everyone = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    return git_environment(bare | everyone, looking=True)
