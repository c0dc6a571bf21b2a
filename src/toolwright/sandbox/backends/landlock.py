"""Landlock: a policy as grants, for machines where user namespaces are not allowed. Linux 6.2 or later.

Landlock grants and never denies: a grant on a folder holds for all that is below. So a folder with something hidden or
protected in it is not granted as a whole but name by name, as far as names are there when the command starts; new names cannot
be made in such a folder, nor can it be listed if something in it is hidden. Of a home only what commands need is granted. There
is no private network; see docs/security.md.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from msgspec import Struct

from toolwright.base import landlock
from toolwright.base.access import closed_folder
from toolwright.processes.child_process import Account
from toolwright.sandbox import seccomp
from toolwright.sandbox.errors import SandboxRefused, SandboxUnavailable
from toolwright.sandbox.launch import Inside, Launch, PrivateFolder, git_config_environment
from toolwright.sandbox.policy import SandboxPolicy, is_within, is_within_any

LEAST_VERSION = 3
"""The first version that keeps files outside from being truncated."""
SIGNALS_VERSION, NETWORK_VERSION, DEVICES_VERSION = 6, 4, 5
READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read a file, list a folder
WRITE_FILE = 1 << 1 | 1 << 14
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_NOT_READ = ("/tmp", "/var/tmp", "/dev", "/run", "/var/run")
_SEEN_OF_RUN = ("/run/current-system", "/run/wrappers", "/run/systemd/resolve")
_EVERY_PORT, _EVERY_SCOPE = 0b11, 0b11
_LAUNCHER = Path(__file__).with_name("landlock_launcher.py").read_text(encoding="utf-8")
"""Handed over as text, and read with this module: who starts commands may have become a user who cannot read it."""


@cache
def version() -> int:
    """The version of Landlock this kernel has, 0 for none."""
    return landlock.version()


class Landlocked(Struct, frozen=True):
    """Sandboxes by Landlock and seccomp, through an interpreter that takes them upon itself and becomes the command."""

    interpreter: str = ""
    """The Python that sets it up; this very one if not given."""
    name: str = "Landlock"

    def launch(self, policy: SandboxPolicy, inside: Inside, *, private: PrivateFolder, stack: ExitStack) -> Launch:
        if policy.network == "proxied":
            raise SandboxUnavailable(
                "The command was not started: allowed domains need a private network, which Landlock cannot give. Install "
                "bubblewrap (and allow user namespaces), or allow no domains."
            )
        interpreter = _interpreter(policy, self.interpreter)
        network_is_open = policy.network == "open"
        git = git_config_environment(policy, inside, private)
        granted = [*grants(policy, private.temporary), *((path, READ) for path in git.values())]
        temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), private.temporary)
        environment = {"XDG_CACHE_HOME": os.path.join(private.temporary, ".cache"), **inside.environment, **temporary, **git}
        what = _restrictions(granted, network_is_open) | {"environment": environment, "account": _ids(inside.account)}
        plan = _descriptor(json.dumps(what).encode(), stack)
        filter_ = seccomp.filter_descriptor(unix=policy.allows_unix, inet=network_is_open, owners=False)
        stack.callback(os.close, filter_)
        argv = (interpreter, "-I", "-S", "-c", _LAUNCHER, str(plan), str(filter_), *inside.argv)
        return Launch(argv, _launchers_environment(), (plan, filter_), becomes_user=inside.account is not None)


def _interpreter(policy: SandboxPolicy, chosen: str) -> str:
    """This very interpreter by its real path: what a virtual environment in the workspace says is not asked."""
    path = os.path.realpath(chosen or "/proc/self/exe")
    if is_within_any(path, policy.writable):
        raise SandboxUnavailable(f"{path} lies in a folder that commands may write to, so it cannot be trusted to hold them.")
    if not os.access(path, os.X_OK, effective_ids=True):
        raise SandboxUnavailable(_unreachable(path))
    return path


def _unreachable(path: str) -> str:
    folder = closed_folder(path, os.geteuid(), (os.getegid(), *os.getgroups()))
    why = f"this user may not enter {folder}" if folder else "this user may not run it"
    return (
        f"The command was not started: Landlock is set up by the Python at {path}, and {why}. Run toolwright with a Python "
        f"that this user can run{f', or open that folder (chmod o+x {folder})' if folder else ''}."
    )


def _ids(account: Account | None) -> tuple[int, int, tuple[int, ...]] | None:
    return None if account is None else (account.uid, account.gid, account.groups)


def _launchers_environment() -> dict[str, str]:
    """Nothing that was meant for the command: what sets the sandbox up may be root, the command need not."""
    return {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}


def _restrictions(granted: Sequence[tuple[str, int]], network_is_open: bool) -> dict[str, object]:
    known = version()
    handled = (1 << 15 if known < DEVICES_VERSION else 1 << 16) - 1
    return {
        "handled": [
            handled,
            _EVERY_PORT if known >= NETWORK_VERSION and not network_is_open else 0,
            _EVERY_SCOPE if known >= SIGNALS_VERSION else 0,
        ],
        "size": 24 if known >= SIGNALS_VERSION else 16 if known >= NETWORK_VERSION else 8,
        "parent": os.getpid(),
        "grants": [(path, rights & handled) for path, rights in granted],
    }


def grants(policy: SandboxPolicy, temporary: str) -> Iterator[tuple[str, int]]:
    """Paths and the rights that hold for each and all below it. Raises `SandboxRefused` if it cannot be said in grants."""
    if policy.everything_writable:
        raise SandboxRefused("The command was not started: Landlock cannot close the network and leave all files open.")
    everything = (1 << 16) - 1
    homes = tuple(home.path for home in policy.homes)
    for path in cover("/", (*policy.unreadable, *homes, *_NOT_READ)):
        yield path, READ
    for path in (*policy.readable_of_homes, *policy.shown, *_SEEN_OF_RUN, *policy.unix_sockets):
        yield from ((each, READ) for each in cover(path, policy.unreadable))
    for path in DEVICES:
        yield path, READ | WRITE_FILE
    kept = (*policy.unreadable, *(policy.frozen if policy.weaker else (*policy.read_only, *policy.absent)))
    for root in policy.writable:
        yield from ((path, READ) for path in cover(root, policy.unreadable))
        yield from ((path, everything) for path in cover(root, kept) if path not in policy.protected)
    yield temporary, everything


def cover(path: str, without: Sequence[str]) -> Iterator[str]:
    """The fewest paths that hold all of `path`, as it is now, but nothing of `without`. Links are left out."""
    inside = [each for each in without if is_within(each, path)]
    if not inside:
        yield path
    elif path not in inside:
        for child in _children(path):
            yield from cover(child, inside)


def _children(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if not entry.is_symlink()]
    except OSError:
        return []


def _descriptor(data: bytes, stack: ExitStack) -> int:
    descriptor = os.memfd_create("toolwright-sandbox", os.MFD_CLOEXEC)
    stack.callback(os.close, descriptor)
    while data:
        data = data[os.write(descriptor, data) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
