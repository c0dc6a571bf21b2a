"""Let a child process read nothing but given folders, by Linux's Landlock: the kernel refuses the rest, whatever links say.

Landlock binds the thread that asks for it and what that thread starts. So a thread is made for the purpose, starts the child
and ends; this process itself stays free. Where Landlock is missing, the work is done without it (see `is_available`).
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from stat import S_ISDIR
from typing import Any, TypeVar

T = TypeVar("T")

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1
_VERSION = 1
_NO_NEW_PRIVILEGES = 38
_EXECUTE, _READ_FILE, _READ_DIRECTORY = 1 << 0, 1 << 2, 1 << 3
_HANDLED = (1 << 13) - 1  # every right of the first version: reading, executing and all ways of writing


def confined(work: Callable[[], T], *, readable: Sequence[int], executable: Sequence[int]) -> T:
    """Do `work` where it and its children can read only `readable` and read and execute only `executable`: files, or folders
    with all that is below."""
    if not is_available():
        return work()
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            _restrict_thread(readable, executable)
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001 — handed to the caller's thread and raised there
            failure.append(error)

    thread = threading.Thread(target=run, name="toolwright-confined")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


def confine_thread(readable: Sequence[str]) -> None:
    """Let this very thread, and what it starts, read only below these folders and execute nothing, for good."""
    if not is_available():
        return
    folders = [os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC) for folder in readable if os.path.isdir(folder)]
    _restrict_thread(folders, ())


@cache
def is_available() -> bool:
    """Whether this kernel has Landlock and it is switched on."""
    return version() >= 1


@cache
def version() -> int:
    """The version of Landlock that this kernel has, 0 for none."""
    if sys.platform != "linux":
        return 0
    try:
        return _call(_CREATE_RULESET, None, 0, _VERSION)
    except OSError:
        return 0


def _restrict_thread(readable: Sequence[int], executable: Sequence[int]) -> None:
    import ctypes

    handled = ctypes.c_uint64(_HANDLED)
    ruleset = _call(_CREATE_RULESET, ctypes.byref(handled), ctypes.sizeof(handled), 0)
    try:
        for descriptor in readable:
            _allow(ruleset, descriptor, _READ_FILE | _READ_DIRECTORY)
        for descriptor in executable:
            _allow(ruleset, descriptor, _READ_FILE | _READ_DIRECTORY | _EXECUTE)
        ctypes.CDLL(None, use_errno=True).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, descriptor: int, rights: int) -> None:
    if not S_ISDIR(os.fstat(descriptor).st_mode):
        rights &= ~_READ_DIRECTORY
    rule = rights.to_bytes(8, sys.byteorder) + descriptor.to_bytes(4, sys.byteorder)  # a packed landlock_path_beneath_attr
    _call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)


def _call(number: int, *arguments: Any) -> int:
    import ctypes

    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    converted = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    result = syscall(ctypes.c_long(number), *converted)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(result)
