"""Which mechanism this machine has, what is missing for a better one, and what brings it. Never a silent step down to none."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from toolwright.processes.child_process import Account
from toolwright.sandbox import seccomp
from toolwright.sandbox.backends import bubblewrap, seatbelt
from toolwright.sandbox.backends import landlock as landlocked
from toolwright.sandbox.errors import SandboxUnavailable
from toolwright.sandbox.launch import Backend

_TRY = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-net",
    "--disable-userns",
    "--cap-drop",
    "ALL",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
)
_TIMEOUT = 20.0
VARIABLE = "TOOLWRIGHT_SANDBOX"
"""Names the one mechanism to use (`bubblewrap`, `landlock`) instead of the best."""
_SYSTEM_PACKAGE = "apt install bubblewrap, dnf install bubblewrap"
_INSTALL = f"{_SYSTEM_PACKAGE}, or pip install 'toolwright[sandbox]'"
_SWITCHES = (
    ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor lets only known programs make user namespaces "
     "(an AppArmor profile for bwrap allows it)"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "user namespaces are off (sysctl kernel.unprivileged_userns_clone=1)"),
    ("/proc/sys/user/max_user_namespaces", "0", "user namespaces are off (sysctl user.max_user_namespaces=15000)"),
)  # fmt: skip


class Availability(Struct, frozen=True):
    """Whether a mechanism can be used here; if not, what is in the way and what helps."""

    name: str
    problem: str | None
    remedy: str = ""

    @property
    def works(self) -> bool:
        return self.problem is None


def availabilities(
    *, forbidden: Sequence[str] = (), weaker: bool = False, account: Account | None = None
) -> tuple[Availability, ...]:
    """Every mechanism for this system, best first. `forbidden` are folders no program of ours may lie in; `account` runs the
    commands, if that is not our own."""
    if sys.platform == "darwin":
        return (_seatbelt(),)
    if sys.platform != "linux":
        return ()
    return (_bubblewrap(tuple(forbidden), weaker, account), _landlock())


def choose(register: str, *, forbidden: Sequence[str] = (), weaker: bool = False, account: Account | None = None) -> Backend:
    """The best mechanism that works here, or the wanted one. Raises `SandboxUnavailable`, which says what is missing."""
    known = wanted(availabilities(forbidden=forbidden, weaker=weaker, account=account), os.environ.get(VARIABLE, ""))
    return made(pick(known), register, forbidden, account)


def wanted(known: Sequence[Availability], name: str) -> Sequence[Availability]:
    """The one of this name, or all of them if none is named. Raises `SandboxUnavailable` for a name that is not known here."""
    found = [each for each in known if not name or each.name.casefold() == name.casefold()]
    if name and not found:
        names = " or ".join(each.name.casefold() for each in known) or "nothing"
        raise SandboxUnavailable(f"{VARIABLE} is {name!r}, but it must be {names} on this system. No command is run.")
    return found


def pick(known: Sequence[Availability]) -> str:
    """The name of the first that works."""
    for each in known:
        if each.works:
            return each.name
    reasons = "; ".join(f"{each.name}: {each.problem} ({each.remedy})" for each in known) or f"none is known for {sys.platform}"
    raise SandboxUnavailable(
        f"A sandbox was asked for, but none works here, so no command is run. {reasons}. To run commands without one "
        "after all, set sandbox.failIfUnavailable to false, or sandbox.enabled."
    )


def made(name: str, register: str, forbidden: Sequence[str] = (), account: Account | None = None) -> Backend:
    """The mechanism of this name, which works here."""
    if name == "bubblewrap":
        program = bubblewrap.find_bubblewrap(forbidden, account)
        assert program is not None  # it was there a moment ago
        return bubblewrap.Bubblewrap(program, register)
    return landlocked.Landlocked() if name == "Landlock" else seatbelt.Seatbelt()


def _bubblewrap(forbidden: tuple[str, ...], weaker: bool, account: Account | None) -> Availability:
    if not seccomp.is_available():
        return Availability("bubblewrap", f"no list of system calls for {os.uname().machine}", "x86_64 and aarch64 are known")
    program = bubblewrap.find_bubblewrap(forbidden, account)
    if program is None:
        return Availability("bubblewrap", "the program bwrap is not installed", _INSTALL)
    closed = bubblewrap.unreachable(program, account)
    if closed is not None:
        return Availability("bubblewrap", f"{program}: {closed}", _SYSTEM_PACKAGE)
    problem = _tried(program, weaker)
    return Availability("bubblewrap", problem, _remedy() if problem else "")


@cache
def _tried(program: str, weaker: bool) -> str | None:
    """What stops bubblewrap here, by trying it."""
    processes = ("--ro-bind", "/proc", "/proc") if weaker else ("--proc", "/proc")
    try:
        done = subprocess.run(
            (program, *_TRY, *processes, "--", "/bin/sh", "-c", "exit 0"),
            env={"PATH": "/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT,
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{program} cannot be run: {error}"
    return None if done.returncode == 0 else f"{program} says: {done.stderr.decode('utf-8', 'replace').strip()[:300]}"


def _remedy() -> str:
    for path, value, text in _SWITCHES:
        try:
            with open(path) as file:
                if file.read().strip() == value:
                    return text
        except OSError:
            continue
    return "in a container: allow user namespaces in it, and set sandbox.enableWeakerNestedSandbox if only /proc is refused"


def _landlock() -> Availability:
    version = landlocked.version()
    if not seccomp.is_available():
        return Availability("Landlock", f"no list of system calls for {os.uname().machine}", "x86_64 and aarch64 are known")
    if version < landlocked.LEAST_VERSION:
        problem = (
            f"this kernel has version {version}, needed is {landlocked.LEAST_VERSION}" if version else "this kernel has none"
        )
        return Availability("Landlock", problem, "Linux 6.2 or later, with landlock among the boot option lsm=")
    return Availability("Landlock", None)


def _seatbelt() -> Availability:
    if os.access(seatbelt.PROGRAM, os.X_OK):
        return Availability("Seatbelt", None)
    return Availability("Seatbelt", f"{seatbelt.PROGRAM} is missing", "it is part of macOS")
