"""What a decision about a shell command has to know of the machine: links, patterns, repositories.

Looks at names and links only, never at the content of a user's file; about repositories it asks git. Every answer is made
fresh, because files change between two commands. Whoever changes them while the command starts is the sandbox's business.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from glob import iglob
from itertools import islice

from toolwright.permissions import keys_are_plain
from toolwright.processes import git_queries
from toolwright.processes.git_environment import FOR_LOOKING
from toolwright.processes.git_queries import GitError, Repository

MAX_MATCHES = 500
MAX_ENTRIES = 10_000
MAX_MODULES = 50
MAX_MODULE_DEPTH = 5
_OVERRULED_IN_CAGE = frozenset(key.lower() for key in FOR_LOOKING)
"""What a git in the cage is told by its environment, whatever the repository says."""


class MachineFiles:
    """The file system as it is now."""

    __slots__ = ()

    def spellings(self, path: str) -> tuple[str, ...]:
        real = os.path.realpath(path)
        return (real,) if real == path else (real, path)

    def matching(self, pattern: str) -> tuple[str, ...] | None:
        if "[" in pattern:  # bash and Python differ in what a bracket may hold
            return None
        found = tuple(islice(iglob(pattern), MAX_MATCHES + 1))
        return found if len(found) <= MAX_MATCHES else None

    def holds(self, folder: str, covers: Callable[[str], bool]) -> bool | None:
        for seen, path in enumerate(_below(folder), 1):
            if seen > MAX_ENTRIES:
                return None
            if covers(path):
                return True
        return False

    def git_is_plain(self, folder: str, *, caged: bool = False) -> bool:
        try:
            found = git_queries.find_repository(folder)
            return found is None or _is_plain(found, caged)
        except (OSError, GitError):
            return False

    def git_tracks(self, folder: str, covers: Callable[[str], bool]) -> bool:
        try:
            found = git_queries.find_repository(folder)
            return found is not None and any(covers(path) for path in git_queries.tracked(found))
        except (OSError, GitError):
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


def _is_plain(repository: Repository, caged: bool, depth: int = 0) -> bool:
    if not caged and os.path.lexists(os.path.join(repository.common, "hooks", "post-index-change")):
        return False
    if not keys_are_plain(git_queries.config_keys(repository), _OVERRULED_IN_CAGE if caged else ()):
        return False
    modules = [path for path in git_queries.submodules(repository) if os.path.lexists(os.path.join(path, ".git"))]
    if modules and (depth >= MAX_MODULE_DEPTH or len(modules) > MAX_MODULES):
        return False
    return all(_module_is_plain(path, caged, depth + 1) for path in modules)  # git looks into them too


def _module_is_plain(folder: str, caged: bool, depth: int) -> bool:
    found = git_queries.find_repository(folder)
    return found is not None and _is_plain(found, caged, depth)
