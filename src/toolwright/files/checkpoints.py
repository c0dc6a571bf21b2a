"""What files were before the session changed them, kept on disk so that they can be put back: also after a restart.

One folder per session, for its owner alone: contents under their SHA-256, and an index that is only ever appended to. The
index is a line of time. A point on it (a user message, or the beginning of a rewind) is marked by an id; a change is noted
before it is made, with the content it replaces, the first time a file changes after a point. So "the files as they were at
point X" is, for each file, what the first note after X says. It does not know what a point means; `rewinding` puts files back.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256

from toolwright.base.worker_threads import PASSING
from toolwright.base.workspace_errors import CheckpointError
from toolwright.files.checkpoint_index import Entry, Timeline
from toolwright.files.read import FileContent
from toolwright.processes.temp_files import make_private_folder

MAX_KEPT_SIZE = 16 * 1024 * 1024
"""A larger file may still be changed, but what it was is not kept; rewinding says so."""

_INDEX = "index.jsonl"
_INCOMING = "incoming"  # one name is enough: it is written under the lock, so a torn one is overwritten by the next
_CAREFULLY = os.O_NOFOLLOW | os.O_CLOEXEC


class FileHistory:
    """The history of one session's changes, below `folder`. Holds no file open; may be used from several threads."""

    __slots__ = ("_guard", "_largest", "_noted", "_pending", "folder")

    def __init__(self, folder: str, *, largest: int = MAX_KEPT_SIZE) -> None:
        self.folder = folder
        self._largest = largest
        self._guard = threading.Lock()
        self._pending: list[Entry] = []
        self._noted: set[str] = set()

    # points

    def mark(self, point: str) -> None:
        """From now on changes come after `point`. If it cannot be written now, it is written before the next change."""
        with self._guard:
            self._begin({"point": point})
            with suppress(OSError), self._index() as index:
                self._append(index)

    def begin_rewind(self, undo: str, to: str) -> None:
        """A point of its own; written only when something is changed."""
        with self._guard:
            self._begin({"point": undo, "rewind": to})

    def end_rewind(self, undo: str) -> bool:
        """Say that the rewind is complete. The answer is whether it changed anything."""
        with self._guard:
            waiting = [entry for entry in self._pending if entry["point"] != undo]
            changed = len(waiting) == len(self._pending)
            self._pending = waiting
            if changed:
                with suppress(OSError), self._index() as index:
                    self._append(index, {"finished": undo})
            return changed

    def _begin(self, mark: Entry) -> None:
        self._pending.append(mark)
        self._noted.clear()

    # changes

    @contextmanager
    def change(
        self,
        path: str,
        before: FileContent | None,
        *,
        after: bytes | None,
        known: bool,
        whole: bool = False,
        granted: bool = False,
    ) -> Iterator[None]:
        """Note a change, then let it happen. `whole`: keep what is replaced however large it is. `granted`: the file lies
        outside the working folders and somebody allowed this change.

        Raises `CheckpointError` if it cannot be noted: a change that could not be taken back must not be made.
        """
        try:
            entry: Entry = {"path": path, "after": digest_of(after)} | ({"granted": True} if granted else {})
            if before is None and after is not None:
                entry["made"] = missing_folders(path)
            with self._guard:
                self._note(entry, before, known=known, largest=None if whole else self._largest)
        except OSError as error:
            if error.errno in PASSING:
                raise
            raise CheckpointError(
                f"Nothing was changed: what {path} is now could not be kept for rewinding ({error.strerror or error}). "
                f"Make room for {self.folder}, or switch file checkpoints off."
            ) from error
        try:
            yield
        except BaseException:
            self._retract(path)
            raise

    def _note(self, entry: Entry, before: FileContent | None, *, known: bool, largest: int | None) -> None:
        path: str = entry["path"]
        first = path not in self._noted
        with self._index() as index:
            if first:
                entry |= self._kept(before, known, largest)
            self._append(index, entry)
            if first:
                os.fsync(index)
        self._noted.add(path)

    def _kept(self, before: FileContent | None, known: bool, largest: int | None) -> Entry:
        if before is None:
            return {"before": None}
        held = largest is None or len(before.data) <= largest
        digest = self._keep(before.data) if held else digest_of(before.data)
        mode = permissions_of(before)
        return {"before": digest, "mode": mode, "size": len(before.data), "held": held, "known": known}

    def _retract(self, path: str) -> None:
        """The change was not made after all. If even that cannot be noted, rewinding finds nothing to do for the file."""
        with self._guard:
            self._noted.discard(path)
            with suppress(OSError), self._index() as index:
                self._append(index, {"retract": path})

    # contents

    def read(self, digest: str) -> bytes:
        """A content that was kept. Raises `CheckpointError` if it is gone or damaged."""
        try:
            descriptor = os.open(os.path.join(self.folder, digest), os.O_RDONLY | _CAREFULLY)
            with os.fdopen(descriptor, "rb") as file:
                data = file.read()
        except OSError as error:
            raise CheckpointError(f"its kept content cannot be read: {error.strerror} ({self.folder}/{digest})") from None
        if digest_of(data) != digest:
            raise CheckpointError(f"its kept content is damaged ({self.folder}/{digest})")
        return data

    def _keep(self, data: bytes) -> str:
        digest = sha256(data).hexdigest()
        target, incoming = os.path.join(self.folder, digest), os.path.join(self.folder, _INCOMING)
        with suppress(FileNotFoundError):
            if os.lstat(target).st_size == len(data):
                return digest
        descriptor = os.open(incoming, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _CAREFULLY, 0o600)
        try:
            _write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(incoming, target)
        _sync_folder(self.folder)
        return digest

    # the index

    def timeline(self) -> Timeline:
        """Everything noted so far."""
        try:
            with open(os.path.join(self.folder, _INDEX), "rb") as file:
                lines = file.read().split(b"\n")
        except FileNotFoundError:
            lines = []
        with self._guard:
            return Timeline([*filter(None, map(_decoded, lines)), *self._pending])

    @contextmanager
    def _index(self) -> Iterator[int]:
        """The index, open for appending, and locked against other processes of the same session."""
        path, flags = os.path.join(self.folder, _INDEX), os.O_RDWR | os.O_APPEND | os.O_CREAT | _CAREFULLY
        try:
            descriptor = os.open(path, flags, 0o600)
        except FileNotFoundError:
            make_private_folder(self.folder)
            descriptor = os.open(path, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    def _append(self, index: int, *entries: Entry) -> None:
        """In one piece or not at all; a line that a crash tore ends at the newline put before."""
        data = b"".join(b"\n" + json.dumps(entry).encode() for entry in (*self._pending, *entries)) + b"\n"
        size = os.fstat(index).st_size
        try:
            _write_all(index, data)
        except OSError:
            with suppress(OSError):
                os.ftruncate(index, size)
            raise
        self._pending.clear()


def digest_of(data: bytes | None) -> str | None:
    return None if data is None else sha256(data).hexdigest()


def permissions_of(content: FileContent) -> int:
    """The mode without set-user-id and set-group-id: what comes back must not run as somebody it was not given to."""
    return content.status.st_mode & 0o1777


def missing_folders(path: str) -> int:
    """How many folders above `path` are not there yet."""
    count, folder = 0, os.path.dirname(path)
    while not os.path.lexists(folder):
        count, folder = count + 1, os.path.dirname(folder)
    return count


def _decoded(line: bytes) -> Entry | None:
    """An entry; None for a line that a crash tore."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
