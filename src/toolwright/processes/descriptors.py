"""Numbers of descriptors that a child process keeps: high ones, which no script uses by hand, and no two neighbours.

Where two kept descriptors are neighbours, Python's subprocess (3.11 to 3.13) closes all others one by one instead of all at
once: twenty thousand system calls where the limit is that high and /proc is out of reach, as it is in the cage.
"""

from __future__ import annotations

import fcntl
import os

REPORT, GATE, DOOR, MEMORY_DOOR = 200, 210, 220, 230


def moved_up(descriptor: int, lowest: int) -> int:
    """The same open file under a number of at least `lowest`; the old number is closed."""
    try:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest)
    except OSError:  # a small limit on open files: the low number has to do
        return descriptor
    os.close(descriptor)
    return moved
