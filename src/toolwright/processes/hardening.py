"""Keep other processes of the same user out of this one: its memory, its environment and its open files, where keys are.

Linux only. It changes the whole process, for good as far as we are concerned, so a program decides that for itself: the
`toolwright` command does, a library must not. Children are not affected: running another program puts the default back.
"""

from __future__ import annotations

import sys

_SET_DUMPABLE = 4
_GET_DUMPABLE = 3


def refuse_inspection() -> bool:
    """Let no other process but root's read or trace this one, and let it leave no core dump. Says whether that holds now.

    For programs that hold keys and let a model run commands: a command outside of a sandbox could read the keys in
    `/proc/<pid>/environ`. The price: debuggers and profilers that attach from outside need root. A fork keeps it.
    """
    if sys.platform != "linux":
        return False
    import ctypes  # hardly any program needs it otherwise

    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(_SET_DUMPABLE, 0, 0, 0, 0)
    return bool(prctl(_GET_DUMPABLE, 0, 0, 0, 0) == 0)
