"""The cage by bubblewrap, for kernels whose Landlock cannot hold it: a machine that holds nothing but what may be read.

The root is empty; the system's places and the working folders are mounted read-only at their own paths, and what rules hide is
covered. There is no network, and the processes of others do not exist.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress

from msgspec import Struct

from toolwright.sandbox import seccomp
from toolwright.sandbox.backends.bubblewrap import (
    ALONE,
    SandboxEnd,
    check_reachable,
    find_bubblewrap,
    options_descriptor,
    parents,
    processes,
)
from toolwright.sandbox.cage.cage import CagePolicy, StartGate, write_identity
from toolwright.sandbox.errors import SandboxUnavailable
from toolwright.sandbox.launch import Inside, Launch, PrivateFolder
from toolwright.sandbox.policy import is_within, is_within_any

_MAX_COPY_SIZE = 256 * 1024
_OWN = ("/proc", "/dev", "/sys")


class BubblewrapCage(Struct, frozen=True):
    """Cages made by bubblewrap and seccomp."""

    name: str = "bubblewrap"
    gated: bool = False

    def launch(
        self, policy: CagePolicy, inside: Inside, *, private: PrivateFolder, gate: StartGate | None, stack: ExitStack
    ) -> Launch:
        program = find_bubblewrap(policy.roots, inside.account)
        if program is None:
            raise SandboxUnavailable("The command was not started: bubblewrap, which held the cage, is gone.")
        check_reachable(program, inside)
        ended, copied = SandboxEnd(stack), _Copies(stack)
        options = options_descriptor([*ALONE, *_machine(policy, private, copied), "--chdir", inside.directory], stack)
        filter_ = seccomp.cage_filter_descriptor()
        stack.callback(os.close, filter_)
        argv = (program, "--unshare-net", "--info-fd", str(ended.theirs), "--args", str(options), "--seccomp", str(filter_))
        keep = (ended.theirs, options, filter_, *copied.descriptors)
        return Launch((*argv, "--", *inside.argv), dict(inside.environment), keep, is_keeper=True, is_over=ended.is_over)


class _Copies:
    """Small files that are copied into the cage: every mount costs a look at all mounts before it."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.descriptors: list[int] = []

    def options(self, path: str, at: str) -> tuple[str, ...] | None:
        """The options that copy the file to `at`; None if it is to be mounted."""
        with suppress(OSError):
            status = os.stat(path)
            if stat.S_ISREG(status.st_mode) and status.st_size <= _MAX_COPY_SIZE:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                self._stack.callback(os.close, descriptor)
                self.descriptors.append(descriptor)
                return ("--perms", "0444", "--file", str(descriptor), at)
        return None


def _machine(policy: CagePolicy, private: PrivateFolder, copied: _Copies) -> Iterator[str]:
    """The mounts, in an order in which the later one counts."""
    yield from ("--dev", "/dev", *processes(weaker=False))
    if policy.home not in policy.roots:
        identity = os.path.join(private.path, "gitconfig")
        write_identity(identity, policy.home)
        yield from ("--perms", "0700", "--dir", policy.home)
        yield from copied.options(identity, os.path.join(policy.home, ".gitconfig")) or ()
    mounted: list[str] = []
    for path in sorted((*_passable(policy.readable, private), *policy.roots), key=lambda path: path.count("/")):
        real = os.path.realpath(path)
        if is_within_any(path, (*_OWN, *mounted)):
            continue
        if real != path:
            yield from ("--symlink", real, path)
        if not is_within_any(real, mounted):
            mounted.append(real)
            yield from copied.options(real, real) or ("--ro-bind", real, real)
    for path in sorted(policy.hidden, key=lambda path: path.count("/")):
        yield from (*_cover(path, private), path)
    yield from ("--bind", private.temporary, private.temporary, "--remount-ro", "/")


def _passable(paths: Sequence[str], private: PrivateFolder) -> Sequence[str]:
    """The places that the user of the command can get to: who is not us starts bubblewrap without our rights."""
    if os.stat(private.path).st_uid == os.geteuid():
        return paths
    return [path for path in paths if all(os.stat(folder).st_mode & 0o001 for folder in parents(os.path.realpath(path)))]


def _cover(path: str, private: PrivateFolder) -> tuple[str, ...]:
    """Over a hidden folder an empty one, not to be entered unless the scratch lies in it; over a file one without rights."""
    if os.path.isdir(path):
        return ("--perms", "0555" if is_within(private.temporary, path) else "0000", "--size", "4096", "--tmpfs")
    return ("--ro-bind", private.unreadable)
