"""The cage: where a command runs that no person was asked about, because it only looks.

It reads an allow list (the working folders without what rules hide, and places of the system), writes nothing but a private
scratch and /dev/null, reaches no network, no process and no kernel object of others, and leaves nothing running. What its
text says does not matter: the kernel holds it.
"""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from typing import Protocol

from msgspec import Struct

from toolwright.base.worker_threads import in_thread
from toolwright.processes.child_process import Account, Launched
from toolwright.processes.descriptors import GATE, moved_up
from toolwright.processes.git_environment import git_environment
from toolwright.processes.process_tree import Mark
from toolwright.sandbox.errors import SandboxRefused
from toolwright.sandbox.git_identity import git_identity
from toolwright.sandbox.launch import Inside, Launch, PrivateFolder
from toolwright.sandbox.policy import Matcher, is_within, is_within_any, no_path

_SYS_RESOURCE = 24
_LOCKS = 10
"""RLIMIT_LOCKS, which Python has no name for."""
MAX_ENTRIES = 250_000
"""Names in the working folders that are held against deny rules before each command."""


_one_at_a_time = threading.Lock()


class CageRules(Struct, frozen=True):
    """What holds for every command in the cage. All paths are absolute."""

    roots: tuple[str, ...]
    """The working folders."""
    readable: tuple[str, ...]
    """Places of the system and of programs."""
    home: str
    hidden: tuple[str, ...] = ()
    """Paths that cannot be read although they lie in a working folder: secrets, and what deny rules name in full."""
    is_hidden: Matcher = no_path
    """Deny rules for reading; asked for every path in the working folders."""


class CagePolicy(Struct, frozen=True):
    """What one command may read, now."""

    roots: tuple[str, ...]
    readable: tuple[str, ...]
    hidden: tuple[str, ...]
    home: str


class CageBackend(Protocol):
    """A way to hold commands to a cage."""

    @property
    def name(self) -> str: ...

    @property
    def gated(self) -> bool:
        """Whether a command is to wait at a gate for its mark, because nothing else finds all that it leaves."""
        ...

    def launch(
        self, policy: CagePolicy, inside: Inside, *, private: PrivateFolder, gate: StartGate | None, stack: ExitStack
    ) -> Launch:
        """What to start so that `inside` runs under `policy`. What has to be undone afterwards goes on the `stack`."""
        ...


class StartGate:
    """Where bash waits before its first word until its mark is set from outside, by us: in the cage nobody can change it."""

    __slots__ = ("_mark", "_ours", "theirs")

    def __init__(self, mark: Mark, stack: ExitStack) -> None:
        self._mark = mark
        theirs, self._ours = os.pipe()
        self.theirs = moved_up(theirs, GATE)
        stack.callback(os.close, self.theirs)
        stack.callback(os.close, self._ours)

    @property
    def words(self) -> str:
        """What bash runs first. If we are gone before it has its mark, nobody would find it: then it does not begin."""
        return f"builtin read -r -u {self.theirs} || exit 125; exec {self.theirs}<&-; "

    def open_for(self, launched: Launched) -> None:
        """Mark the process, by which it and all that comes of it are found, and let it go on."""
        try:
            hard = resource.prlimit(launched.process.pid, _LOCKS)[1]
            resource.prlimit(launched.process.pid, _LOCKS, (self._mark.value, hard))
            os.write(self._ours, b"\n")
        except BaseException:
            launched.collect()
            raise


def make_mechanism(name: str) -> CageBackend:
    """The mechanism of this name, which works here."""
    if name == "Landlock":
        from toolwright.sandbox.cage.landlock import LandlockCage

        return LandlockCage()
    from toolwright.sandbox.cage.bubblewrap import BubblewrapCage

    return BubblewrapCage()


@cache
def may_limit_others() -> bool:
    """Whether we may set limits of another user's processes; containers often do not let even root."""
    with suppress(OSError), open("/proc/self/status", "rb") as file:
        return any(line.startswith(b"CapEff:") and int(line.split()[1], 16) >> _SYS_RESOURCE & 1 for line in file)
    return False


class Cage:
    """The cage of a session's commands; `rules` is asked for at every command, since folders and rules can change."""

    __slots__ = ("_mechanism", "_private", "_rules", "stopped")

    def __init__(self, mechanism: CageBackend, rules: Callable[[], CageRules], *, private: Callable[[], PrivateFolder]) -> None:
        self._mechanism = mechanism
        self._rules = rules
        self._private = private
        self.stopped: set[str] = set()
        """The commands that it kept from what they wanted."""

    def for_command(
        self, directory: str, mark: Mark, shown: Sequence[str] = (), *, account: Account | None = None
    ) -> CagedCommand:
        """A cage for one command in the folder `directory`; `shown` can be read as well; `account` runs it, if not we do."""
        return CagedCommand(self, directory, mark, shown, account)

    @property
    def gated(self) -> bool:
        return self._mechanism.gated

    def launch(self, inside: Inside, gate: StartGate | None, *, shown: Sequence[str], stack: ExitStack) -> Launch:
        """What to start in place of `inside`. Looks through folders if rules hide files. Raises `SandboxRefused`."""
        private = self._private()
        policy = cage_policy(self._rules(), shown)
        environment = {
            **git_environment(inside.environment, looking=True),
            **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), private.temporary),
            "XDG_CACHE_HOME": os.path.join(private.temporary, ".cache"),
        }
        caged = Inside(inside.argv, inside.directory, environment, inside.account)
        return self._mechanism.launch(policy, caged, private=private, gate=gate, stack=stack)


class CagedCommand:
    """The cage of one command, from just before it starts until it has ended."""

    leaves_nothing = True
    __slots__ = ("_account", "_cage", "_directory", "_gate", "_mark", "_shown", "_stack", "has_keeper", "is_over")

    def __init__(self, cage: Cage, directory: str, mark: Mark, shown: Sequence[str], account: Account | None) -> None:
        self._cage = cage
        self._directory = directory
        self._mark = mark
        self._account = account
        self._shown = shown
        self._stack = ExitStack()
        self.has_keeper = False
        self.is_over: Callable[[], bool] = lambda: True
        self._gate: StartGate | None = None

    def first_words(self, marking: str) -> str:
        """What bash runs first, if it has to, in place of `marking`, by which it would mark itself."""
        if self._cage.gated and (self._account is None or may_limit_others()):
            self._gate = StartGate(self._mark, self._stack)
        return marking if self._gate is None else self._gate.words

    async def enter(self, argv: Sequence[str], environment: Mapping[str, str]) -> Launch:
        """What to start. Raises `SandboxRefused` or `SandboxUnavailable`; then nothing may be started."""
        inside = Inside(argv, self._directory, dict(environment), self._account)
        launch = await in_thread(lambda: self._cage.launch(inside, self._gate, shown=self._shown, stack=self._stack))
        self.has_keeper, self.is_over = launch.is_keeper, launch.is_over
        return launch

    def notices(self, command: str, exit_code: int, output: str) -> list[str]:
        """What to tell the model, once the command has ended, about what the cage kept it from."""
        wanted = stopped_by_cage(output)
        if wanted is None:
            return []
        self._cage.stopped.add(command)
        return [CAGE_NOTICE.format(wanted=wanted)]

    def leave(self) -> None:
        self.is_over = lambda: True
        self._stack.close()


CAGE_NOTICE = (
    "Nobody was asked about this command, so it ran where nothing can be written or reached and only the working folders can "
    "be read. It needs permission to {wanted}: make the same call again and the person is asked."
)
_WRITE_SIGNS = ("Read-only file system", "Operation not permitted", "EROFS", "EPERM")
_READ_SIGNS = ("Permission denied", "EACCES")
_NETWORK_SIGNS = (
    *("Network is unreachable", "Could not resolve host", "Temporary failure in name resolution", "ENETUNREACH", "EAI_AGAIN"),
    *("Name or service not known", "socket: Operation not permitted"),
)
_MAX_TEXT = 200_000


def stopped_by_cage(output: str) -> str | None:
    """What a command wanted that the cage does not give, as far as its output tells: words after "permission to"."""
    lines = [line for line in output[-_MAX_TEXT:].split("\n") if ": " in line]
    if any(sign in line for line in lines for sign in _NETWORK_SIGNS):
        return "reach the network"
    if any(line.rstrip().endswith(sign) or f"{sign}:" in line for line in lines for sign in _WRITE_SIGNS):
        return "write or change something outside its scratch folder ($TMPDIR)"
    if any(line.rstrip().endswith(sign) or f"{sign}:" in line for line in lines for sign in _READ_SIGNS):
        return "write, or to read outside the working folders"
    return None


def cage_policy(rules: CageRules, shown: Sequence[str] = ()) -> CagePolicy:
    """What a command that starts now may read. Raises `SandboxRefused` where rules hide files among too many names."""
    roots = tuple(dict.fromkeys(os.path.realpath(root) for root in rules.roots))
    named = (end for path in rules.hidden if os.path.lexists(path) for end in (path, os.path.realpath(path)))
    hidden = [path for path in named if is_within_any(path, roots) and not is_within_any(path, shown)]
    if rules.is_hidden is not no_path:
        hidden += [end for root in roots for path in _hidden_below(root, rules.is_hidden) for end in _ends(path)]
    # A root that lies in a secret place was chosen by the person.
    kept = tuple(dict.fromkeys(path for path in hidden if path not in roots and not any(is_within(r, path) for r in roots)))
    return CagePolicy((*roots, *shown), rules.readable, kept, os.path.realpath(rules.home))


def _ends(path: str) -> tuple[str, str]:
    return path, os.path.realpath(path)


def _hidden_below(root: str, is_hidden: Matcher) -> Iterator[str]:
    """The paths below `root` that rules hide; a folder that is hidden is not looked into."""
    waiting, seen = [root], 0
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:  # what we cannot list, the command cannot either
            for entry in entries:
                seen += 1
                if is_hidden(entry.path):
                    yield entry.path
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
        if seen > MAX_ENTRIES:
            raise SandboxRefused(
                f"The command was not started: {root} holds more than {MAX_ENTRIES:,} names, too many to hold against the "
                "deny rules before every command. It needs permission: make the same call again and the person is asked."
            )


def caged_home(private: PrivateFolder, policy: CagePolicy) -> str:
    """A home for the cage where no mount can stand in for the real one: an own folder, with links to what of home can be read.

    What is not granted cannot be read through a link either.
    """
    with _one_at_a_time:
        return _made_home(os.path.join(private.path, "home"), policy)


def _made_home(home: str, policy: CagePolicy) -> str:
    os.makedirs(home, 0o755, exist_ok=True)
    for place in (*policy.roots, *policy.readable):
        if place.startswith(f"{policy.home}/"):
            link = os.path.join(home, place[len(policy.home) + 1 :])
            if not os.path.lexists(link):
                os.makedirs(os.path.dirname(link), 0o755, exist_ok=True)
                os.symlink(place, link)
    write_identity(os.path.join(home, ".gitconfig"), policy.home)
    return home


def write_identity(path: str, home: str) -> None:
    """Let the file at `path` hold what git may know of the person whose home it is."""
    content = git_identity(home)
    with suppress(OSError), open(path, "rb") as file:
        if file.read() == content:
            return
    draft = f"{path}-{threading.get_ident()}"
    with open(draft, "wb") as file:
        file.write(content)
    os.replace(draft, path)
