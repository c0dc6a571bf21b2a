"""How a stand-in is known: what a sandbox lets stand on the host for a protected name that is not there.

It is as good as nothing: whoever of us reads or writes such a name goes on as if there were no file. Who makes and removes them
in the ordinary course is `sandbox/placeholders.py`.
"""

from __future__ import annotations

import os
import stat

TIME = 86_399_999_999_937
"""When a stand-in was last changed, in nanoseconds: on the second of January 1970."""


def is_stand_in(status: os.stat_result) -> bool:
    """Whether this is a stand-in, untouched: a socket, an empty folder or an empty file, of a time that no real one has."""
    if status.st_mtime_ns != TIME:
        return False
    mode = status.st_mode
    return stat.S_ISSOCK(mode) or stat.S_ISDIR(mode) or (stat.S_ISREG(mode) and status.st_size == 0)


def stands_in(path: str, *, folder: int | None = None) -> bool:
    """Whether there is a stand-in at `path`, which may be relative to the open `folder`."""
    try:
        return is_stand_in(os.stat(path, dir_fd=folder, follow_symlinks=False))
    except OSError:
        return False


def displace(path: str, *, folder: int | None = None) -> None:
    """Make room for something real: a stand-in goes, and the commands that it was kept from are stopped by that.

    An empty folder stays: what comes into it is real.
    """
    try:
        status = os.stat(path, dir_fd=folder, follow_symlinks=False)
        if is_stand_in(status) and not stat.S_ISDIR(status.st_mode):
            os.unlink(path, dir_fd=folder)
    except OSError:
        return
