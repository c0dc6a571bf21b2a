"""Files that only their owner may read: opening them without following links, and appending to them whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path

from .errors import JournalBusy, JournalError

_CAREFULLY = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
"""Never through a link, never into a child process, never waiting for a pipe's other end."""

_BUFFER = 1 << 20

LOCK_PATIENCE = 0.01
"""Seconds to wait here and now for another process that is appending to the same file; who can wait longer tries again."""


def append(path: Path, data: bytes) -> None:
    """Append `data`, which ends with a newline, in one piece. Raises `JournalError`; then the file is as it was before.

    Two processes appending to one file never mix their lines. If the last line was torn by a crash, the data begins a new one.
    """
    try:
        descriptor = _open_to_write(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        try:
            _lock(descriptor, path)
            size = _private_size(descriptor)
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            _write_or_undo(descriptor, b"\n" + data if torn else data, size)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise JournalError(f"Cannot write the transcript {path}: {_reason(error)}. Nothing of this entry was kept.") from error


def create(path: Path, lines: Iterable[bytes]) -> None:
    """Write a new file. Raises `JournalError`, also when there is one already."""
    try:
        descriptor = _open_to_write(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            _private_size(descriptor)
            with os.fdopen(descriptor, "wb", buffering=_BUFFER, closefd=False) as file:
                file.writelines(lines)
        except OSError:
            os.unlink(path)
            raise
        finally:
            os.close(descriptor)
    except OSError as error:
        raise JournalError(f"Cannot create the transcript {path}: {_reason(error)}.") from error


def read(path: Path) -> bytes:
    """All bytes of a regular file. Raises `JournalError`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _CAREFULLY)
        try:
            _require_regular(os.fstat(descriptor).st_mode)
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(descriptor)
    except OSError as error:
        raise JournalError(f"Cannot read the transcript {path}: {_reason(error)}.") from error


def _open_to_write(path: Path, flags: int) -> int:
    try:
        return os.open(path, flags | _CAREFULLY, 0o600)
    except FileNotFoundError:
        make_private_folder(path.parent)
        return os.open(path, flags | _CAREFULLY, 0o600)


def _private_size(descriptor: int) -> int:
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


def _lock(descriptor: int, path: Path) -> None:
    deadline = time.monotonic() + LOCK_PATIENCE
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # given back when the descriptor is closed
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise JournalBusy(f"The transcript {path} is locked by another process. Resume it there, or fork it.") from None
            time.sleep(0.001)


def _write_or_undo(descriptor: int, data: bytes, size: int) -> None:
    """Write all of `data` behind the first `size` bytes, or cut off again what was written."""
    written = 0
    try:
        while written < len(data):
            written += os.write(descriptor, data[written:] if written else data)
    except OSError:
        if written and os.fstat(descriptor).st_size == size + written:
            os.ftruncate(descriptor, size)
        raise


def _reason(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "it is a symbolic link"
    return error.strerror or str(error)
