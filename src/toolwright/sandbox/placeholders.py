"""Placeholders on the host for protected names that are not there, so that a sandbox has something to put its cover on.

A cover needs a name to lie on. So while commands run, something stands there that git passes over, so that nobody adds it to a
repository by mistake: the name of a socket, or an empty folder for a few. It goes when the last command in that folder has
ended: a lock on the folder, which any number can share, tells other processes that it is in use. It is known by a time that no
real file has (`base/placeholder_files.py`), and goes only if it is still exactly that. What a killed process left is swept
before the next session reads anything: it is in a register, or, where that is another's, found by name.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

from msgspec import Struct

from toolwright.base.placeholder_files import TIME, stands_in
from toolwright.processes.temp_files import FOLDER_NAME, make_private_folder
from toolwright.sandbox.errors import SandboxRefused
from toolwright.sandbox.policy import ProtectedNames

_SIGNS = (".toolwright", ".mcp.json", ".claude", ".git", "CLAUDE.md", ".envrc")
"""Of the names that a killed process left, one of these is hardly ever missing."""
_FOLDERS = frozenset({".git", ".claude", ".config"})
"""Names where an empty folder stands: a person's git, or an answer that is to be kept, may fill it meanwhile. A socket costs
less, and no command of git removes one."""
_LOCK_TIMEOUT, _SHORT_TIMEOUT = 5.0, 0.5
_LOCK = struct.Struct("hhqqixxxx")
_TICK = 0.005
_NOT_OURS_TO_MAKE = (errno.EACCES, errno.EPERM, errno.EROFS)


class _Use(Struct):
    descriptor: int
    commands: int


_uses: dict[str, _Use] = {}
_guard = threading.Lock()


def register_folder(state_dir: str) -> str:
    """Where stand-ins on the host are listed, for all sessions that share a state folder."""
    return os.path.join(os.path.abspath(state_dir), FOLDER_NAME, "sandbox-stubs")


@contextmanager
def standing(root: str, names: Sequence[str], *, register: str) -> Iterator[None]:
    """Let stubs stand at `names`, all below `root`, as long as this lasts. `register` is a folder of ours."""
    with _guard:
        use = _uses.get(root)
        if use is None:
            use = _Use(_begun(root, names, register=register), 0)
        else:
            _set_up(root, names, register=register)
        use.commands += 1
        _uses[root] = use
    try:
        yield
    finally:
        with _guard:
            use.commands -= 1
            if not use.commands:
                del _uses[root]
                _tidy(use.descriptor, _page(register, root))


def sweep(register: str) -> None:
    """Remove the stubs of processes that ended before they could do so themselves."""
    try:
        names = os.listdir(register)
    except OSError:
        return
    for name in names:
        page = os.path.join(register, name)
        with suppress(OSError), _guard:
            root = _listed(page)[0]
            if root in _uses:
                continue
            try:
                descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except FileNotFoundError:
                os.unlink(page)
                continue
            _tidy(descriptor, page)


def sweep_folder(root: str, names: Iterable[str]) -> None:
    """The same for one folder, whoever made them: nobody's register may tell of them."""
    left = [path for path in (f"{root}/{name}" for name in names) if stands_in(path)]
    if not left:
        return
    with suppress(OSError), _guard:
        if root in _uses:
            return
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _take_turn(descriptor, _SHORT_TIMEOUT)
            for path in left if not _is_used(descriptor) else ():
                _remove(path)
        finally:
            os.close(descriptor)


def sweep_before_reading(root: str, register: str) -> None:
    """Take away what killed processes left, before anything in the folder `root` is read. Where there is none: a few looks."""
    if os.path.isdir(register):
        sweep(register)
    if any(stands_in(f"{root}/{name}") for name in _SIGNS):
        sweep_folder(os.path.realpath(root), ProtectedNames().of_top(is_home=True))


def _begun(root: str, names: Sequence[str], *, register: str) -> int:
    """The folder, open and marked as in use, with its stubs."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            _take_turn(descriptor, _LOCK_TIMEOUT)
        except OSError as error:
            raise SandboxRefused(
                f"The command was not started: another process holds {root} locked ({error.strerror}), so protected "
                "names in it cannot be kept from being made."
            ) from error
        _mark(descriptor, fcntl.F_RDLCK)
        _set_up(root, names, register=register)
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _take_turn(descriptor: int, patience: float) -> None:
    """Be the only one who makes or removes stubs in a folder, or writes settings there: for moments only. Raises `OSError`."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if time.monotonic() > deadline or error.errno not in (errno.EWOULDBLOCK, errno.EINTR):
                raise
        time.sleep(_TICK)


def _mark(descriptor: int, kind: int) -> None:
    """Mark a folder as in use as long as this descriptor is open (F_RDLCK), or no longer (F_UNLCK)."""
    fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _LOCK.pack(kind, 0, 0, 0, 0))


def _is_used(descriptor: int) -> bool:
    """Whether others use the stubs of a folder."""
    asked = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _LOCK.pack(fcntl.F_WRLCK, 0, 0, 0, 0))
    return bool(_LOCK.unpack(asked)[0] != fcntl.F_UNLCK)


def _set_up(root: str, names: Sequence[str], *, register: str) -> None:
    missing = [path for path in names if not os.path.lexists(path)]
    stubs = [path for path in names if path not in missing and stands_in(path)]  # whoever ends last takes them away
    if missing or stubs:
        _enlist(_page(register, root), root, (*missing, *stubs))
    first: str | None = None
    ours: set[str] = set()
    for path in missing:
        try:
            first = _make(path, like=first)
            ours.add(path)
        except FileExistsError:
            pass
        except OSError as error:
            if error.errno not in _NOT_OURS_TO_MAKE:  # what we may not make there, the command may not either
                raise
    for path in names:
        if path not in ours and os.path.islink(path):
            raise SandboxRefused(
                f"The command was not started: {path} has just become a link; a protected name must not be one."
            )


def _make(path: str, *, like: str | None) -> str | None:
    """Make a stub: as a further name of another one if possible, since that costs a fortieth of a new file."""
    if os.path.basename(path) in _FOLDERS:
        os.mkdir(path)
        os.utime(path, ns=(TIME, TIME))
        return like
    if like is not None:
        with suppress(OSError):
            os.link(like, path, follow_symlinks=False)
            return like
    try:
        os.mknod(path, stat.S_IFSOCK | 0o444)
    except OSError as error:
        if error.errno == errno.EEXIST:
            raise
        # some file systems have no sockets
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY | os.O_CLOEXEC, 0o444))
    os.utime(path, ns=(TIME, TIME), follow_symlinks=False)
    return path


def _tidy(descriptor: int, page: str) -> None:
    """Remove the stubs of a folder unless somebody else uses them, and close it."""
    try:
        _take_turn(descriptor, _SHORT_TIMEOUT)
        if not _is_used(descriptor):
            for path in _listed(page)[1:]:
                _remove(path)
            os.unlink(page)
    except OSError:  # whoever is last tidies up, or the next sweep
        pass
    finally:
        os.close(descriptor)


def _remove(path: str) -> None:
    if stands_in(path):
        with suppress(OSError):  # a folder that is not empty any more stays
            os.rmdir(path) if os.path.isdir(path) else os.unlink(path)


def _page(register: str, root: str) -> str:
    import hashlib  # loads a library: not for sessions that only look whether something was left

    return os.path.join(register, hashlib.sha256(os.fsencode(root)).hexdigest()[:32])


def _enlist(page: str, root: str, paths: Sequence[str]) -> None:
    make_private_folder(os.path.dirname(page))
    descriptor = os.open(page, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        known = os.fstat(descriptor).st_size > 0
        os.write(descriptor, b"".join(os.fsencode(path) + b"\0" for path in (*(() if known else (root,)), *paths)))
    finally:
        os.close(descriptor)


def _listed(page: str) -> list[str]:
    """The folder of a page of the register, and the paths of its stubs."""
    with open(page, "rb") as file:
        names = file.read().split(b"\0")[:-1]
    if not names:
        raise FileNotFoundError(errno.ENOENT, "empty register page", page)
    return [os.fsdecode(name) for name in names]
