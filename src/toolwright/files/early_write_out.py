"""Tell the kernel to begin writing a file to its disk, without waiting: what we do meanwhile costs no time.

It is a hint. Whether the file has arrived only `fsync` tells.
"""

from __future__ import annotations

import errno

from toolwright.base.libc import c_function

_WRITE = 2
"""SYNC_FILE_RANGE_WRITE: begin, and wait for nothing."""
_UNKNOWN = frozenset({errno.ENOSYS, errno.EINVAL, errno.EPERM, errno.ESPIPE})


def begin_writing_out(descriptor: int) -> None:
    """OSError if the disk has already refused; nothing where the system or the disk knows no such hint."""
    begin = c_function("sync_file_range", "c_int c_int64 c_int64 c_uint")
    if begin is None:
        return
    try:
        begin(descriptor, 0, 0, _WRITE)
    except OSError as error:
        if error.errno not in _UNKNOWN:
            raise
