"""Stand-ins on the host for protected names that are not there, so that a sandbox has something to put its cover on.

A cover needs a name to lie on. So while commands run, the name of a socket stands there, which git and most programs pass over
(nobody adds it to a repository by mistake), and it goes when the last command in that folder has ended: an advisory lock on
the folder itself tells other processes that it is in use. A stub is known by a time that no real file has, and goes only if it
is still exactly that. What a killed process left is in a register, to be swept.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from msgspec import Struct

from toolwright.workspace.leftovers import make_private_folder
from toolwright.workspace.sandbox.errors import SandboxRefused

_TIME = 86_399_999_999_937
"""When a stub was last changed, in nanoseconds: on the second of January 1970."""
_LOCK_PATIENCE = 5.0
_TICK = 0.005
_NOT_OURS_TO_MAKE = (errno.EACCES, errno.EPERM, errno.EROFS)


class _Use(Struct):
    descriptor: int
    commands: int


_uses: dict[str, _Use] = {}
_guard = threading.Lock()


def is_stub(path: str) -> bool:
    """Whether there is nothing at `path` but a stand-in, untouched."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    is_empty = stat.S_ISSOCK(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_size == 0)
    return is_empty and status.st_mtime_ns == _TIME


@contextmanager
def standing(root: str, names: Sequence[str], *, register: str) -> Iterator[None]:
    """Let stubs stand at `names`, all below `root`, as long as this lasts. `register` is a folder of ours."""
    with _guard:
        use = _uses.get(root) or _Use(_locked(root), 0)
        try:
            _set_up(root, names, register=register)
        except BaseException:
            if not use.commands:
                os.close(use.descriptor)
            raise
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


def _locked(root: str) -> int:
    """The folder, open, with a lock that others can share but that keeps them from tidying up."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    deadline = time.monotonic() + _LOCK_PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return descriptor
        except OSError as error:
            if time.monotonic() > deadline or error.errno not in (errno.EWOULDBLOCK, errno.EINTR):
                os.close(descriptor)
                raise SandboxRefused(
                    f"The command was not started: another process holds {root} locked ({error.strerror}), so protected "
                    "names in it cannot be kept from being made."
                ) from error
        time.sleep(_TICK)


def _set_up(root: str, names: Sequence[str], *, register: str) -> None:
    missing = [path for path in names if not os.path.lexists(path)]
    if missing:
        _enlist(_page(register, root), root, missing)
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


def _make(path: str, *, like: str | None) -> str:
    """Make a stub: as a further name of another one if possible, since that costs a fortieth of a new file."""
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
    os.utime(path, ns=(_TIME, _TIME), follow_symlinks=False)
    return path


def _tidy(descriptor: int, page: str) -> None:
    """Remove the stubs of a folder unless somebody else uses them, and close it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for path in _listed(page)[1:]:
            _remove(path)
        os.unlink(page)
    except OSError:  # in use: whoever is last tidies up, or the next sweep
        pass
    finally:
        os.close(descriptor)


def _remove(path: str) -> None:
    if is_stub(path):
        with suppress(OSError):
            os.unlink(path)


def _page(register: str, root: str) -> str:
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
