"""Functions of the C library that Python has no name for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache


@cache
def c_function(name: str, arguments: str) -> Callable[..., int] | None:
    """The function `name`, whose `arguments` are named as in ctypes; a negative answer of it is an OSError.

    None where the C library has no such function, or on another system than Linux.
    """
    if sys.platform != "linux":
        return None
    import ctypes  # only where it is used: it is not free to import

    found = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if found is None:
        return None
    found.argtypes = [getattr(ctypes, argument) for argument in arguments.split()]

    def call(*given: object) -> int:
        answer: int = found(*given)
        if answer < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return answer

    return call
