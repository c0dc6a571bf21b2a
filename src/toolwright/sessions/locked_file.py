"""A transcript that is open and locked, so that one session at a time writes to it.

The lock is the kernel's (`flock`): it ends with whoever holds it, however that ends. A session holds it for a turn. Between
turns nothing is open, and another session may go on with the transcript; `has_news` tells the first one about it. That also
notices programs that write here without taking the lock. Knows bytes and entries, not what a session does.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from pathlib import Path

from toolwright.sessions.errors import JournalBusy, JournalError
from toolwright.sessions.lines import is_in_chain, read_lines
from toolwright.sessions.private_files import open_to_read, open_to_write, private_size, read_all, reason

TIMEOUT = 2.0
"""Seconds that a session waits for another one which holds the lock."""
PAUSE = 0.02
_MAX_ADDED = 1 << 20
"""Bytes that are read to find out what somebody else has written; more than that is a conversation."""


class LockedFile:
    """Raises `JournalBusy` when somebody else holds the lock, `JournalError` when the file cannot be opened."""

    __slots__ = ("_descriptor", "path")

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self.path = path
        try:
            self._descriptor = open_to_write(path, os.O_RDWR | os.O_APPEND | (os.O_CREAT if create else 0))
            try:
                _lock(self._descriptor, path, fcntl.LOCK_EX)
            except BaseException:
                os.close(self._descriptor)
                raise
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _unwritten(path, reason(error)) from error

    def close(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)  # a process that was forked meanwhile would keep it otherwise
        os.close(self._descriptor)

    def __enter__(self) -> LockedFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def has_news(self, known: int) -> bool:
        """Whether somebody else's messages stand behind the first `known` bytes. Titles and tags are no news."""
        try:
            size = self._size()
            if size <= known:
                return False
            entries, _ = read_lines(os.pread(self._descriptor, _MAX_ADDED, known))
        except OSError as error:
            raise _unwritten(self.path, reason(error)) from error
        return size - known > _MAX_ADDED or any(map(is_in_chain, entries))

    def append(self, data: bytes, known: int) -> int:
        """Append `data`, which ends with a newline, in one piece; gives the file's new size.

        Raises `JournalError`, and then the file is as it was before; also when it holds less than `known` bytes. If the last
        line was torn by a crash, the data begins a new one.
        """
        try:
            size = self._size()
            if size < known or not self._is_in_place():
                raise OSError(errno.ESTALE, "it was removed or cut short while the session went on; start a new session")
            torn = size > 0 and os.pread(self._descriptor, 1, size - 1) != b"\n"
            whole = b"\n" + data if torn else data
            _write_or_undo(self._descriptor, whole, size)
        except OSError as error:
            raise _unwritten(self.path, reason(error)) from error
        return size + len(whole)

    def _size(self) -> int:
        return private_size(self._descriptor)

    def _is_in_place(self) -> bool:
        """Whether the path still leads to this file: what is written to another one nobody would ever find."""
        try:
            there = os.lstat(self.path)
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(self._descriptor))


def read_at_rest(path: Path) -> bytes:
    """All bytes of a transcript that no session is writing to. Waits up to `TIMEOUT`: meant for a thread."""
    try:
        descriptor = open_to_read(path)
        try:
            _wait_for_lock(descriptor, path)
            return read_all(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise JournalError(f"Cannot read the transcript {path}: {reason(error)}.") from error


def _wait_for_lock(descriptor: int, path: Path) -> None:
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            return _lock(descriptor, path, fcntl.LOCK_SH)
        except JournalBusy:
            if time.monotonic() > deadline:
                raise
        time.sleep(PAUSE)


def _lock(descriptor: int, path: Path, kind: int) -> None:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        raise JournalBusy(
            f"Session {path.stem} is in use: another process or client is writing to its transcript {path}. Resume it again "
            "when that turn is over, or go on from its last message under a new id: fork_session=True (--fork-session)."
        ) from None


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


def _unwritten(path: Path, why: str) -> JournalError:
    return JournalError(f"Cannot write the transcript {path}: {why}. Nothing of this entry was kept.")
