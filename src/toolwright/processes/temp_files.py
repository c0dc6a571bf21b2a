"""What is temporary, whose it is, and what a session leaves that was killed before it could tidy up.

One private folder per state folder holds it all: the scratch folders themselves; for each write under way a link that names
the unfinished file, which stands beside its target; and for each session that ran commands a note of the mark its processes
carry. Every name tells the process that made it, so the next session to start finds what belongs to no living process and
removes it, without looking through any tree.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress

from msgspec import Struct

from toolwright.base.open_beneath import DIRECTORY, open_beneath, release
from toolwright.processes.process_tree import kill_session

FOLDER_NAME = "toolwright-temporary"
FOREIGN_TIMEOUT = 24 * 3600.0
"""Seconds until what a process of another container left counts as abandoned: we cannot see whether that one lives."""
SWEEP_PAUSE = 60.0
"""Seconds for which a process that starts many sessions does not look again."""

MAX_KEPT = 16
"""For so many folders a session keeps the note of its last write, to be used for the next one."""

_COMMANDS = "commands"
_OURS = re.compile(r"\.toolwright-[0-9a-f]{16}\.tmp")
_last_looks: dict[str, float] = {}


def temporary_name() -> str:
    """A name for an unfinished file, like no other."""
    return f".toolwright-{os.urandom(8).hex()}.tmp"


class Owner(Struct, frozen=True):
    """A process, told apart from a later one of the same number by when it started (in ticks since the machine did)."""

    namespace: int
    pid: int
    started: int

    @classmethod
    def this_process(cls) -> Owner:
        global _this_process
        if _this_process is None or _this_process.pid != os.getpid():  # a fork is another process
            _this_process = cls(_namespace(), os.getpid(), _start_of(os.getpid()) or 0)
        return _this_process

    @classmethod
    def of(cls, name: str) -> Owner | None:
        """The owner a name tells; None if it is no name of ours."""
        numbers = name.split("-")[1:4]
        return cls(*map(int, numbers)) if len(numbers) == 3 and all(map(str.isdecimal, numbers)) else None

    def new_name(self, kind: str) -> str:
        return f"{kind}-{self.namespace}-{self.pid}-{self.started}-{os.urandom(8).hex()}"

    def is_gone(self, age: float) -> bool:
        """Whether the process has ended, as far as can be told; `age` is that of what it left."""
        if self.namespace != Owner.this_process().namespace:
            return age > FOREIGN_TIMEOUT
        return _start_of(self.pid) != self.started


_this_process: Owner | None = None


def _namespace() -> int:
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def _start_of(pid: int) -> int | None:
    """When a living process started; 0 where the system does not tell; None if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None if os.path.exists("/proc/self/stat") else _start_by_signal(pid)
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def _start_by_signal(pid: int) -> int | None:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        pass
    return 0


class Draft(Struct, frozen=True):
    """The name of a file that is written in `folder` until it has its own, and the note of it; None if none could be made."""

    folder: str
    name: str
    note: str | None
    pid: int

    @property
    def is_noted(self) -> bool:
        """Whether the note is there and ours: a fork is another process, and state folders are sometimes tidied up."""
        return self.note is not None and self.pid == os.getpid() and os.path.lexists(self.note)


def unnoted_draft(folder: str) -> Draft:
    """For writes that nobody will tidy up after."""
    return Draft(folder, temporary_name(), None, os.getpid())


class TemporaryFolder:
    """The folder for what is temporary, below `state_dir`. It is made when it is first needed."""

    __slots__ = ("_kept", "path")

    def __init__(self, state_dir: str) -> None:
        self.path = os.path.join(os.path.abspath(state_dir), FOLDER_NAME)
        self._kept: dict[str, Draft] = {}

    def make_scratch(self) -> str:
        """A new folder that only we can enter, by its real path."""
        make_private_folder(self.path)
        path = os.path.join(os.path.realpath(self.path), Owner.this_process().new_name("scratch"))
        os.mkdir(path, 0o700)  # fails on anything that is already there
        os.chmod(path, 0o700)  # whatever the umask took away
        return path

    def draft(self, folder: str, *, fresh: bool = False) -> Draft:
        """A name for a file that is about to be made in `folder` and should not outlive us.

        It may have been used before unless it is to be `fresh`. Where no note can be made, the write goes on.
        """
        kept = None if fresh else self._kept.pop(folder, None)
        if kept is not None and kept.is_noted:
            return kept
        name = temporary_name()
        return Draft(folder, name, self._announce(os.path.join(folder, name)), os.getpid())

    def keep(self, draft: Draft) -> None:
        """The file is gone, or where it belongs: the next write in its folder may use the name and the note again."""
        if draft.note is None:
            return
        if len(self._kept) >= MAX_KEPT:
            self.withdraw(self._kept.popitem()[1].note)
        if self._kept.setdefault(draft.folder, draft) is not draft:
            self.withdraw(draft.note)

    def forget_drafts(self) -> None:
        while self._kept:
            draft = self._kept.popitem()[1]
            if draft.pid == os.getpid():
                self.withdraw(draft.note)

    def _announce(self, unfinished: str) -> str | None:
        note = os.path.join(self.path, Owner.this_process().new_name("write"))
        with suppress(OSError):
            try:
                os.symlink(unfinished, note)
            except FileNotFoundError:
                make_private_folder(self.path)
                os.symlink(unfinished, note)
            return note
        return None

    def note_commands(self, session: int) -> str | None:
        """Note that processes with the mark of `session` should not outlive us. None if no note can be made."""
        owner = Owner.this_process()
        note = os.path.join(self.path, f"{_COMMANDS}-{owner.namespace}-{owner.pid}-{owner.started}-{session}")
        with suppress(OSError):
            make_private_folder(self.path)
            os.close(os.open(note, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            return note
        return None

    def withdraw(self, note: str | None) -> None:
        """What was noted is gone, or is where it belongs."""
        if note is not None:
            with suppress(OSError):
                os.unlink(note)

    def sweep_now_and_then(self) -> None:
        now = time.monotonic()
        if now - _last_looks.get(self.path, -SWEEP_PAUSE) >= SWEEP_PAUSE:
            _last_looks[self.path] = now
            self.sweep()

    def sweep(self) -> None:
        """Remove what belongs to no living process. What cannot be removed stays for the next time."""
        try:
            names = os.listdir(self.path)
        except OSError:
            return
        for name in names:
            with suppress(OSError):
                self._remove_if_abandoned(name)

    def _remove_if_abandoned(self, name: str) -> None:
        owner, path = Owner.of(name), os.path.join(self.path, name)
        if owner is None or not owner.is_gone(time.time() - os.lstat(path).st_mtime):
            return
        if os.path.islink(path):
            _remove_unfinished(os.readlink(path))
            os.unlink(path)
        elif name.startswith(f"{_COMMANDS}-"):
            _end_commands(name, path)
        else:
            import shutil  # hardly ever needed

            shutil.rmtree(path, ignore_errors=True)


def _end_commands(name: str, path: str) -> None:
    session = name.rpartition("-")[2]
    if not session.isdecimal() or kill_session(int(session)):
        os.unlink(path)


def _remove_unfinished(path: str) -> None:
    """Remove a temporary file of ours by its real path. Anything else stays, and so does what a link leads to."""
    folder, name = os.path.split(path)
    if not _OURS.fullmatch(name):
        return
    root = os.open("/", DIRECTORY)
    try:
        descriptor = open_beneath(root, [part for part in folder.split("/") if part], DIRECTORY)
        try:
            os.unlink(name, dir_fd=descriptor)
        finally:
            release(descriptor)
    except (FileNotFoundError, NotADirectoryError):
        return
    finally:
        release(root)


def make_private_folder(path: str) -> None:
    """Make a folder and what is missing above it, for the owner alone. Folders that exist stay as they are."""
    if os.path.isdir(path):
        return
    make_private_folder(os.path.dirname(path))
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
        os.chmod(path, 0o700)  # a strict umask may have taken more than it should
