"""Put new content in a file's place in one step, durably, and never over something that nobody has looked at.

The content is written beside the file, made durable, and trades places with it. What comes out in the trade must be what the
change was based on; if somebody wrote in between, their file goes back. A failure or a kill at any moment leaves the old file
or the new one. It knows an open folder and the file that was read in it, not the boundary; everything here blocks.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from toolwright.base.placeholder_files import displace, is_stand_in
from toolwright.base.renames import exchange, rename_new
from toolwright.base.workspace_errors import FileChanged
from toolwright.processes.temp_files import Draft, TemporaryFolder, unnoted_draft

if TYPE_CHECKING:
    from toolwright.files.boundary import BoundedPath
    from toolwright.files.read import FileContent, Parent

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_SET_IDS = stat.S_ISUID | stat.S_ISGID
_NOT_FOR_US = frozenset({errno.EPERM, errno.EACCES, errno.EINVAL, errno.ENOTSUP, errno.ENODATA})


class FileReplacement:
    """One file's new content on its way into place. `mode` is the file's new one, if it is not to keep its own."""

    _draft: Draft

    def __init__(
        self,
        parent: Parent,
        place: BoundedPath,
        *,
        before: FileContent | None,
        mode: int | None,
        temporaries: TemporaryFolder | None,
    ) -> None:
        self._parent = parent
        self._folder = parent.made()
        self._place = place
        self._name = place.parts[-1]
        self._before = before
        self._mode = mode
        self._temporaries = temporaries
        self._disposable = True
        self._certain = True

    def put(self, data: bytes) -> tuple[os.stat_result, bool]:
        """The new file, and whether the disk has confirmed it. An exception means that the old one stands."""
        if self._before is not None:
            self._require_writable(self._before)
        self._take_draft()
        try:
            status = self._fill(self._create(), data)
            self._install(status)
        except OSError as error:
            error.filename, error.filename2 = self._place.path, None  # the temporary name would only puzzle
            raise
        finally:
            self._give_back_draft()
        return status, synced(self._folder) and self._certain

    def _require_writable(self, before: FileContent) -> None:
        """Renaming would not ask, but a file that was made read-only is not to be changed."""
        if not os.access(self._name, os.W_OK, dir_fd=self._folder, effective_ids=True):
            require_untouched(self._folder, self._place, before)
            raise PermissionError(errno.EACCES, "Permission denied: the file is write-protected", self._place.path)

    def _take_draft(self, *, fresh: bool = False) -> None:
        folder = self._place.folder.path
        self._draft = unnoted_draft(folder) if self._temporaries is None else self._temporaries.draft(folder, fresh=fresh)
        self._temporary = self._draft.name

    def _create(self) -> int:
        # A new file gets the mode the umask leaves; one that replaces another stays closed until it has that one's mode.
        mode = 0o666 if self._before is None and self._mode is None else 0o600
        try:
            return os.open(self._temporary, _CREATE, mode, dir_fd=self._folder)
        except FileExistsError:  # somebody took a name that we had used before; theirs stays
            self._withdraw_note()
            self._take_draft(fresh=True)
            return os.open(self._temporary, _CREATE, mode, dir_fd=self._folder)

    def _fill(self, descriptor: int, data: bytes) -> os.stat_result:
        try:
            _write_all(descriptor, data)
            if self._before is not None:
                _keep_attributes(self._parent.file, descriptor, self._before.status)
            if self._mode is not None:
                os.fchmod(descriptor, self._mode)
            os.fsync(descriptor)
            return os.fstat(descriptor)
        finally:
            os.close(descriptor)

    def _install(self, status: os.stat_result) -> None:
        try:
            if self._before is None:
                displace(self._name, folder=self._folder)
                rename_new(self._folder, self._temporary, self._name)
            else:
                self._trade_places(self._before, status)
        except FileExistsError:
            raise FileChanged(f"{self._place.path} was made by someone else at the same moment. Nothing was changed.") from None
        except FileNotFoundError:
            raise _removed(self._place) from None
        except OSError:
            if not self._is_in_place(status):
                raise
            self._certain = False  # a failure was reported, but the rename has taken place

    def _trade_places(self, before: FileContent, status: os.stat_result) -> None:
        require_untouched(self._folder, self._place, before)  # cheaper than trading there and back
        if not exchange(self._folder, self._temporary, self._name):
            os.rename(self._temporary, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            return
        try:
            unchanged = self._inode(self._temporary) == before.status.st_ino and _holds(self._parent.file, before.data)
        except BaseException:
            self._trade_back(status)
            raise
        if not unchanged:
            self._trade_back(status)
            raise _changed(self._place)

    def _trade_back(self, status: os.stat_result) -> None:
        """Put back what came out. If it is not ours that comes out then, somebody wrote once more: theirs goes back in turn."""
        placed = status.st_ino
        try:
            while True:
                returning = self._inode(self._temporary)
                if not exchange(self._folder, self._temporary, self._name):
                    break
                if self._inode(self._temporary) == placed:
                    return
                placed = returning
        except OSError:
            pass
        self._disposable = False  # unless the next line works, it is the only copy of what somebody wrote
        os.rename(self._temporary, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def _is_in_place(self, status: os.stat_result) -> bool:
        try:
            return self._inode(self._name) == status.st_ino
        except OSError:
            return False

    def _inode(self, name: str) -> int:
        return os.stat(name, dir_fd=self._folder, follow_symlinks=False).st_ino

    def _give_back_draft(self) -> None:
        """Remove what has the temporary name. If that fails, the note stays, for the next session to try again."""
        self._parent.let_go()
        if not self._disposable:
            self._withdraw_note()
            return
        try:
            os.unlink(self._temporary, dir_fd=self._folder)
        except FileNotFoundError:
            pass
        except OSError:
            return
        if self._temporaries is not None:
            self._temporaries.keep(self._draft)

    def _withdraw_note(self) -> None:
        if self._temporaries is not None:
            self._temporaries.withdraw(self._draft.note)


def require_untouched(folder: int, place: BoundedPath, before: FileContent | None) -> None:
    """Refuse if the file is not the one that was read, as far as its entry tells."""
    try:
        now = os.stat(place.parts[-1], dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        if before is None:
            return
        raise _removed(place) from None
    if before is None and is_stand_in(now):
        return
    if before is None or _version(now) != _version(before.status):
        raise _changed(place)


def synced(folder: int) -> bool:
    """Make a folder's entries durable; False if that failed (trying again would tell nothing)."""
    try:
        os.fsync(folder)
    except OSError:
        return False
    return True


def _version(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _changed(place: BoundedPath) -> FileChanged:
    return FileChanged(f"{place.path} was changed by someone else at the same moment. Nothing was changed; read it again.")


def _removed(place: BoundedPath) -> FileChanged:
    return FileChanged(f"{place.path} was removed while it was being written. Nothing was changed.")


def _holds(descriptor: int, data: bytes) -> bool:
    """Whether a file has exactly this content; times are too coarse to tell."""
    found = os.pread(descriptor, len(data) + 1, 0)
    while len(found) < len(data) and (piece := os.pread(descriptor, len(data) + 1, len(found))):
        found += piece
    return found == data


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        written = os.write(descriptor, view)
        if not written:
            raise OSError(errno.EIO, "the disk takes nothing more")
        view = view[written:]


def _keep_attributes(source: int, descriptor: int, wanted: os.stat_result) -> None:
    """Owner, extended attributes (ACLs are among them) and mode; what the system does not let us keep stays ours."""
    own, mode = os.fstat(descriptor), stat.S_IMODE(wanted.st_mode)
    owners = wanted.st_uid, wanted.st_gid
    if (own.st_uid, own.st_gid) != owners and not _allowed(lambda: os.fchown(descriptor, *owners)):
        mode &= ~_SET_IDS  # what ran as its owner must not come to run as us
    if hasattr(os, "listxattr"):
        _allowed(lambda: _copy_extended_attributes(source, descriptor))
    os.fchmod(descriptor, mode)


def _copy_extended_attributes(source: int, descriptor: int) -> None:
    for name in os.listxattr(source):
        _allowed(partial(_copy_attribute, source, descriptor, name))


def _copy_attribute(source: int, descriptor: int, name: str) -> None:
    os.setxattr(descriptor, name, os.getxattr(source, name))


def _allowed(attempt: Callable[[], None]) -> bool:
    """False for what we may not do, or this disk cannot; a real failure is not passed over."""
    try:
        attempt()
    except OSError as error:
        if error.errno not in _NOT_FOR_US:
            raise
        return False
    return True
