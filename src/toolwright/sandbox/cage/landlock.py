"""The cage by Landlock and seccomp, for the price of a thread: both belong to a thread and are inherited by what it starts.

A thread takes the restrictions upon itself, starts the command and ends; this process stays free. bash waits at a gate until
its mark is set from outside: in the cage nobody can change the limit that carries it, so whatever it starts is found.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import lru_cache

from msgspec import Struct

from toolwright.base import landlock
from toolwright.base.open_beneath import PATH_ONLY, open_unlinked
from toolwright.processes.child_process import Launched
from toolwright.processes.restricted_threads import run_restricted
from toolwright.sandbox import seccomp
from toolwright.sandbox.backends.landlock import DEVICES, READ, WRITE_FILE, cover
from toolwright.sandbox.cage.cage import CagePolicy, StartGate, caged_home
from toolwright.sandbox.launch import Inside, Launch, PrivateFolder

_LIST = 1 << 3
_EVERYTHING = (1 << 16) - 1
_EVERY_PORT, _EVERY_SCOPE = 0b11, 0b11
_SET_SECCOMP, _FILTER, _CAPBSET_DROP, _CAP_AMBIENT, _CLEAR_ALL = 22, 2, 24, 47, 4
_CAPSET = {"x86_64": 126, "aarch64": 91}
_READ_ANY_FILE, _SETGID, _SETUID = 2, 6, 7
_LAST_CAPABILITY = 63


Grants = tuple[tuple[str, int], ...]
"""Paths, and the rights on each and all below it."""


class LandlockCage(Struct, frozen=True):
    """Cages made by the kernel for a thread of ours and its children. Linux 6.12 or later."""

    name: str = "Landlock"

    gated: bool = True

    def launch(
        self, policy: CagePolicy, inside: Inside, *, private: PrivateFolder, gate: StartGate | None, stack: ExitStack
    ) -> Launch:
        home = policy.home if policy.home in policy.roots else caged_home(private, policy)
        grants = tuple(_grants(policy, private.temporary, home))

        def start(work: Callable[[], Launched]) -> Launched:
            calls = seccomp.cage_program_here(marks_itself=gate is None)
            launched = run_restricted((_identities(grants), calls), lambda: _enter(grants, calls), work)
            if gate is not None:
                gate.open_for(launched)
            return launched

        keep = () if gate is None else (gate.theirs,)
        return Launch(tuple(inside.argv), {**inside.environment, "HOME": home}, keep, start=start)


def _identities(grants: Grants) -> tuple[tuple[str, int, int, int], ...]:
    """The grants, with the files that they are about now: one that was replaced needs another thread."""
    found = []
    for path, rights in grants:
        with suppress(OSError):
            status = os.lstat(path)
            found.append((path, rights, status.st_dev, status.st_ino))
    return tuple(found)


def _enter(grants: Grants, calls: bytes) -> None:
    with ExitStack() as stack:
        restrict_thread(tuple(_open(grants, stack)), calls)


def restrict_thread(grants: tuple[tuple[int, int], ...], calls: bytes) -> None:
    """Bind this thread, and what it starts, to the cage; `calls` is the filter of system calls.

    As root it keeps the right to read what it is granted, and to become the user that commands run as.
    """
    if os.geteuid() == 0:
        _keep_capabilities((_READ_ANY_FILE, _SETGID, _SETUID))
    landlock.restrict_to(grants, handled=(_EVERYTHING, _EVERY_PORT, _EVERY_SCOPE))
    _filter_calls(calls)


def _keep_capabilities(kept: tuple[int, ...]) -> None:
    import ctypes

    landlock.control(_CAP_AMBIENT, _CLEAR_ALL)
    for number in range(_LAST_CAPABILITY + 1):
        if number not in kept:
            with suppress(OSError):  # no capability of this number
                landlock.control(_CAPBSET_DROP, number)
    low = sum(1 << number for number in kept)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    landlock.call(_CAPSET[os.uname().machine], ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)(low, low, 0, 0, 0, 0)))


def _filter_calls(program: bytes) -> None:
    import ctypes

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))

    landlock.control(_SET_SECCOMP, _FILTER, ctypes.byref(Program(len(program) // 8, program)))


def _grants(policy: CagePolicy, scratch: str, home: str) -> Iterator[tuple[str, int]]:
    """Paths and rights. Folders in which something is hidden can be listed; what is read is granted name by name."""
    for path in _real(policy.readable):
        yield path, READ
    yield home, READ if home != policy.home else _LIST
    for path in DEVICES:
        yield path, READ | WRITE_FILE
    for root in policy.roots:
        yield root, _LIST
        yield from ((path, READ) for path in cover(root, policy.hidden))
    yield scratch, _EVERYTHING


@lru_cache(maxsize=16)
def _real(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(os.path.realpath, paths)))


def _open(grants: Grants, stack: ExitStack) -> Iterator[tuple[int, int]]:
    """The paths as descriptors; one that is gone, or has become a link meanwhile, is not granted."""
    for path, rights in grants:
        with suppress(OSError):
            descriptor = open_unlinked(path, PATH_ONLY)
            stack.callback(os.close, descriptor)
            yield descriptor, rights
