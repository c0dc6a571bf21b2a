"""Very many objects at once, made and given up in a thread without keeping the other threads waiting.

Each object is cheap. But the garbage collector looks at all of them in one go, again and again while they are made, and a list
that is given up takes all of its items with it in one go; both keep the interpreter for themselves for up to a second.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

_AT_ONCE = 500
_lock = Lock()
_users = 0


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the garbage collector from running meanwhile. What is there at the end counts as old: it is looked at rarely."""
    global _users
    with _lock:
        if not _users and not gc.isenabled():
            enabled = False
        else:
            enabled = True
            _users += 1
            gc.disable()
    try:
        yield
    finally:
        if enabled:
            with _lock:
                _users -= 1
                if not _users:
                    _count_as_old()
                    gc.enable()


def let_go(items: list[Any] | dict[Any, Any]) -> None:
    """Empty it, a few items at a time."""
    if isinstance(items, dict):
        while items:
            items.popitem()
    while items:
        del items[-_AT_ONCE:]


def _count_as_old() -> None:
    if not gc.get_freeze_count():  # what a program froze for its children must stay frozen
        gc.freeze()
        gc.unfreeze()
