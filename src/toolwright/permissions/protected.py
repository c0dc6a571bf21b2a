"""Paths that no mode but bypass, and no allow rule, lets a tool write without a question.

A file here changes what other programs do later: hooks, editor tasks, shell start-up, the rules and instructions of agents.
"""

from __future__ import annotations

import re
from fnmatch import translate
from unicodedata import normalize

from toolwright.permissions.calls import SessionFolders
from toolwright.types.protected_names import (
    ALL_BEGINNINGS,
    ALL_FILES,
    ALL_FOLDERS,
    ALL_NESTED_FOLDERS,
    ALL_PATTERNS,
    BESIDE_HEAD,
    OPEN_FOLDERS,
)

_PATTERNS = re.compile("|".join(f"/{translate(pattern)}" for pattern in ALL_PATTERNS))


def is_protected(path: str, place: SessionFolders) -> bool:
    """Whether writing to the normal, absolute `path` has to be seen by a person."""
    root = place.root_of(path)
    if any(_is_in(path, own) and not (root is not None and _is_in(root, own)) for own in place.own):
        return True
    # What lies above the session's own folder says nothing about the files in it.
    inside = path if root is None else path[len(root) :]
    parts = [_plain(part) for part in inside.split("/") if part]
    if not parts:
        return False
    plain = "/".join(parts)
    return (
        _is_protected_file(parts[-1])
        or _PATTERNS.search(f"/{plain}") is not None
        or _in_protected_folder(_without_open_folders(plain))
        or _is_of_a_repository(path, len(path) - len(inside), place)
    )


def _is_of_a_repository(path: str, start: int, place: SessionFolders) -> bool:
    """Whether a name on the way, from `start` on, belongs to a repository that is none by its name: a `HEAD` lies beside it."""
    while start < len(path):
        end = path.find("/", start + 1) % (len(path) + 1)
        if _plain(path[start + 1 : end]) in BESIDE_HEAD and place.files.matching(f"{path[:start]}/HEAD") != ():
            return True
        start = end
    return False


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _plain(part: str) -> str:
    """A name as a forgiving file system would take it: any case, any composition, no trailing dots or spaces."""
    return normalize("NFC", part).casefold().rstrip(". ")


def _is_protected_file(name: str) -> bool:
    return name in ALL_FILES or name.startswith(ALL_BEGINNINGS)


def _without_open_folders(path: str) -> str:
    for folder in OPEN_FOLDERS:
        before, found, after = f"/{path}".partition(f"/{folder}/")
        if found:
            return f"{before}/{after}"
    return path


def _in_protected_folder(path: str) -> bool:
    around = f"/{path}/"
    return not ALL_FOLDERS.isdisjoint(path.split("/")) or any(f"/{folder}/" in around for folder in ALL_NESTED_FOLDERS)
