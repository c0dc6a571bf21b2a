"""Two ways of renaming that the standard library lacks: never over something, and trading places.

Both are one step of the kernel's: there is no moment in which somebody else's file could be overwritten unseen.
"""

from __future__ import annotations

import errno
import os

from toolwright.base.libc import c_function

_NO_REPLACE, _EXCHANGE = 1, 2
_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP})


def rename_new(folder: int, source: str, target: str) -> None:
    """Give `source` the name `target`, which must be free: FileExistsError otherwise."""
    if not _attempt(folder, source, target, _NO_REPLACE):
        os.link(source, target, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        os.unlink(source, dir_fd=folder)


def exchange(folder: int, one: str, other: str) -> bool:
    """Let two files of a folder trade names. False, and nothing done, where the system or the disk cannot."""
    return _attempt(folder, one, other, _EXCHANGE)


def _attempt(folder: int, source: str, target: str, flags: int) -> bool:
    rename = c_function("renameat2", "c_int c_char_p c_int c_char_p c_uint")
    if rename is None:
        return False
    try:
        rename(folder, os.fsencode(source), folder, os.fsencode(target), flags)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return False
        raise OSError(error.errno, error.strerror, source, None, target) from None
    return True
