"""Finds the folder that keeps another user from a file, by modes alone: for choosing what such a user is given, and for
saying why something could not be started. It grants and forbids nothing."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator


def closed_folder(path: str, uid: int, groups: Collection[int]) -> str | None:
    """Returns the first folder on the way to `path`, and to where its links lead, that the user may not enter."""
    if uid == 0:
        return None
    for way in dict.fromkeys((os.path.abspath(path), os.path.realpath(path))):
        for folder in _folders_above(way):
            if not _may_enter(folder, uid, groups):
                return folder
    return None


def closed_folder_in_words(path: str, user: str, *, uid: int, groups: Collection[int]) -> str | None:
    """Says which folder keeps `user` from `path` and what to do about it; None if no folder does."""
    folder = closed_folder(path, uid, groups)
    if folder is None:
        return None
    return (
        f"user {user!r} may not enter {folder}. Install it in a place that this user can reach, or open that folder "
        f"(chmod o+x {folder})"
    )


def _folders_above(path: str) -> Iterator[str]:
    folder = os.path.dirname(path)
    above = () if folder == path else (*_folders_above(folder), folder)
    yield from above


def _may_enter(folder: str, uid: int, groups: Collection[int]) -> bool:
    try:
        status = os.stat(folder)
    except OSError:
        return True  # nothing is there, or we cannot tell: not for us to blame
    if status.st_uid == uid:
        return bool(status.st_mode & 0o100)
    return bool(status.st_mode & (0o010 if status.st_gid in groups else 0o001))
