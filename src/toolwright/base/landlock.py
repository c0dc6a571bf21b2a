"""Let a child process read nothing but given folders, by Linux's Landlock: the kernel refuses the rest, whatever links say.

Landlock binds the thread that asks for it and what that thread starts. So a thread is made for the purpose, starts the child
and ends; this process itself stays free. Where Landlock is missing, the work is done without it (see `is_available`).
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from stat import S_ISDIR
from typing import Any, TypeVar

T = TypeVar("T")

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1
_VERSION = 1
_NO_NEW_PRIVILEGES = 38
_EXECUTE, _READ_FILE, _READ_DIRECTORY = 1 << 0, 1 << 2, 1 << 3
_OF_A_FILE = 0b1100000000000111  # execute, write, read, truncate, device ioctl: all that a file knows
_HANDLED = (1 << 13) - 1  # every right of the first version: reading, executing and all ways of writing


def confined(work: Callable[[], T], *, readable: Sequence[int], executable: Sequence[int]) -> T:
    """Do `work` where it and its children can read only `readable` and read and execute only `executable`: files, or folders
    with all that is below."""
    if not is_available():
        return work()
    return in_restricted_thread(lambda: _restrict_thread(readable, executable), work)


def in_restricted_thread(restrict: Callable[[], None], work: Callable[[], T]) -> T:
    """Do `work` in a thread that lives only for it, after `restrict` has bound that thread; wait for it.

    Whatever else runs there meanwhile, a finalizer for instance, is bound as well.
    """
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            restrict()
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
        return call(_CREATE_RULESET, None, 0, _VERSION)
    except OSError:
        return 0


def _restrict_thread(readable: Sequence[int], executable: Sequence[int]) -> None:
    grants = [(descriptor, _READ_FILE | _READ_DIRECTORY) for descriptor in readable]
    grants += [(descriptor, _READ_FILE | _READ_DIRECTORY | _EXECUTE) for descriptor in executable]
    restrict_to(grants, handled=(_HANDLED,))


def restrict_to(grants: Iterable[tuple[int, int]], *, handled: Sequence[int]) -> None:
    """Bind this thread, for good: of the rights `handled` (for files, ports and scopes, as far as this kernel knows them) it
    keeps those that `grants` give to an open file, or to a folder and all below it."""
    import ctypes

    attributes = (ctypes.c_uint64 * len(handled))(*handled)
    ruleset = call(_CREATE_RULESET, ctypes.byref(attributes), ctypes.sizeof(attributes), 0)
    try:
        for descriptor, rights in grants:
            _allow(ruleset, descriptor, rights)
        control(_NO_NEW_PRIVILEGES, 1)
        call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def control(option: int, *arguments: Any) -> None:
    """prctl. Raises OSError."""
    import ctypes

    padded = [*arguments, 0, 0, 0, 0][:4]
    converted = [ctypes.c_ulong(each) if isinstance(each, int) else each for each in padded]
    if _library().prctl(option, *converted) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl {option}: {os.strerror(code)}")


def _allow(ruleset: int, descriptor: int, rights: int) -> None:
    if not S_ISDIR(os.fstat(descriptor).st_mode):
        rights &= _OF_A_FILE
    rule = rights.to_bytes(8, sys.byteorder) + descriptor.to_bytes(4, sys.byteorder)  # a packed landlock_path_beneath_attr
    call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)


def call(number: int, *arguments: Any) -> int:
    """A system call by its number. Raises OSError."""
    import ctypes

    converted = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    result = _library().syscall(ctypes.c_long(number), *converted)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(result)


@cache
def _library() -> Any:
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library
