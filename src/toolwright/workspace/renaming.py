"""Two ways of renaming that the standard library lacks: never over something, and trading places.

Both are one step of the kernel's: there is no moment in which somebody else's file could be overwritten unseen.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from functools import cache

_NO_REPLACE, _EXCHANGE = 1, 2
_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP})

Renameat2 = Callable[[int, str, str, int], None]


def rename_new(folder: int, source: str, target: str) -> None:
    """Give `source` the name `target`, which must be free: FileExistsError otherwise."""
    if not _attempt(folder, source, target, _NO_REPLACE):
        os.link(source, target, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        os.unlink(source, dir_fd=folder)


def exchange(folder: int, one: str, other: str) -> bool:
    """Let two files of a folder trade names. False, and nothing done, where the system or the disk cannot."""
    return _attempt(folder, one, other, _EXCHANGE)


def _attempt(folder: int, source: str, target: str, flags: int) -> bool:
    rename = _renameat2()
    if rename is None:
        return False
    try:
        rename(folder, source, target, flags)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return False
        raise
    return True


@cache
def _renameat2() -> Renameat2 | None:
    if sys.platform != "linux":
        return None
    import ctypes  # only where it is used: it is not free to import

    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:  # an old C library
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)

    def renameat2(folder: int, source: str, target: str, flags: int) -> None:
        if call(folder, os.fsencode(source), folder, os.fsencode(target), flags) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), source, None, target)

    return renameat2
