"""Open a file below a folder without following any link: openat2 on Linux, a walk from folder to folder elsewhere.

Both are decided by the kernel while it opens, so renaming folders or planting links at the same moment cannot lead out. It
knows nothing of allowed roots; `boundary` does.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache

_OPENAT2 = 437
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
PATH_ONLY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_CLOEXEC
"""Enough to stand on a file or folder; no permission to read it is needed where O_PATH exists."""
LINK_ERRORS = frozenset({errno.ELOOP, errno.EXDEV, errno.EMLINK})
"""What opening reports when a link is in the way."""

Opener = Callable[[int, Sequence[str], int, int], int]


def open_beneath(root: int, parts: Sequence[str], flags: int, mode: int = 0) -> int:
    """Open `parts` below the folder `root`. A link anywhere on the way is an OSError out of `LINK_ERRORS`."""
    return _opener()(root, parts, flags | os.O_CLOEXEC, mode)


def release(descriptor: int) -> None:
    """Close what was only read or stood on. The system may complain; the descriptor is gone and nothing was lost."""
    try:
        os.close(descriptor)
    except OSError:
        pass


@cache
def _opener() -> Opener:
    opener = _openat2_opener() if sys.platform == "linux" else None
    return opener or walk_open


def _openat2_opener() -> Opener | None:
    import ctypes  # only where it is used: it is not free to import

    class OpenHow(ctypes.Structure):
        _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))

    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    size = ctypes.c_size_t(ctypes.sizeof(OpenHow))

    def openat2(root: int, parts: Sequence[str], flags: int, mode: int) -> int:
        name = os.fsencode("/".join(parts)) or b"."
        how = OpenHow(flags, mode if flags & os.O_CREAT else 0, _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS)
        descriptor = syscall(ctypes.c_long(_OPENAT2), ctypes.c_int(root), ctypes.c_char_p(name), ctypes.byref(how), size)
        if descriptor < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), os.fsdecode(name))
        return int(descriptor)

    return openat2 if _works(openat2) else None


def _works(opener: Opener) -> bool:
    """Old kernels do not know the call; some containers forbid it."""
    root = os.open("/", PATH_ONLY | os.O_DIRECTORY)
    try:
        os.close(opener(root, (), PATH_ONLY | os.O_DIRECTORY, 0))
    except OSError:
        return False
    finally:
        os.close(root)
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
