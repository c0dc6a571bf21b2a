"""Files that only their owner may read: opening them without following links, creating and reading them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from toolwright.sessions.errors import JournalError, JournalInUse

_CAREFULLY = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
"""Never through a link, never into a child process, never waiting for a pipe's other end."""

_BUFFER = 1 << 20


def create(path: Path, lines: Iterable[bytes]) -> None:
    """Write a new file. Raises `JournalError`; `JournalInUse` when there is one already."""
    try:
        descriptor = open_to_write(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            private_size(descriptor)
            with os.fdopen(descriptor, "wb", buffering=_BUFFER, closefd=False) as file:
                file.writelines(lines)
        except OSError:
            os.unlink(path)
            raise
        finally:
            os.close(descriptor)
    except FileExistsError:
        raise already_there(path) from None
    except OSError as error:
        raise JournalError(f"Cannot create the transcript {path}: {reason(error)}.") from error


def already_there(path: Path) -> JournalInUse:
    return JournalInUse(f"There is a session {path.stem} already (transcript {path}): resume it, or choose another session_id.")


def read(path: Path) -> bytes:
    """All bytes of a regular file. Raises `JournalError`."""
    try:
        descriptor = open_to_read(path)
        try:
            return read_all(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise JournalError(f"Cannot read the transcript {path}: {reason(error)}.") from error


def read_all(descriptor: int) -> bytes:
    """Without a buffer: its copy would keep the interpreter busy for as long as a large file takes."""
    with os.fdopen(descriptor, "rb", buffering=0, closefd=False) as file:
        return file.readall()


def open_to_read(path: Path) -> int:
    descriptor = os.open(path, os.O_RDONLY | _CAREFULLY)
    try:
        _require_regular(os.fstat(descriptor).st_mode)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def open_to_write(path: Path, flags: int) -> int:
    """Where a file is to be created, so are the folders above it."""
    try:
        return os.open(path, flags | _CAREFULLY, 0o600)
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
        make_private_folder(path.parent)
        return os.open(path, flags | _CAREFULLY, 0o600)


def private_size(descriptor: int) -> int:
    """The file's size, after making sure that it is a file and its owner's alone, whatever the umask or an older file said."""
    status = os.fstat(descriptor)
    _require_regular(status.st_mode)
    if stat.S_IMODE(status.st_mode) != 0o600:
        os.fchmod(descriptor, 0o600)
    return status.st_size


def _require_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a regular file")


def make_private_folder(folder: Path) -> None:
    """Make `folder` and what is missing above it, for the owner alone. Folders that exist stay as they are."""
    if folder.is_dir():
        return
    make_private_folder(folder.parent)
    try:
        folder.mkdir(0o700)
    except FileExistsError:
        return
    folder.chmod(0o700)  # a strict umask may have taken more than it should


def reason(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "it is a symbolic link"
    return error.strerror or str(error)
