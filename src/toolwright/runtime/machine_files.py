"""What a decision about a shell command has to know of the machine: links, patterns, repositories.

Looks at names, links and git's configuration only; never at the content of a user's file. Every answer is made fresh, because
files change between two commands. Whoever changes them while the command starts is the sandbox's business.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from glob import iglob
from itertools import islice

from toolwright.permissions import config_is_plain
from toolwright.runtime.git_index import open_file, submodules, tracked

MOST_MATCHES = 500
MOST_ENTRIES = 10_000
MOST_MODULES = 50
DEEPEST_MODULE = 5
LARGEST_CONFIG = 256 * 1024
_HEAD = re.compile(r"ref: refs/|[0-9a-f]{40}")


class MachineFiles:
    """The file system as it is now."""

    __slots__ = ()

    def spellings(self, path: str) -> tuple[str, ...]:
        real = os.path.realpath(path)
        return (real,) if real == path else (real, path)

    def matching(self, pattern: str) -> tuple[str, ...] | None:
        if "[" in pattern:  # bash and Python differ in what a bracket may hold
            return None
        found = tuple(islice(iglob(pattern), MOST_MATCHES + 1))
        return found if len(found) <= MOST_MATCHES else None

    def holds(self, folder: str, covers: Callable[[str], bool]) -> bool | None:
        for seen, path in enumerate(_below(folder), 1):
            if seen > MOST_ENTRIES:
                return None
            if covers(path):
                return True
        return False

    def git_is_plain(self, folder: str) -> bool:
        try:
            found = _repository(os.path.realpath(folder))
            return found is None or _is_plain(*found)
        except (OSError, ValueError, UnicodeDecodeError):
            return False

    def git_tracks(self, folder: str, covers: Callable[[str], bool]) -> bool:
        try:
            found = _repository(os.path.realpath(folder))
            if found is None:
                return False
            repository, tree = found
            return any(covers(os.path.join(tree, path)) for path in tracked(os.path.join(repository, "index")))
        except (OSError, ValueError):
            return True


MACHINE_FILES = MachineFiles()


def _below(folder: str) -> Iterator[str]:
    yield folder
    waiting = [folder]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:  # a file, or nothing that can be looked into
            continue
        for entry in entries:
            yield entry.path
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)


def _repository(folder: str) -> tuple[str, str] | None:
    """The folder of git's own files that a git started in `folder` would use, and the work tree's."""
    while True:
        named = os.path.join(folder, ".git")
        if os.path.isdir(named):
            return named, folder
        if os.path.lexists(named):
            return _pointed_to(named, folder), folder
        if all(os.path.exists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs")):
            return folder, folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _pointed_to(file: str, folder: str) -> str:
    """Where the `.git` file of a worktree or submodule leads."""
    text = _text(file)
    if not text.startswith("gitdir: "):
        raise ValueError("not a pointer to a repository")
    return os.path.join(folder, text.removeprefix("gitdir: ").strip())


def _is_plain(repository: str, tree: str, deepest: int = DEEPEST_MODULE) -> bool:
    common = os.path.join(repository, "commondir")
    shared = os.path.join(repository, _text(common).strip()) if os.path.exists(common) else repository
    if not _is_valid(repository, shared):  # git would pass it over and use one in a folder above
        return False
    surprises = (os.path.join(shared, "hooks", "post-index-change"), os.path.join(repository, "config.worktree"))
    if any(os.path.lexists(path) for path in surprises):
        return False
    configs = (os.path.join(shared, "config"), *_module_configs(shared))
    return all(config_is_plain(_text(path)) for path in configs) and all(
        deepest > 0 and _is_plain(*nested, deepest - 1) for nested in _submodules(repository, tree)
    )


def _is_valid(repository: str, shared: str) -> bool:
    head = _text(os.path.join(repository, "HEAD"))
    return _HEAD.match(head) is not None and all(os.path.isdir(os.path.join(shared, name)) for name in ("objects", "refs"))


def _submodules(repository: str, tree: str) -> Iterator[tuple[str, str]]:
    """The repositories that lie in the work tree: git looks into them too."""
    for path in submodules(os.path.join(repository, "index")):
        folder = os.path.join(tree, path)
        if os.path.lexists(os.path.join(folder, ".git")):
            found = _repository(os.path.realpath(folder))
            if found is not None:
                yield found


def _module_configs(repository: str) -> list[str]:
    """git looks into its submodules too."""
    modules = os.path.join(repository, "modules")
    found = [path for path in _below(modules) if os.path.basename(path) == "config"] if os.path.isdir(modules) else []
    if len(found) > MOST_MODULES:
        raise ValueError("too many submodules")
    return found


def _text(path: str) -> str:
    with open_file(path) as file:
        data = file.read(LARGEST_CONFIG + 1)
    if len(data) > LARGEST_CONFIG:
        raise ValueError("too large")
    return data.decode("utf-8")
