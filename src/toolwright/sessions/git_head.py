"""The branch a folder is on, read from git's own file. Runs nothing and trusts nothing it reads."""

from __future__ import annotations

import os
import stat

MAX_FILE_LENGTH = 4096


def git_branch(folder: str) -> str:
    """The branch checked out in the repository around `folder`; "HEAD" when there is none, "" outside a repository."""
    git_dir = _git_dir(folder)
    head = _read(os.path.join(git_dir, "HEAD")) if git_dir else ""
    reference = head.removeprefix("ref: refs/heads/")
    if reference == head:
        return "HEAD" if head else ""
    return reference if reference.isprintable() else ""


def _git_dir(folder: str) -> str:
    """The repository's own folder, or "" outside one."""
    while True:
        candidate = os.path.join(folder, ".git")
        if os.path.isdir(candidate):
            return candidate
        pointer = _read(candidate)
        if pointer.startswith("gitdir: "):  # a worktree or submodule
            return os.path.join(folder, pointer.removeprefix("gitdir: "))
        parent = os.path.dirname(folder)
        if parent == folder:
            return ""
        folder = parent


def _read(path: str) -> str:
    """The text of a small regular file, or "" if there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        data = os.read(descriptor, MAX_FILE_LENGTH) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return data.decode("utf-8", "replace").strip()
