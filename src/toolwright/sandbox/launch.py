"""What a mechanism makes of a command: what to start instead, with which variables and descriptors."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Protocol

from msgspec import Struct

from toolwright.processes.child_process import Account, Launched
from toolwright.processes.temp_files import Owner
from toolwright.sandbox.policy import SandboxPolicy

_FOREIGN = "toolwright"


Starter = Callable[[Callable[[], Launched]], Launched]


def at_once(work: Callable[[], Launched]) -> Launched:
    return work()


class Launch(Struct, frozen=True):
    """A command in its sandbox, ready to be started."""

    argv: tuple[str, ...]
    environment: dict[str, str]
    keep: tuple[int, ...]
    """Descriptors the child has to inherit."""
    is_keeper: bool = False
    """Whether what is started is not the command but a process that keeps its sandbox, with whose end all is over."""
    is_over: Callable[[], bool] = lambda: True
    """Whether all is over by now: else who leaves has to wait for it."""
    notices: Callable[[], Sequence[str]] = tuple
    """What is to be told once it has ended: something happened to its sandbox while it ran."""
    becomes_user: bool = False
    """Whether it becomes the user that commands run as by itself, and so has to be started as we are."""
    start: Starter = at_once
    """Does the work of starting it, where and as it has to be done."""


class Inside(Struct, frozen=True):
    """A command as it will find itself: what is run, where, with which variables."""

    argv: Sequence[str]
    directory: str
    environment: Mapping[str, str]
    account: Account | None = None
    """The user it runs as, if that is not ours."""


class PrivateFolder(Struct, frozen=True):
    """A folder of the session, closed to everybody else, for the commands' temporary files and for what lies over secrets."""

    path: str

    @classmethod
    def for_another(cls, owner: tuple[int, int]) -> PrivateFolder:
        """One for commands that run as another user, who does not get through to folders of ours. Sweeps what others left."""
        import tempfile  # few run commands as somebody else

        place = tempfile.gettempdir()
        sweep_foreign(place, owner[0])
        folder = cls(os.path.join(place, Owner.this_process().new_name(_FOREIGN)))
        os.mkdir(folder.path, 0o700)  # fails on anything that is already there
        folder.set_up(owner)
        return folder

    @property
    def temporary(self) -> str:
        return os.path.join(self.path, "tmp")

    @property
    def unreadable(self) -> str:
        return os.path.join(self.path, "unreadable")

    @property
    def empty(self) -> str:
        return os.path.join(self.path, "empty")

    def set_up(self, owner: tuple[int, int] | None = None) -> None:
        """Make what is in it, for `owner` (a user and a group) if commands run as somebody else."""
        if os.path.isdir(self.temporary):
            return
        os.mkdir(self.temporary, 0o700)
        for path, mode in ((self.unreadable, 0o000), (self.empty, 0o444)):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            os.chmod(path, mode)
        for path in (self.path, self.temporary, self.unreadable, self.empty) if owner else ():
            os.chown(path, *(owner or ()))

    def file_of(self, name: str, content: bytes) -> str:
        """The path of a file with this content that commands can be given to read."""
        path = os.path.join(self.path, f"{name}-{hashlib.sha256(content).hexdigest()[:16]}")
        if not os.path.exists(path):
            unfinished = f"{path}.{os.urandom(8).hex()}"
            descriptor = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            with open(descriptor, "wb") as file:
                file.write(content)
                os.fchmod(descriptor, 0o444)
            os.rename(unfinished, path)
        return path

    def remove(self) -> None:
        import shutil  # hardly ever needed

        shutil.rmtree(self.path, ignore_errors=True)


def sweep_foreign(place: str, user: int) -> None:
    """Remove the folders for commands of `user` whose makers ended before they could."""
    for name in os.listdir(place):
        owner, path = Owner.of(name), os.path.join(place, name)
        if owner is None or not name.startswith(f"{_FOREIGN}-"):
            continue
        with suppress(OSError):
            status = os.lstat(path)
            is_theirs = stat.S_ISDIR(status.st_mode) and status.st_uid in (user, os.geteuid())
            if is_theirs and owner.is_gone(time.time() - status.st_mtime):
                PrivateFolder(path).remove()


def git_config_environment(policy: SandboxPolicy, inside: Inside, private: PrivateFolder) -> dict[str, str]:
    """For mechanisms that leave a home where it is: git gives up on a configuration that it sees and cannot read."""
    content = policy.git_config_for(inside.environment.get("HOME", ""))
    return {} if content is None else {"GIT_CONFIG_GLOBAL": private.file_of("gitconfig", content)}


class WayOut(Protocol):
    """A private network with a proxy in it, for commands that may reach some hosts (`egress` makes one)."""

    @property
    def descriptors(self) -> tuple[int, int]: ...

    @property
    def environment(self) -> dict[str, str]: ...

    @property
    def refused(self) -> int:
        """How many connections were refused so far."""
        ...

    def refused_in_words(self, since: int) -> str | None:
        """What to tell a model about the refusals after the first `since` ones."""
        ...

    async def start(self) -> None:
        """Make it if it is not there yet."""
        ...

    def entering(self, sandbox: Sequence[str]) -> list[str]:
        """The command line that starts a sandbox's command line in that network."""
        ...


class Backend(Protocol):
    """A way to hold commands to a policy."""

    @property
    def name(self) -> str:
        """What it is called where people read it."""
        ...

    def launch(self, policy: SandboxPolicy, inside: Inside, *, private: PrivateFolder, stack: ExitStack) -> Launch:
        """What to start so that `inside` runs under `policy`. What has to be undone afterwards goes on the `stack`."""
        ...
