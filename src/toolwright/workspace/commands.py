"""The commands of one session: what each of them gets, where it runs, and how it ends.

All of them (the model's, those in the background, hooks) get their surroundings in one place. Nothing is loaded, opened or
started before there is a command.
"""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from toolwright.base.worker_threads import in_thread, inline
from toolwright.base.workspace_errors import UnknownShell
from toolwright.processes.output_buffer import OUTPUT_LIMIT, OutputCollector
from toolwright.processes.process_tree import Mark, end_tree

if TYPE_CHECKING:  # loaded only for sessions that need them
    from toolwright.processes.background import BackgroundShell, BackgroundShells
    from toolwright.processes.cgroups import CommandGroups
    from toolwright.processes.child_process import Account
    from toolwright.processes.command_limits import CommandLimits
    from toolwright.processes.hook_process import HookOutput
    from toolwright.processes.resource_limits import ChildLimits
    from toolwright.processes.shell import CommandContext, CommandResult
    from toolwright.processes.watchdog import Guard
    from toolwright.sandbox.cage.cage import Cage, CagedCommand, CageRules
    from toolwright.sandbox.exemptions import Terms
    from toolwright.sandbox.launch import Backend, PrivateFolder, WayOut
    from toolwright.sandbox.policy import SandboxRules
    from toolwright.sandbox.sandbox import Sandbox, SandboxedCommand
    from toolwright.workspace.workspace import Workspace

_MAX_CALLS = (1 << 20) - 1
_one_at_a_time = threading.Lock()


class Commands:
    """`env` is what the caller wants children to have beside the harmless defaults; `user` is the OS user of children; `limits`
    is what a command may take (defaults if not given)."""

    __slots__ = (
        "_account",
        "_cage",
        "_cage_rules",
        "_calls",
        "_env",
        "_foreign",
        "_groups",
        "_guard",
        "_limits",
        "_mark",
        "_note",
        "_shells",
        "_user",
        "_workspace",
        "enclosure",
        "on_change",
        "unenclosed",
    )

    def __init__(
        self, workspace: Workspace, env: Mapping[str, str], *, user: str | None = None, limits: ChildLimits | None = None
    ) -> None:
        self.enclosure: Sandbox | None = None
        """The sandbox, if they have one; see `enclose`."""
        self.unenclosed: str | None = None
        """Why they have no sandbox although one was asked for; said with every one of them."""
        self.on_change: Callable[[BackgroundShell], None] | None = None
        """Told of each background command that has started or ended."""
        self._workspace = workspace
        self._env = dict(env)
        self._user = user
        self._limits = limits
        self._foreign: PrivateFolder | None = None
        self._groups: CommandGroups | None = None
        self._guard: Guard | None = None
        self._account: Account | None = None
        self._mark: Mark | None = None
        self._note: str | None = None
        self._calls = 0
        self._shells: BackgroundShells | None = None
        self._cage_rules: Callable[[], CageRules] | None = None
        self._cage: Cage | None = None

    # the sandbox

    def enclose(
        self,
        mechanism: Backend,
        rules: Callable[[], SandboxRules],
        *,
        way_out: WayOut | None = None,
        terms: Terms | None = None,
    ) -> None:
        """From now on, every command runs in a sandbox of `mechanism`, held to `rules`, unless it is said otherwise for it."""
        from toolwright.sandbox.exemptions import Terms
        from toolwright.sandbox.sandbox import Sandbox

        private, said = self._private_folder, Terms() if terms is None else terms
        self.enclosure = Sandbox(mechanism, rules, private=private, way_out=way_out, terms=said)

    # the cage

    def cage_by(self, rules: Callable[[], CageRules]) -> None:
        """Hold commands that nobody was asked about to `rules`, which is asked for at each of them."""
        self._cage_rules = rules

    def was_stopped(self, command: str) -> bool:
        """Whether the cage kept this very command from what it wanted."""
        return self._cage is not None and command in self._cage.stopped

    def _made_cage(self) -> Cage:
        if self._cage is None:
            from toolwright.sandbox.cage.cage import Cage, make_mechanism  # not before a command needs it
            from toolwright.sandbox.cage.selection import cage_mechanism
            from toolwright.sandbox.errors import SandboxUnavailable

            name = cage_mechanism()
            if name is None or self._cage_rules is None:
                raise SandboxUnavailable("The command was not started: nobody was asked about it, and no cage works here.")
            self._cage = Cage(make_mechanism(name), self._cage_rules, private=self._private_folder)
        return self._cage

    def encloses(self, command: str, *, disabled: bool = False) -> bool:
        """Whether `command` would run in a sandbox; `disabled` is the call's own wish that it should not."""
        return self.enclosure is not None and self.enclosure.terms.encloses(command, disabled=disabled)

    # commands

    async def run(
        self,
        command: str,
        *,
        cwd: str | None = None,
        timeout: float = 120.0,
        output_limit: int = OUTPUT_LIMIT,
        unsandboxed: bool = False,
        caged: bool = False,
    ) -> CommandResult:
        """Run `command` in bash, in the current folder or in `cwd`, which must be inside the boundary; `caged` if nobody was
        asked about it."""
        from toolwright.processes.shell import run_to_end

        collector = OutputCollector(lambda: self._workspace.open_private("output"), limit=output_limit)
        with self._surroundings(cwd, enclosed=not unsandboxed, caged=caged) as surroundings:
            try:
                async with self._guarded():
                    return await run_to_end(command, surroundings, collector=collector, timeout=timeout)
            finally:
                collector.close()

    async def start(
        self,
        command: str,
        *,
        cwd: str | None = None,
        description: str = "",
        call: str = "",
        unsandboxed: bool = False,
        caged: bool = False,
    ) -> BackgroundShell:
        """Start `command` as `run` does, but do not wait for it. It ends with the session at the latest.

        `call` is the id of the tool call that wants it.
        """
        with self._surroundings(cwd, enclosed=not unsandboxed, caged=caged) as surroundings:
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

    async def end(self, shell: BackgroundShell) -> int:
        """End a background command with all that came of it; the answer is how many processes that were."""
        return 0 if self._shells is None else await self._shells.end(shell)

    async def exchange(
        self, command: str, args: Sequence[str] | None = None, *, stdin: bytes, on_output: Callable[[bytes], None]
    ) -> HookOutput:
        """Run a hook: a command of the person's own that is told something on stdin and answers. Cancelling ends all of it;
        what it leaves running ends with the session."""
        from toolwright.processes import hook_process  # only for sessions whose settings have hooks

        with self._surroundings(None) as around:
            environment = {**around.environment, "CLAUDE_PROJECT_DIR": self._workspace.home}
            asked = hook_process.Asked(command, args, around.directory, environment, around.mark, around.account, around.bounds)
            async with self._guarded():
                return await hook_process.exchange(asked, stdin=stdin, on_output=on_output)

    @asynccontextmanager
    async def _guarded(self) -> AsyncIterator[None]:
        """Whatever ends us meanwhile, the command ends as well."""
        from toolwright.processes.shell import shell_path, starting

        guard = self._guard_to_be()
        with starting():
            await inline(lambda: guard.begin(shell_path()))
        try:
            yield
        finally:
            guard.end()

    def _guard_to_be(self) -> Guard:
        if self._guard is None:
            from toolwright.processes.watchdog import Guard  # starts a program: not before there is a command

            self._guard = Guard(self._session_mark().session)
        return self._guard

    @contextmanager
    def _surroundings(self, cwd: str | None, *, enclosed: bool = False, caged: bool = False) -> Iterator[CommandContext]:
        """What every command gets: the one place that decides it."""
        from toolwright.processes.shell import CommandContext  # starts programs: not before one is wanted

        directory, path = self._workspace.open_directory(cwd)
        try:
            environment, mark = self.environment(PWD=path), self._next_mark()
            inside = self._inside(path, mark, enclosed=enclosed, caged=caged)
            with self._bounds() as bounds:
                yield CommandContext(
                    directory, environment, mark, account=self._child_account(), bounds=bounds, enclosed=inside
                )
        finally:
            os.close(directory)

    def _inside(self, path: str, mark: Mark, *, enclosed: bool, caged: bool) -> SandboxedCommand | CagedCommand | None:
        """Where a command runs: in the cage if nobody was asked about it, else in the sandbox if there is one."""
        if caged:
            return self._made_cage().for_command(path, mark, self._shown(), account=self.other_account)
        sandbox = self.enclosure if enclosed else None
        return None if sandbox is None else sandbox.for_command(path, self._shown(), self.other_account)

    def _shown(self) -> tuple[str, ...]:
        """What was kept for the model can be read by its commands as well."""
        scratch = self._workspace.scratch_path
        return () if scratch is None else (scratch,)

    def _private_folder(self) -> PrivateFolder:
        from toolwright.sandbox.launch import PrivateFolder

        account = self.other_account
        with _one_at_a_time:  # several commands may start at once, each in a thread
            if account is None:
                private = PrivateFolder(self._workspace.make_private_folder("sandbox"))
                private.set_up()
                return private
            if self._foreign is None:
                self._foreign = PrivateFolder.for_another((account.uid, account.gid))
            return self._foreign

    @contextmanager
    def _bounds(self) -> Iterator[CommandLimits]:
        from toolwright.processes.cgroups import CommandGroups
        from toolwright.processes.command_limits import CommandLimits  # only for sessions that run commands
        from toolwright.processes.resource_limits import default_limits

        if self._limits is None:
            self._limits = default_limits()
        if self._groups is None:
            self._groups = CommandGroups(self._limits)
        with self._groups.one() as group:
            yield CommandLimits(self._limits, group, scratch=lambda: self._workspace.scratch_path)

    def _shells_to_be(self) -> BackgroundShells:
        if self._shells is None:
            from toolwright.processes.background import BackgroundShells  # few sessions have such commands

            mark, guard = self._session_mark(), self._guard_to_be()
            self._shells = BackgroundShells(mark, lambda: self._workspace.open_private("shell"), guard=guard)
            self._shells.on_change = self._tell
        return self._shells

    def _tell(self, shell: BackgroundShell) -> None:
        if self.on_change is not None:
            self.on_change(shell)

    # who they are

    def environment(self, **more: str) -> dict[str, str]:
        """The filtered environment for a child of this session."""
        from toolwright.processes.environment import child_environment  # its expressions are dear: not before there is a child
        from toolwright.processes.git_environment import git_environment

        environment = child_environment(self._env) | more
        account = self._child_account()
        if account is not None:
            environment |= {"USER": account.name, "LOGNAME": account.name, "HOME": account.home}
        return git_environment(environment, looking=False)

    @property
    def account_ids(self) -> tuple[int, int] | None:
        """User and group of commands, if they are not ours."""
        account = self._child_account()
        return None if account is None else (account.uid, account.gid)

    @property
    def other_account(self) -> Account | None:
        """The user that commands run as, if that is not the one we run as."""
        account = self._child_account()
        return None if account is None or account.uid == os.geteuid() else account

    def _child_account(self) -> Account | None:
        if self._user is not None and self._account is None:
            from toolwright.processes.child_process import find_account

            self._account = find_account(self._user)
        return self._account

    def _next_mark(self) -> Mark:
        self._calls = self._calls % _MAX_CALLS + 1
        return Mark(self._session_mark().session, self._calls)

    @property
    def mark(self) -> Mark:
        """By which the processes of all commands are found."""
        return self._session_mark()

    def _session_mark(self) -> Mark:
        if self._mark is None:
            self._mark = Mark.new_session()
            self._note = self._workspace.temporaries.note_commands(self._mark.session)
        return self._mark

    # the end

    async def close(self) -> None:
        """End what they left running. May be called more than once."""
        self.on_change = None
        if self._mark is not None:
            mark, self._mark = self._mark, None
            shells, self._shells = self._shells, None
            guard, self._guard = self._guard, None
            await (end_tree(mark) if shells is None else shells.close())
            if guard is not None:
                guard.close()
            self._workspace.temporaries.withdraw(self._note)
        if self._groups is not None:
            await in_thread(self._groups.close)
        if self.enclosure is not None:
            from toolwright.sandbox.cover_watch import end_watching

            await in_thread(end_watching)
        if self._foreign is not None:
            await in_thread(self._foreign.remove)
            self._foreign = None
