"""One session's door to the machine: its folders, its files, its commands. Tools reach neither by any other way.

Cheap to have (thousands may live): an idle one holds no descriptor, no task and no process. It decides where things may happen,
not whether: permissions are asked before.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

import anyio
from msgspec import Struct

from toolwright.base.open_beneath import DIRECTORY, PATH_ONLY
from toolwright.base.worker_threads import in_thread, inline
from toolwright.base.workspace_errors import BadPath, CheckpointError, NotRegularFile, PathNotAllowed
from toolwright.files import folders
from toolwright.files import read as files
from toolwright.files import write as changing
from toolwright.files.boundary import Boundary, checked_path, split_path
from toolwright.files.granted import GrantedPaths
from toolwright.files.read_tracker import ReadState, ReadTracker
from toolwright.files.scratch import Scratch
from toolwright.processes.temp_files import TemporaryFolder
from toolwright.workspace.commands import Commands

if TYPE_CHECKING:  # loaded only for sessions that need them
    from toolwright.files.checkpoints import FileHistory
    from toolwright.files.rewind import Count, Rewound
    from toolwright.processes.resource_limits import ChildLimits
    from toolwright.processes.ripgrep import SearchEnd

T = TypeVar("T")

INLINE_BYTES = 256 * 1024
"""Files up to this size are read on the event loop: measured, a thread costs more than the reading."""
MAX_CHANGE_SIZE = 64 * 1024 * 1024
"""The largest file that is read whole in order to be changed."""
MAX_WAIT = 30.0
"""Seconds until a change that has not begun is given up."""


class SearchPlace(Struct, frozen=True):
    """Where a search happens: a folder to stand in, or one file (then `file` is it, open)."""

    path: str
    folder: int
    file: int | None


class Workspace:
    """`cwd` and `add_dirs` are the boundary; `env` is what the caller wants children to have beside the harmless defaults;
    `user` is the OS user of children; `limits` is what a command may take (defaults if not given); what the session must
    put away goes below `state_dir`; `readable` gives places outside the boundary that anybody may read; `strict` keeps all
    others closed whoever says yes.

    `granted` of a method: the real paths outside that somebody allowed for this one call. Then only these are opened."""

    __slots__ = (
        *("_added", "_boundary", "_readable", "_scratch", "_strict"),
        *("commands", "cwd", "history", "home", "reads", "temporaries"),
    )

    def __init__(
        self,
        cwd: str,
        *,
        add_dirs: Sequence[str] = (),
        env: Mapping[str, str],
        user: str | None = None,
        state_dir: str,
        limits: ChildLimits | None = None,
        readable: Callable[[], tuple[str, ...]] = tuple,
        strict: bool = False,
    ) -> None:
        for directory in (cwd, *add_dirs):
            if not os.path.isdir(directory):
                raise BadPath(f"{directory!r} is not a folder that a session could work in.")
        self.home = os.path.realpath(cwd)
        """The folder the session was given."""
        self.cwd = self.home
        """The folder commands start in and relative paths are relative to; a command can move it within the boundary."""
        self.reads = ReadTracker()
        self.history: FileHistory | None = None
        """Where files are kept as they were before a change, if they are to be."""
        self.temporaries = TemporaryFolder(state_dir)
        """Where it is noted what must not stay behind if this process is killed."""
        self.temporaries.sweep_now_and_then()
        self._scratch = Scratch(self.temporaries)
        self._added = (cwd, *add_dirs)
        self._boundary = Boundary(self._added, self.temporaries)
        self._readable = readable
        self._strict = strict
        self.commands = Commands(self, env, user=user, limits=limits)

    # paths

    @property
    def roots(self) -> tuple[str, ...]:
        """The real paths of the folders inside the boundary, the scratch folder included once it exists."""
        return self._boundary.roots

    def add_directory(self, directory: str) -> None:
        if not os.path.isdir(directory):
            raise BadPath(f"{directory!r} is not a folder that could be added.")
        self._set_directories((*self._added, directory))

    def remove_directory(self, directory: str) -> None:
        """Take back a folder that was added; the session's own stays."""
        gone = os.path.realpath(directory)
        self._set_directories((self._added[0], *(d for d in self._added[1:] if os.path.realpath(d) != gone)))

    def absolute(self, path: str) -> str:
        """`path` as an absolute one, without following anything. Raises `BadPath`."""
        path = checked_path(path)
        return path if path.startswith("/") else os.path.join(self.cwd, path)

    def resolve(self, path: str) -> str:
        """Where `path` really leads, links followed; it need not exist yet. Raises `PathNotAllowed`, `BadPath`, OSError."""
        return self._boundary.locate(self.absolute(path)).path

    def touched_paths(self, path: str) -> tuple[str, ...]:
        """The absolute spellings of `path` that rules are held against: as it leads, then as written. Never raises."""
        try:
            absolute = self.absolute(path)
        except BadPath:
            return (path,)
        try:
            real = self._leads_to(absolute)
        except (PathNotAllowed, BadPath, OSError):
            return (_written(absolute),)
        return (real,) if real == absolute else tuple(dict.fromkeys((real, _written(absolute))))

    def _leads_to(self, absolute: str) -> str:
        try:
            return self._for_reading(absolute).locate(absolute).path
        except PathNotAllowed:
            if self._strict:
                raise
            return boundary_around(("/",)).resolve(absolute).path

    def _for_reading(self, absolute: str, granted: Sequence[str] = ()) -> Boundary:
        """Where a path is looked for that is only read: what was granted, inside, or among the places that anybody may read."""
        if granted and not self._strict:
            return GrantedPaths(granted)
        if self._boundary.plain_place(absolute) is not None:
            return self._boundary
        readable = boundary_around(self._readable())
        return self._boundary if readable.plain_place(absolute) is None else readable

    def shown(self, path: str) -> str:
        """A path inside for people and models: relative to the current folder if it is below it."""
        return path.removeprefix(self.cwd if self.cwd == "/" else f"{self.cwd}/")

    # files

    async def with_file(self, path: str, work: Callable[[files.OpenFile], T], *, granted: Sequence[str] = ()) -> T:
        """Open the regular file at `path` and let `work` read it: at once if it is small and inside, else in a thread."""
        absolute = self.absolute(path)
        boundary = self._for_reading(absolute, granted)

        def read_if_small() -> tuple[T] | None:
            with files.opened(boundary, absolute) as file:
                return (work(file),) if 0 < file.status.st_size <= INLINE_BYTES else None

        def read() -> T:
            with files.opened(boundary, absolute) as file:
                return work(file)

        done = None if granted else await inline(read_if_small)
        return done[0] if done else await in_thread(read, abandon=True)

    async def replace_file(self, path: str, change: changing.Change, *, granted: Sequence[str] = ()) -> changing.Replaced:
        """Replace the content of `path` by what `change` makes of it, atomically and durably; parents are made.

        The session then knows the new version. `change` runs in a thread, and may run more than once.
        """
        absolute = self.absolute(path)
        boundary = GrantedPaths(granted, self.temporaries) if granted and not self._strict else self._boundary
        recording = None if self.history is None else self._recording(self.history, granted=bool(granted))

        def work() -> changing.Replaced:
            replaced = changing.replace(boundary, absolute, change, limit=MAX_CHANGE_SIZE, recording=recording)
            self.reads.note(replaced.after.path, replaced.after.status, replaced.after.data)
            return replaced

        with anyio.move_on_after(MAX_WAIT):
            return await in_thread(work)
        raise TimeoutError(errno.ETIMEDOUT, f"no thread was free to write it for {MAX_WAIT:g} seconds", absolute)

    async def list_names(self, path: str) -> list[str]:
        """The names in a folder."""
        absolute = self.absolute(path)
        return await inline(lambda: files.list_names(self._for_reading(absolute), absolute))

    async def with_folder(self, path: str, work: Callable[[folders.OpenFolder], T], *, granted: Sequence[str] = ()) -> T:
        """Open the folder at `path` and let `work` look into it, in a thread."""
        absolute = self.absolute(path)

        def look() -> T:
            with folders.opened_folder(self._for_reading(absolute, granted), absolute) as folder:
                return work(folder)

        return await in_thread(look, abandon=True)

    # checkpoints

    def mark(self, point: str) -> None:
        """Changes from now on come after `point` and can be taken back together; without a history this does nothing."""
        if self.history is not None:
            self.history.mark(point)

    async def rewind(self, point: str, *, count: Count, undo: str | None) -> Rewound:
        """Put files back to what they were at `point`; `undo` is the id under which that can be taken back.

        Without one nothing is changed, and the answer says what would be. Raises `UnknownPoint`, `CheckpointError`.
        """
        from toolwright.files import rewind as rewinding  # few sessions do this

        history = self.history
        if history is None:
            raise CheckpointError("File rewinding is not enabled.")
        recording = self._recording(history, whole=True)
        door = rewinding.Door(
            self._boundary, history, self.reads, recording, largest=MAX_CHANGE_SIZE, standing_in=self.cwd, strict=self._strict
        )
        if undo is None:
            return await in_thread(lambda: rewinding.preview(door, point, count=count))
        return await in_thread(lambda: rewinding.rewind(door, point, undo=undo, count=count))

    def _recording(self, history: FileHistory, *, whole: bool = False, granted: bool = False) -> changing.Recording:
        def recorded(path: str, before: files.FileContent | None, after: bytes | None) -> AbstractContextManager[None]:
            known = before is not None and self.reads.knowledge(path, before.status, before.data) is ReadState.CURRENT
            return history.change(path, before, after=after, known=known, whole=whole, granted=granted)

        return recorded

    # searching

    @contextmanager
    def search_place(self, path: str, *, granted: Sequence[str] = ()) -> Iterator[SearchPlace]:
        """Open what is to be searched, so that a search looks at exactly this folder or file."""
        absolute = self.absolute(path)
        descriptor, place = self._for_reading(absolute, granted).open(absolute, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        folder = None
        try:
            mode = os.fstat(descriptor).st_mode
            kind = files.kind_of(mode)
            if kind == "directory":
                yield SearchPlace(place.path, descriptor, None)
            elif kind == "regular file":
                folder = os.open(place.root, PATH_ONLY | os.O_DIRECTORY)
                yield SearchPlace(place.path, folder, descriptor)
            else:
                raise NotRegularFile(place.path, kind)
        finally:
            os.close(descriptor)
            if folder is not None:
                os.close(folder)

    async def search(
        self, place: SearchPlace, arguments: Sequence[str], *, on_output: Callable[[bytes], Awaitable[None]], timeout: float
    ) -> SearchEnd:
        """Run ripgrep there."""
        from toolwright.processes.ripgrep import run_ripgrep  # starts programs: not before one is wanted

        target = "./" if place.file is None else "-"
        return await run_ripgrep(
            [*arguments, "--", target],
            directory=place.folder,
            on_output=on_output,
            stdin=place.file,
            timeout=timeout,
        )

    # where commands run

    def open_directory(self, path: str | None = None) -> tuple[int, str]:
        """Open a folder inside the boundary (None: the current one) for a command to stand in; descriptor and path."""
        descriptor, place = self._boundary.open(self.absolute(self.cwd if path is None else path), DIRECTORY)
        return descriptor, place.path

    def move_to(self, directory: str) -> bool:
        """Make `directory` the current folder if it is inside the boundary; say whether it is."""
        inside = self._boundary.contains(directory)
        if inside:
            self.cwd = directory
        return inside

    # the session's own files

    @property
    def scratch_path(self) -> str | None:
        """The folder of the session's own files, once there is one."""
        return self._scratch.path

    async def keep(self, kind: str, data: bytes, *, ending: str = ".txt") -> str:
        """Put `data` into a file of the session's own, to be read until the session ends; its path."""
        descriptor, path = self.open_private(kind, ending)

        def write() -> None:
            with open(descriptor, "wb") as file:
                file.write(data)

        await in_thread(write)
        return path

    def open_private(self, kind: str, ending: str = ".txt") -> tuple[int, str]:
        return self._in_scratch(lambda: self._scratch.create_file(kind, ending))

    def make_private_folder(self, kind: str) -> str:
        return self._in_scratch(lambda: self._scratch.make_folder(kind))

    def _in_scratch(self, make: Callable[[], T]) -> T:
        before = self._scratch.path
        made = make()
        if self._scratch.path != before:  # it has just come to be, and is inside the boundary
            self._set_directories(self._added)
        return made

    def _set_directories(self, directories: Sequence[str]) -> None:
        self._added = tuple(directories)
        scratch = () if self._scratch.path is None else (self._scratch.path,)
        self._boundary = Boundary((*self._added, *scratch), self.temporaries)

    # the end

    async def close(self) -> None:
        """End what commands left running and remove the scratch folder. May be called more than once."""
        with anyio.CancelScope(shield=True):
            await self.commands.close()
            self.temporaries.forget_drafts()
            if self._scratch.path is not None:
                await in_thread(self._scratch.remove)
                self._set_directories(self._added)


@lru_cache(maxsize=16)
def boundary_around(places: tuple[str, ...]) -> Boundary:
    """The boundary of places that are only read; many sessions share one."""
    return Boundary(places)


def _written(absolute: str) -> str:
    """A path as it was written, without what means nothing."""
    return os.path.normpath("/" + "/".join(split_path(absolute)))
