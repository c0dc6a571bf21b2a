"""Notices at once when what lies over a name in a running sandbox falls off, because a program of the host replaced the file.

A mount lies on a file, not on its name: whoever renames another file to that name takes the cover away, inside the sandbox too,
and the command could then read or change the new one. So the folders of covered names are watched (inotify) as long as a
command runs, and it is stopped. One thread serves all commands of a process; without any it ends after a moment, or with the
session: to end watching takes the kernel longer than to start a command.
"""

from __future__ import annotations

import errno
import os
import select
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from toolwright.base.libc import c_function
from toolwright.base.placeholder_files import stands_in
from toolwright.sandbox.errors import SandboxRefused
from toolwright.sandbox.policy import Matcher, no_path

_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_OVERFLOW = 0x4000
_ONLY_FOLDERS_NO_LINKS = 0x0300_0000
_WATCHED = _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _ONLY_FOLDERS_NO_LINKS
_HEAD = struct.Struct("iIII")
_ROOM = 1 << 16
_PAUSE = 10
"""Milliseconds until a command that could not be stopped, because it had hardly begun, is stopped again."""
LINGER_SECONDS = 2.0
_MAX_MADE = 20

Identity = tuple[int, int] | None


class Watch:
    """What is watched for one command: where covers lie, and in which folders a protected name may come to be."""

    __slots__ = ("_identities", "_stop", "is_protected", "lost", "made", "stopping")

    def __init__(self, covered: Iterable[str], *, stop: Callable[[], bool], is_protected: Matcher) -> None:
        self._identities = {path: _identity(path) for path in covered}
        self._stop = stop
        self.is_protected = is_protected
        """Which names, beside those that are covered, are worth a word when somebody makes them."""
        self.lost: str | None = None
        """The first name whose cover fell off."""
        self.made: set[str] = set()
        self.stopping = False

    @property
    def covered(self) -> Iterable[str]:
        return self._identities

    def lose(self, path: str) -> None:
        if self.lost is None:
            self.lost = path
            self.stopping = True

    def look(self) -> None:
        """Whether everything is still what it was: events were lost."""
        for path, identity in self._identities.items():
            if _identity(path) != identity:
                self.lose(path)

    def stop(self) -> None:
        self.stopping = not self._stop()

    def in_words(self) -> list[str]:
        """What to tell about it, once the command has ended."""
        told = []
        if self.lost is not None:
            told.append(
                f"The command was stopped: a program outside the sandbox replaced {self.lost} while it ran, and the sandbox "
                "could not keep it from the new one. Run it again; what it had done so far stays."
            )
        made = sorted(path for path in self.made if os.path.lexists(path) and not stands_in(path))
        if made:
            told.append(
                f"While the command ran, {', '.join(made[:_MAX_MADE])} came to be: other programs run or obey such files by "
                "themselves, so tell the user about it."
            )
        return told


def _identity(path: str) -> Identity:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class _Watcher:
    """An inotify instance and the thread that listens to it. All but `_listen` is called with the guard held."""

    def __init__(self) -> None:
        start = c_function("inotify_init1", "c_int")
        if start is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        self._end = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        try:
            self._events = start(os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            os.close(self._end)
            raise
        self._folders: dict[str, int] = {}
        self._paths: dict[int, str] = {}
        self._names: dict[tuple[int, str], list[tuple[Watch, str]]] = {}
        self._tops: dict[int, list[Watch]] = {}
        self.watches: list[Watch] = []
        self.process = os.getpid()
        self._idle_since = time.monotonic()
        self._thread = threading.Thread(target=self._listen, daemon=True, name="toolwright-covers")
        self._thread.start()

    def add(self, watch: Watch, tops: Iterable[str]) -> None:
        self.watches.append(watch)
        tops = tuple(tops)
        for path in watch.covered:
            for part in _with_parents(path, tops):
                folder, _, name = part.rpartition("/")
                number = self._watched(folder or "/")
                if number is not None:
                    self._names.setdefault((number, name), []).append((watch, path))
        for top in tops:
            number = self._watched(top)
            if number is not None:
                self._tops.setdefault(number, []).append(watch)

    def _watched(self, folder: str) -> int | None:
        """The number of a folder's watch; None if there is no such folder: then nothing in it can be covered."""
        if folder not in self._folders:
            begin = c_function("inotify_add_watch", "c_int c_char_p c_uint32")
            assert begin is not None
            try:
                number = begin(self._events, os.fsencode(folder), _WATCHED)
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                return None
            self._folders[folder], self._paths[number] = number, folder
        return self._folders[folder]

    def remove(self, watch: Watch) -> None:
        self.watches.remove(watch)
        for key, found in list(self._names.items()):
            found[:] = [each for each in found if each[0] is not watch]
            if not found:
                del self._names[key]
        for number, watches in list(self._tops.items()):
            watches[:] = [each for each in watches if each is not watch]
            if not watches:
                del self._tops[number]
        used = {number for number, _ in self._names} | set(self._tops)
        for number in [number for number in self._paths if number not in used]:
            self._forget(number)
        self._idle_since = time.monotonic()

    def _forget(self, number: int) -> None:
        end = c_function("inotify_rm_watch", "c_int c_int")
        assert end is not None
        with suppress(OSError):
            end(self._events, number)
        del self._paths[number]
        self._folders = {folder: each for folder, each in self._folders.items() if each != number}

    def end(self) -> None:
        """Without the guard: the thread may be waiting for it."""
        os.eventfd_write(self._end, 1)
        self._thread.join()

    def _listen(self) -> None:
        try:
            self._serve()
        finally:
            os.close(self._events)
            os.close(self._end)

    def _serve(self) -> None:
        poll = select.poll()
        poll.register(self._events, select.POLLIN)
        poll.register(self._end, select.POLLIN)
        pause = LINGER_SECONDS * 1000
        while True:
            ready = {descriptor for descriptor, _ in poll.poll(pause)}
            if self._end in ready:
                return
            with _guard:
                if self._events in ready:
                    self._take()
                for watch in self.watches:
                    if watch.stopping:
                        watch.stop()
                if self._is_idle():
                    return
                pause = _PAUSE if any(watch.stopping for watch in self.watches) else LINGER_SECONDS * 1000

    def _is_idle(self) -> bool:
        """Whether nobody has needed it for a while; then nobody gets it any more."""
        global _watcher
        if self.watches or time.monotonic() - self._idle_since < LINGER_SECONDS:
            return False
        _watcher = None
        return True

    def _take(self) -> None:
        try:
            data = os.read(self._events, _ROOM)
        except BlockingIOError:
            return
        position = 0
        while position < len(data):
            number, mask, _, length = _HEAD.unpack_from(data, position)
            position += _HEAD.size
            name = os.fsdecode(data[position : position + length].rstrip(b"\0"))
            position += length
            self._happened(number, mask, name)

    def _happened(self, number: int, mask: int, name: str) -> None:
        if mask & _OVERFLOW:
            for watch in self.watches:
                watch.look()
            return
        known = self._names.get((number, name))
        for watch, path in known or ():
            watch.lose(path)
        if known is None and mask & (_CREATE | _MOVED_TO):
            for watch in self._tops.get(number, ()):
                if watch.is_protected(name) and len(watch.made) < _MAX_MADE:
                    watch.made.add(os.path.join(self._paths.get(number, ""), name))


_guard = threading.Lock()
_watcher: _Watcher | None = None


@contextmanager
def watching(
    covered: Iterable[str], tops: Iterable[str], *, stop: Callable[[], bool], is_protected: Matcher = no_path
) -> Iterator[Watch]:
    """Watch as long as this lasts. `stop` ends the command and says whether it could; `tops` are the writable folders.

    Raises `SandboxRefused` where it cannot be watched.
    """
    watch = Watch(covered, stop=stop, is_protected=is_protected)
    try:
        _begin(watch, tops)
    except OSError as error:
        _leave(watch)
        raise SandboxRefused(
            f"The command was not started: the names that are kept from it cannot be watched ({error.strerror}). The system "
            "may have too few inotify instances or watches (sysctl fs.inotify.max_user_instances, max_user_watches)."
        ) from error
    try:
        yield watch
    finally:
        _leave(watch)


def _begin(watch: Watch, tops: Iterable[str]) -> None:
    global _watcher
    with _guard:
        if _watcher is None or _watcher.process != os.getpid():  # a fork has no such thread
            _watcher = _Watcher()
        _watcher.add(watch, tops)


def _leave(watch: Watch) -> None:
    with _guard:
        if _watcher is not None and watch in _watcher.watches:
            _watcher.remove(watch)


def end_watching() -> None:
    """End the thread now if no command needs it. Blocks for some milliseconds."""
    global _watcher
    with _guard:
        watcher = _watcher
        if watcher is None or watcher.watches or watcher.process != os.getpid():
            return
        _watcher = None
    watcher.end()


def _with_parents(path: str, tops: tuple[str, ...]) -> Iterator[str]:
    """The path, and the folders above it up to a writable one: whoever moves one of these moves the cover with it."""
    yield path
    while any(path.startswith(f"{top}/") for top in tops):
        path = path.rpartition("/")[0]
        if path in tops:
            return
        yield path
