"""Replace a small file in one step, durably, with other writers kept waiting. Never through a link."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from toolwright.base.placeholder_files import displace, is_stand_in

TIMEOUT = 10.0
"""Seconds to wait for another process that is writing settings."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class LockedFolder:
    """An open folder that no other writer of settings changes meanwhile."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def mode_of(self, name: str) -> int | None:
        """The permission bits of a file here; None if there is none. A link or anything but a file raises `OSError`."""
        try:
            status = os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if is_stand_in(status):
            return None
        if status.st_mode & 0o170000 != 0o100000:
            raise OSError(errno.ELOOP, "it is a link, or not a regular file")
        return status.st_mode & 0o777

    def replace(self, name: str, data: bytes, *, mode: int) -> None:
        """Put `data` in the place of the file: the old one or the new one is there at any moment, and after a crash."""
        self.mode_of(name)
        temporary = f".{name}.{os.getpid()}.{time.monotonic_ns()}.tmp"
        descriptor = os.open(temporary, _NEW, 0o600, dir_fd=self._descriptor)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fchmod(descriptor, mode)
                os.fsync(descriptor)
            os.rename(temporary, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=self._descriptor)
            raise
        os.fsync(self._descriptor)


@contextmanager
def locked_folder(path: str, *, private: bool = False) -> Iterator[LockedFolder]:
    """Open `path`, made if it is not there, and hold its lock. Raises `OSError`, also if it is a link."""
    displace(path)
    os.makedirs(path, mode=0o700 if private else 0o755, exist_ok=True)
    descriptor = os.open(path, _FOLDER)
    try:
        _lock(descriptor, path)
        yield LockedFolder(descriptor)
    finally:
        os.close(descriptor)  # gives the lock back


def _lock(descriptor: int, path: str) -> None:
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise OSError(errno.EAGAIN, f"{path} is locked by another process") from None
            time.sleep(0.002)
