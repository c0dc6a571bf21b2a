"""Paths that no mode but bypass, and no allow rule, lets a tool write without a question.

A file here changes what other programs do later: hooks, editor tasks, shell start-up, the rules and instructions of agents.
"""

from __future__ import annotations

from unicodedata import normalize

from toolwright.types.protected_names import (
    FILES,
    FILES_BEGINNING,
    FOLDERS,
    MEMORY_FILES,
    NESTED_FOLDERS,
    OPEN_FOLDERS,
    PERSONAL_FOLDERS,
)

from .calls import Place


def is_protected(path: str, place: Place) -> bool:
    """Whether writing to the normal, absolute `path` has to be seen by a person."""
    root = place.root_of(path)
    if any(_is_in(path, own) and not (root is not None and _is_in(root, own)) for own in place.own):
        return True
    # What lies above the session's own folder says nothing about the files in it.
    inside = path if root is None else path[len(root) :]
    parts = [_plain(part) for part in inside.split("/") if part]
    if not parts:
        return False
    return _is_protected_file(parts[-1]) or _in_protected_folder(_without_open_folders("/".join(parts)))


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _plain(part: str) -> str:
    """A name as a forgiving file system would take it: any case, any composition, no trailing dots or spaces."""
    return normalize("NFC", part).casefold().rstrip(". ")


def _is_protected_file(name: str) -> bool:
    return name in FILES or name in MEMORY_FILES or name.startswith(FILES_BEGINNING)


def _without_open_folders(path: str) -> str:
    for folder in OPEN_FOLDERS:
        before, found, after = f"/{path}".partition(f"/{folder}/")
        if found:
            return f"{before}/{after}"
    return path


def _in_protected_folder(path: str) -> bool:
    around = f"/{path}/"
    nested = (*NESTED_FOLDERS, *PERSONAL_FOLDERS)
    return not FOLDERS.isdisjoint(path.split("/")) or any(f"/{folder}/" in around for folder in nested)
