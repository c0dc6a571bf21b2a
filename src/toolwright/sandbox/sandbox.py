"""A session's sandbox: every command that it starts goes through here, in the foreground or not.

It knows the rules and the mechanism, and puts both together when a command starts. It does not start anything itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from msgspec.structs import replace

from toolwright.base.worker_threads import in_thread
from toolwright.processes.child_process import Account
from toolwright.sandbox.exemptions import Terms
from toolwright.sandbox.launch import Backend, Inside, Launch, PrivateFolder, WayOut
from toolwright.sandbox.policy import SandboxPolicy, SandboxRules
from toolwright.sandbox.resolve_policy import survey
from toolwright.sandbox.violations import violation_notice


class Sandbox:
    """`rules` is asked for at every command, since folders can be added; `private` makes the session's own folder."""

    __slots__ = ("_private", "_rules", "mechanism", "terms", "way_out")

    def __init__(
        self,
        mechanism: Backend,
        rules: Callable[[], SandboxRules],
        *,
        private: Callable[[], PrivateFolder],
        way_out: WayOut | None = None,
        terms: Terms = Terms(),  # noqa: B008 — frozen
    ) -> None:
        self.mechanism = mechanism
        self.terms = terms
        self.way_out = way_out
        """Where commands go whose network is `proxied`."""
        self._rules = rules
        self._private = private

    def policy(self, shown: Sequence[str] = ()) -> SandboxPolicy:
        """What a command may touch that starts now; `shown` can be read in any case. Raises `SandboxRefused`."""
        rules = self._rules()
        return survey(replace(rules, shown=(*rules.shown, *shown)))

    @contextmanager
    def wrap(
        self,
        argv: Sequence[str],
        *,
        directory: str,
        environment: Mapping[str, str],
        shown: Sequence[str] = (),
        account: Account | None = None,
    ) -> Iterator[Launch]:
        """What to start in place of `argv`, in the folder `directory`, as `account`. Leave only when the command has ended.

        Looks through folders: call it in a thread. Raises `SandboxRefused` or `SandboxUnavailable`; nothing is started then.
        """
        with ExitStack() as stack:
            given = {name: value for name, value in environment.items() if name not in self.terms.withheld}
            inside = Inside(argv, directory, given, account)
            policy = self.policy(shown)
            launch = self.mechanism.launch(policy, inside, private=self._private(), stack=stack)
            yield self._with_network(launch) if policy.network == "proxied" else launch

    def _with_network(self, launch: Launch) -> Launch:
        """Without a way out a command has no network at all."""
        if self.way_out is None:
            return launch
        argv = tuple(self.way_out.entering(launch.argv))
        keep = (*launch.keep, *self.way_out.descriptors)
        return replace(launch, argv=argv, environment=launch.environment | self.way_out.environment, keep=keep)

    def notice(self, command: str, output: str) -> str | None:
        """What to tell the model about a command that failed, if it looks as if the sandbox was why."""
        rules = self._rules()
        return violation_notice(
            command,
            output,
            mechanism=self.mechanism.name,
            writable=rules.roots,
            home="" if rules.everything_writable else rules.commands_home or rules.home,
            may_ask=self.terms.allows_exceptions,
            ignored=self.terms.ignored,
        )

    def for_command(self, directory: str, shown: Sequence[str] = (), account: Account | None = None) -> SandboxedCommand:
        """A sandbox for one command in the folder `directory`; `account` runs it, if that is not our own."""
        return SandboxedCommand(self, directory, shown, account)


class SandboxedCommand:
    """The sandbox of one command, from just before it starts until it has ended."""

    leaves_nothing = False
    __slots__ = ("_account", "_directory", "_enclosure", "_of_sandbox", "_refused", "_shown", "_stack", "has_keeper", "is_over")

    def __init__(self, enclosure: Sandbox, directory: str, shown: Sequence[str], account: Account | None) -> None:
        self._enclosure = enclosure
        self._directory = directory
        self._shown = shown
        self._account = account
        self._stack = ExitStack()
        self._refused = 0
        self._of_sandbox: Callable[[], Sequence[str]] = tuple
        self.has_keeper = False
        """Whether the process that was started only keeps the sandbox (`Launch.is_keeper`)."""
        self.is_over: Callable[[], bool] = lambda: True
        """Whether `leave` has nothing to wait for."""

    def first_words(self, marking: str) -> str:
        """What bash runs first: the words by which it marks itself."""
        return marking

    async def enter(self, argv: Sequence[str], environment: Mapping[str, str]) -> Launch:
        """What to start. Raises `SandboxRefused` or `SandboxUnavailable`; then nothing may be started."""
        if self._enclosure.way_out is not None:
            await self._enclosure.way_out.start()
            self._refused = self._enclosure.way_out.refused
        wrapped = self._enclosure.wrap(
            argv, directory=self._directory, environment=environment, shown=self._shown, account=self._account
        )
        launch = await in_thread(lambda: self._stack.enter_context(wrapped))
        self.has_keeper, self.is_over, self._of_sandbox = launch.is_keeper, launch.is_over, launch.notices
        return launch

    def notices(self, command: str, exit_code: int, output: str) -> list[str]:
        """What to tell the model, once the command has ended, about what the sandbox kept it from."""
        stopped = self._enclosure.notice(command, output) if exit_code != 0 else None
        way_out = self._enclosure.way_out
        refused = None if way_out is None else way_out.refused_in_words(self._refused)
        return [*self._of_sandbox(), *(notice for notice in (refused, stopped) if notice is not None)]

    def leave(self) -> None:
        """The command has ended: wait for the last of its processes, and take away what stood on the host for it."""
        self.is_over = lambda: True
        self._stack.close()
