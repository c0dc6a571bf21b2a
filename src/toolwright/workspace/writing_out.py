"""Tell the kernel to begin writing a file to its disk, without waiting: what we do meanwhile costs no time.

It is a hint. Whether the file has arrived only `fsync` tells.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from functools import cache

_WRITE = 2
"""SYNC_FILE_RANGE_WRITE: begin, and wait for nothing."""
_UNKNOWN = frozenset({errno.ENOSYS, errno.EINVAL, errno.EPERM, errno.ESPIPE})


def begin_writing_out(descriptor: int) -> None:
    """OSError if the disk has already refused; nothing where the system or the disk knows no such hint."""
    begin = _sync_file_range()
    if begin is not None:
        begin(descriptor)


@cache
def _sync_file_range() -> Callable[[int], None] | None:
    if sys.platform != "linux":
        return None
    import ctypes  # only where it is used: it is not free to import

    try:
        call = ctypes.CDLL(None, use_errno=True).sync_file_range
    except AttributeError:  # a C library without it
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)

    def begin(descriptor: int) -> None:
        if call(descriptor, 0, 0, _WRITE) != 0 and (code := ctypes.get_errno()) not in _UNKNOWN:
            raise OSError(code, os.strerror(code))

    return begin
