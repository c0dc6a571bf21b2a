"""Open a file below a folder without following any link: openat2 on Linux, a walk from folder to folder elsewhere.

Both are decided by the kernel while it opens, so renaming folders or planting links at the same moment cannot lead out. It
knows nothing of allowed roots; `boundary` does.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from functools import cache
from struct import Struct

from toolwright.base.libc import c_function

_OPENAT2 = 437
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_ANYWHERE = -100
"""AT_FDCWD; an absolute path does not ask where we stand."""

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
PATH_ONLY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_CLOEXEC
"""Enough to stand on a file or folder; no permission to read it is needed where O_PATH exists."""
_HOW = Struct("=QQQ")
"""The kernel's `open_how`: flags, mode, resolve."""
LINK_ERRORS = frozenset({errno.ELOOP, errno.EXDEV, errno.EMLINK})
"""What opening reports when a link is in the way."""

Opener = Callable[[int, Sequence[str], int, int], int]
Openat2 = Callable[[int, str, int, int, int], int]
"""A folder, a name, flags, mode, and what must not be on the way."""


def open_beneath(root: int, parts: Sequence[str], flags: int, mode: int = 0) -> int:
    """Open `parts` below the folder `root`. A link anywhere on the way is an OSError out of `LINK_ERRORS`."""
    return _opener()(root, parts, flags | os.O_CLOEXEC, mode)


def open_unlinked(path: str, flags: int, mode: int = 0) -> int:
    """Open an absolute path in one step; OSError out of `LINK_ERRORS` if any name on it is a link, or there is no such step."""
    openat2 = _openat2()
    if openat2 is None:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    return openat2(_ANYWHERE, path, flags | os.O_CLOEXEC, mode, _RESOLVE_NO_SYMLINKS)


def release(descriptor: int) -> None:
    """Close what was only read or stood on. The system may complain; the descriptor is gone and nothing was lost."""
    try:
        os.close(descriptor)
    except OSError:
        pass


@cache
def _opener() -> Opener:
    openat2 = _openat2()
    if openat2 is None:
        return walk_open
    return lambda root, parts, flags, mode: openat2(
        root, "/".join(parts) or ".", flags, mode, _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS
    )


@cache
def _openat2() -> Openat2 | None:
    syscall = c_function("syscall", "c_long c_int c_char_p c_char_p c_size_t")
    if syscall is None:
        return None

    def openat2(root: int, name: str, flags: int, mode: int, resolve: int) -> int:
        how = _HOW.pack(flags, mode if flags & os.O_CREAT else 0, resolve)
        try:
            return syscall(_OPENAT2, root, os.fsencode(name), how, _HOW.size)
        except OSError as error:
            error.filename = name
            raise

    return openat2 if _works(openat2) else None


def _works(openat2: Openat2) -> bool:
    """Old kernels do not know the call; some containers forbid it."""
    try:
        os.close(openat2(_ANYWHERE, "/", PATH_ONLY | os.O_DIRECTORY, 0, _RESOLVE_NO_SYMLINKS))
    except OSError:
        return False
    return True


def walk_open(root: int, parts: Sequence[str], flags: int, mode: int) -> int:
    """The same by one openat per folder, each without following a link."""
    if not parts:
        return os.open(".", flags, mode, dir_fd=root)
    folder = root
    try:
        for name in parts[:-1]:
            deeper = _open_entry(folder, name, PATH_ONLY | os.O_DIRECTORY, 0)
            _close_unless(folder, root)
            folder = deeper
        return _open_entry(folder, parts[-1], flags, mode)
    finally:
        _close_unless(folder, root)


def _open_entry(folder: int, name: str, flags: int, mode: int) -> int:
    try:
        descriptor = os.open(name, flags | os.O_NOFOLLOW, mode, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ENOTDIR and _is_link(folder, name):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
        raise
    if flags & getattr(os, "O_PATH", 0) and _is_link_itself(descriptor):
        os.close(descriptor)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
    return descriptor


def _is_link(folder: int, name: str) -> bool:
    try:
        os.readlink(name, dir_fd=folder)
    except OSError:
        return False
    return True


def _is_link_itself(descriptor: int) -> bool:
    return os.fstat(descriptor).st_mode & 0o170000 == 0o120000


def _close_unless(descriptor: int, keep: int) -> None:
    if descriptor != keep:
        release(descriptor)
