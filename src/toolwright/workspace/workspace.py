"""One session's door to the machine: its folders, its files, its commands. Tools reach neither by any other way.

Cheap to have (thousands may live): an idle one holds no descriptor, no task and no process. It decides where things may happen,
not whether: permissions are asked before.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import anyio

from toolwright.workspace import changing, files, folders
from toolwright.workspace.beneath import DIRECTORY, PATH_ONLY
from toolwright.workspace.boundary import Boundary, checked_path, split_path
from toolwright.workspace.captured import OUTPUT_LIMIT, OutputCollector
from toolwright.workspace.errors import BadPath, CheckpointError, NotRegularFile, PathNotAllowed, UnknownShell
from toolwright.workspace.ledger import Knowledge, ReadLedger
from toolwright.workspace.leftovers import TemporaryFolder
from toolwright.workspace.limits import in_thread, inline
from toolwright.workspace.pace import pace_of
from toolwright.workspace.scratch import Scratch
from toolwright.workspace.trees import Mark, end_tree

if TYPE_CHECKING:  # loaded only for sessions that need them
    from toolwright.workspace.background import BackgroundShell, BackgroundShells
    from toolwright.workspace.bounds import Bounds
    from toolwright.workspace.cgroups import CommandGroups
    from toolwright.workspace.checkpoints import FileHistory
    from toolwright.workspace.child_limits import ChildLimits
    from toolwright.workspace.children import Account
    from toolwright.workspace.exchanges import Exchange
    from toolwright.workspace.rewinding import Count, Rewound
    from toolwright.workspace.ripgrep import SearchEnd
    from toolwright.workspace.sandbox.enclosure import Enclosure
    from toolwright.workspace.sandbox.launch import Mechanism, PrivateFolder, WayOut
    from toolwright.workspace.sandbox.policy import SandboxRules
    from toolwright.workspace.sandbox.terms import Terms
    from toolwright.workspace.shells import CommandResult, Surroundings

T = TypeVar("T")

INLINE_BYTES = 256 * 1024
"""Files up to this size are read on the event loop: measured, a thread costs more than the reading."""
LARGEST_CHANGE = 64 * 1024 * 1024
"""The largest file that is read whole in order to be changed."""
_MOST_CALLS = (1 << 20) - 1


@dataclass(frozen=True, slots=True)
class SearchPlace:
    """Where a search happens: a folder to stand in, or one file (then `file` is it, open)."""

    path: str
    folder: int
    file: int | None


class Workspace:
    """`cwd` and `add_dirs` are the boundary; `env` is what the caller wants children to have beside the harmless defaults;
    `user` is the OS user of children; `limits` is what a command may take (defaults if not given); what the session must
    put away goes below `state_dir`."""

    __slots__ = (
        "_account",
        "_added",
        "_boundary",
        "_calls",
        "_env",
        "_foreign",
        "_groups",
        "_limits",
        "_mark",
        "_note",
        "_scratch",
        "_shells",
        "_temporaries",
        "_user",
        "cwd",
        "enclosure",
        "history",
        "home",
        "on_shell",
        "reads",
        "unenclosed",
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
    ) -> None:
        for directory in (cwd, *add_dirs):
            if not os.path.isdir(directory):
                raise BadPath(f"{directory!r} is not a folder that a session could work in.")
        self.home = os.path.realpath(cwd)
        """The folder the session was given."""
        self.cwd = self.home
        """The folder commands start in and relative paths are relative to; a command can move it within the boundary."""
        self.reads = ReadLedger()
        self.history: FileHistory | None = None
        """Where files are kept as they were before a change, if they are to be."""
        self.enclosure: Enclosure | None = None
        """The sandbox of commands, if they have one; see `enclose`."""
        self.unenclosed: str | None = None
        """Why commands have no sandbox although one was asked for; said with every one of them."""
        self.on_shell: Callable[[BackgroundShell], None] | None = None
        """Told of each background command that has started or ended."""
        self._env = dict(env)
        self._user = user
        self._limits = limits
        self._foreign: PrivateFolder | None = None
        self._groups: CommandGroups | None = None
        self._account: Account | None = None
        self._temporaries = TemporaryFolder(state_dir)
        self._temporaries.sweep_now_and_then()
        self._scratch = Scratch(self._temporaries)
        self._added = (cwd, *add_dirs)
        self._boundary = Boundary(self._added, self._temporaries)
        self._mark: Mark | None = None
        self._note: str | None = None
        self._calls = 0
        self._shells: BackgroundShells | None = None

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
        """The absolute spellings of `path` a permission rule must be held against: as written and as it leads. Never raises."""
        try:
            written = "/" + "/".join(split_path(self.absolute(path)))
        except BadPath:
            return (path,)
        try:
            real = self._boundary.locate(written).path
        except (PathNotAllowed, BadPath, OSError):
            return (os.path.normpath(written),)
        return (real,) if real == written else (real, os.path.normpath(written))

    def shown(self, path: str) -> str:
        """A path inside for people and models: relative to the current folder if it is below it."""
        return path.removeprefix(self.cwd if self.cwd == "/" else f"{self.cwd}/")

    # files

    async def with_file(self, path: str, work: Callable[[files.OpenFile], T]) -> T:
        """Open the regular file at `path` and let `work` read it: at once if it is small, else in a thread."""
        absolute = self.absolute(path)

        def read_if_small() -> tuple[T] | None:
            with files.opened(self._boundary, absolute) as file:
                return (work(file),) if 0 < file.status.st_size <= INLINE_BYTES else None

        def read() -> T:
            with files.opened(self._boundary, absolute) as file:
                return work(file)

        done = await inline(read_if_small)
        return done[0] if done else await in_thread(read, abandon=True)

    async def replace_file(self, path: str, change: Callable[[files.Content | None], bytes]) -> changing.Replaced:
        """Replace the content of `path` by what `change` makes of it, atomically and durably; parents are made.

        The session then knows the new version. `change` may run in a thread, and more than once. On a disk that has proven
        quick, small files are written at once.
        """
        absolute = self.absolute(path)
        recording = None if self.history is None else self._recording(self.history)

        def work(*, at_once: bool = False) -> changing.Replaced:
            limit = INLINE_BYTES if at_once else LARGEST_CHANGE
            replaced = changing.replace(self._boundary, absolute, change, limit=limit, recording=recording, at_once=at_once)
            self.reads.note(replaced.after.path, replaced.after.status, replaced.after.data)
            return replaced

        pace = pace_of(self.home)
        if pace.is_quick:
            with suppress(changing.NotAtOnce):
                return await inline(lambda: pace.timed(lambda: work(at_once=True)))
        return await in_thread(lambda: pace.timed(work))

    async def list_names(self, path: str) -> list[str]:
        """The names in a folder."""
        absolute = self.absolute(path)
        return await inline(lambda: files.list_names(self._boundary, absolute))

    async def with_folder(self, path: str, work: Callable[[folders.OpenFolder], T]) -> T:
        """Open the folder at `path` and let `work` look into it, in a thread."""
        absolute = self.absolute(path)

        def look() -> T:
            with folders.opened_folder(self._boundary, absolute) as folder:
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
        from toolwright.workspace import rewinding  # few sessions do this

        history = self.history
        if history is None:
            raise CheckpointError("File rewinding is not enabled.")
        recording = self._recording(history, whole=True)
        door = rewinding.Door(self._boundary, history, self.reads, recording, largest=LARGEST_CHANGE, standing_in=self.cwd)
        if undo is None:
            return await in_thread(lambda: rewinding.preview(door, point, count=count))
        return await in_thread(lambda: rewinding.rewind(door, point, undo=undo, count=count))

    def _recording(self, history: FileHistory, *, whole: bool = False) -> changing.Recording:
        def recorded(path: str, before: files.Content | None, after: bytes | None) -> AbstractContextManager[None]:
            known = before is not None and self.reads.knowledge(path, before.status, before.data) is Knowledge.CURRENT
            return history.change(path, before, after=after, known=known, whole=whole)

        return recorded

    # searching

    @contextmanager
    def search_place(self, path: str) -> Iterator[SearchPlace]:
        """Open what is to be searched, so that a search looks at exactly this folder or file."""
        descriptor, place = self._boundary.open(self.absolute(path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
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
        from toolwright.workspace.ripgrep import run_ripgrep  # starts programs: not before one is wanted

        target = "./" if place.file is None else "-"
        return await run_ripgrep(
            [*arguments, "--", target],
            directory=place.folder,
            on_output=on_output,
            stdin=place.file,
            timeout=timeout,
        )

    # commands

    def enclose(
        self,
        mechanism: Mechanism,
        rules: Callable[[], SandboxRules],
        *,
        way_out: WayOut | None = None,
        terms: Terms | None = None,
    ) -> None:
        """From now on, every command runs in a sandbox of `mechanism`, held to `rules`, unless it is said otherwise for it."""
        from toolwright.workspace.sandbox.enclosure import Enclosure
        from toolwright.workspace.sandbox.terms import Terms

        private, said = self._private_folder, Terms() if terms is None else terms
        self.enclosure = Enclosure(mechanism, rules, private=private, way_out=way_out, terms=said)

    def encloses(self, command: str, *, disabled: bool = False) -> bool:
        """Whether `command` would run in a sandbox; `disabled` is the call's own wish that it should not."""
        return self.enclosure is not None and self.enclosure.terms.encloses(command, disabled=disabled)

    async def run_command(
        self,
        command: str,
        *,
        cwd: str | None = None,
        timeout: float = 120.0,
        output_limit: int = OUTPUT_LIMIT,
        unsandboxed: bool = False,
    ) -> CommandResult:
        """Run `command` in bash, in the current folder or in `cwd`, which must be inside the boundary."""
        from toolwright.workspace.shells import run_to_end

        collector = OutputCollector(lambda: self._open_private("output"), limit=output_limit)
        with self._surroundings(cwd, enclosed=not unsandboxed) as surroundings:
            try:
                return await run_to_end(command, surroundings, collector=collector, timeout=timeout)
            finally:
                collector.close()

    async def start_command(
        self, command: str, *, cwd: str | None = None, description: str = "", call: str = "", unsandboxed: bool = False
    ) -> BackgroundShell:
        """Start `command` as `run_command` does, but do not wait for it. It ends with the session at the latest.

        `call` is the id of the tool call that wants it.
        """
        with self._surroundings(cwd, enclosed=not unsandboxed) as surroundings:
            shell = await self._shells_to_be().start(command, surroundings, description=description, call=call)
            if self._groups is not None and surroundings.bounds is not None:
                self._groups.keep_while(surroundings.bounds.group, lambda: shell.running)
            return shell

    def shell(self, shell_id: str) -> BackgroundShell:
        """A command in the background, also one that has ended. Raises `UnknownShell`."""
        if self._shells is None:
            raise UnknownShell(shell_id, ())
        return self._shells.get(shell_id)

    @property
    def shells(self) -> tuple[BackgroundShell, ...]:
        """The commands started in the background, in that order, also those that have ended."""
        return () if self._shells is None else tuple(self._shells)

    async def end_shell(self, shell: BackgroundShell) -> int:
        """End a background command with all that came of it; the answer is how many processes that were."""
        return 0 if self._shells is None else await self._shells.end(shell)

    async def exchange(
        self, command: str, args: Sequence[str] | None = None, *, stdin: bytes, on_output: Callable[[bytes], None]
    ) -> Exchange:
        """Run a hook: a command of the person's own that is told something on stdin and answers. Cancelling ends all of it;
        what it leaves running ends with the session."""
        from toolwright.workspace import exchanges  # only for sessions whose settings have hooks

        with self._surroundings(None) as around:
            environment = {**around.environment, "CLAUDE_PROJECT_DIR": self.home}
            asked = exchanges.Asked(command, args, around.directory, environment, around.mark, around.account, around.bounds)
            return await exchanges.exchange(asked, stdin=stdin, on_output=on_output)

    @contextmanager
    def _surroundings(self, cwd: str | None, *, enclosed: bool = False) -> Iterator[Surroundings]:
        """What every command gets: the one place that decides it."""
        from toolwright.workspace.shells import Surroundings  # starts programs: not before one is wanted

        directory, place = self._boundary.open(self.absolute(self.cwd if cwd is None else cwd), DIRECTORY)
        try:
            environment = self.child_environment(PWD=place.path)
            account, sandbox = self._child_account(), self.enclosure if enclosed else None
            inside = None if sandbox is None else sandbox.for_command(place.path, self._shown_to_commands())
            with self._bounds() as bounds:
                yield Surroundings(directory, environment, self._next_mark(), account=account, bounds=bounds, enclosed=inside)
        finally:
            os.close(directory)

    def _shown_to_commands(self) -> tuple[str, ...]:
        """What was kept for the model can be read by its commands as well."""
        return () if self._scratch.path is None else (self._scratch.path,)

    def _private_folder(self) -> PrivateFolder:
        from toolwright.workspace.sandbox.launch import PrivateFolder

        account = self._child_account()
        if account is None or account.uid == os.geteuid():
            private = PrivateFolder(self._in_scratch(lambda: self._scratch.make_folder("sandbox")))
            private.set_up()
            return private
        if self._foreign is None:
            self._foreign = PrivateFolder.for_another((account.uid, account.gid))
        return self._foreign

    @contextmanager
    def _bounds(self) -> Iterator[Bounds]:
        from toolwright.workspace.bounds import Bounds  # only for sessions that run commands
        from toolwright.workspace.cgroups import CommandGroups
        from toolwright.workspace.child_limits import default_limits

        if self._limits is None:
            self._limits = default_limits()
        if self._groups is None:
            self._groups = CommandGroups(self._limits)
        with self._groups.one() as group:
            yield Bounds(self._limits, group, scratch=lambda: self._scratch.path)

    def _shells_to_be(self) -> BackgroundShells:
        if self._shells is None:
            from toolwright.workspace.background import BackgroundShells  # few sessions have such commands

            self._shells = BackgroundShells(self._session_mark(), lambda: self._open_private("shell"))
            self._shells.on_change = self._tell_shell
        return self._shells

    def _tell_shell(self, shell: BackgroundShell) -> None:
        if self.on_shell is not None:
            self.on_shell(shell)

    def child_environment(self, **more: str) -> dict[str, str]:
        """The filtered environment for a child of this session."""
        from toolwright.workspace.environment import child_environment  # its expressions are dear: not before there is a child

        environment = child_environment(self._env) | more
        account = self._child_account()
        if account is not None:
            environment |= {"USER": account.name, "LOGNAME": account.name, "HOME": account.home}
        return environment

    @property
    def account_ids(self) -> tuple[int, int] | None:
        """User and group of commands, if they are not ours."""
        account = self._child_account()
        return None if account is None else (account.uid, account.gid)

    def move_to(self, directory: str) -> bool:
        """Make `directory` the current folder if it is inside the boundary; say whether it is."""
        inside = self._boundary.contains(directory)
        if inside:
            self.cwd = directory
        return inside

    # the end

    async def close(self) -> None:
        """End what commands left running and remove the scratch folder. May be called more than once."""
        self.on_shell = None
        with anyio.CancelScope(shield=True):
            if self._mark is not None:
                mark, self._mark = self._mark, None
                shells, self._shells = self._shells, None
                await (end_tree(mark) if shells is None else shells.close())
                self._temporaries.withdraw(self._note)
            self._temporaries.forget_drafts()
            if self._groups is not None:
                await in_thread(self._groups.close)
            if self._foreign is not None:
                await in_thread(self._foreign.remove)
                self._foreign = None
            if self._scratch.path is not None:
                await in_thread(self._scratch.remove)
                self._set_directories(self._added)

    def _set_directories(self, directories: Sequence[str]) -> None:
        self._added = tuple(directories)
        scratch = () if self._scratch.path is None else (self._scratch.path,)
        self._boundary = Boundary((*self._added, *scratch), self._temporaries)

    async def keep(self, kind: str, data: bytes, *, ending: str = ".txt") -> str:
        """Put `data` into a file of the session's own, to be read until the session ends; its path."""
        descriptor, path = self._open_private(kind, ending)

        def write() -> None:
            with open(descriptor, "wb") as file:
                file.write(data)

        await in_thread(write)
        return path

    def _open_private(self, kind: str, ending: str = ".txt") -> tuple[int, str]:
        return self._in_scratch(lambda: self._scratch.create_file(kind, ending))

    def _in_scratch(self, make: Callable[[], T]) -> T:
        before = self._scratch.path
        made = make()
        if self._scratch.path != before:  # it has just come to be, and is inside the boundary
            self._set_directories(self._added)
        return made

    def _next_mark(self) -> Mark:
        self._calls = self._calls % _MOST_CALLS + 1
        return Mark(self._session_mark().session, self._calls)

    def _session_mark(self) -> Mark:
        if self._mark is None:
            self._mark = Mark.new_session()
            self._note = self._temporaries.note_commands(self._mark.session)
        return self._mark

    def _child_account(self) -> Account | None:
        if self._user is not None and self._account is None:
            from toolwright.workspace.children import find_account

            self._account = find_account(self._user)
        return self._account
