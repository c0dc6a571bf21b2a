"""Options → a session. The only file that knows every room; options stop here, each room gets its own arguments.

Which models, tools and permissions the options mean is in `model_choice`, `tool_choice` and `permission_choice`.
What rooms ask of each other later are methods of one object: a process may hold thousands of sessions, and closures are large.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from msgspec.structs import replace

from toolwright.config import options_check
from toolwright.config.model_selection import choose_models, sampling, whole_number
from toolwright.config.session_config import Remembering, SessionConfig, ground_of, notes_on
from toolwright.hooks import Background, EventContext, Hook, HookRunner
from toolwright.hooks.session.hook_reporter import HookReporter
from toolwright.hooks.session.session_hooks import SessionHooks
from toolwright.mcp.session.progress import progress_frames
from toolwright.mcp.session.prompts import ServerPrompts
from toolwright.mcp.session.timeouts import first_turn_patience, output_limit, waits_for_servers
from toolwright.mcp.session.tool_search import WaitingTools, policy_of
from toolwright.mcp.session.toolbox import Toolbox
from toolwright.models import prices
from toolwright.models.usage import UsageTracker
from toolwright.permissions.session.approval import TIMEOUT, Approver
from toolwright.permissions.session.gate import Gate, no_judge
from toolwright.permissions.session.gate_selection import SessionBounds, judge_of, rules_of
from toolwright.permissions.session.permission_call import OF_ITS_OWN
from toolwright.protocol import frames
from toolwright.runtime import notices, pacing
from toolwright.runtime.background import BackgroundTasks
from toolwright.runtime.context_usage import ASSUMED_WINDOW
from toolwright.runtime.conversation import Conversation
from toolwright.runtime.host import host_of
from toolwright.runtime.initialization import PLAN_FLAG, as_agent, tool_aliases
from toolwright.runtime.limits import TurnLimits
from toolwright.runtime.plan_mode import PlanNotices
from toolwright.runtime.resume import Beginning, begun
from toolwright.runtime.session import CLOSE_SECONDS, LocalSession, Parts
from toolwright.runtime.system_prompt import system_prompt
from toolwright.runtime.tool_calls import ToolRunner
from toolwright.runtime.tool_selection import Offered, offered_tools
from toolwright.sessions import config_dir
from toolwright.tools.session_state import Standing, Todo
from toolwright.types import CanUseTool, ClaudeAgentOptions, OptionsError, PermissionMode
from toolwright.workspace import BadPath, CommandNotStarted, Workspace

if TYPE_CHECKING:
    from toolwright.egress.session import Egress
    from toolwright.mcp.client.server_connection import ExternalServer
    from toolwright.mcp.client.server_events import Audience
    from toolwright.mcp.session.server_selection import ServersConfig
    from toolwright.models.registry import ResolvedModel
    from toolwright.processes.resource_limits import ChildLimits
    from toolwright.runtime.interfaces import Host
    from toolwright.sandbox.cage.cage import CageRules

REPLAY_FLAG = "replay-user-messages"


def open_session(options: ClaudeAgentOptions, *, host: Host | None = None, tells_state: bool = False) -> LocalSession:
    """A session that has not started. Wrong options raise `OptionsError` here, before anything happens."""
    options_check.check(options)
    options = as_agent(options)
    chosen = host if host is not None else host_of(options)

    async def build(session: LocalSession) -> Parts:
        return await assemble(options, chosen, session)

    return LocalSession(build, tells_state=tells_state)


async def assemble(options: ClaudeAgentOptions, host: Host, session: LocalSession) -> Parts:
    """Put the rooms together."""
    ground = ground_of(options)
    beginning = await begun(options, ground.env, ground.cwd)
    assembly = Assembly(options, host, session, ground=ground, beginning=beginning)
    try:
        await assembly.open()
    except BaseException:
        with anyio.move_on_after(CLOSE_SECONDS, shield=True):
            await assembly.release()
        raise
    return assembly


class Assembly:
    """The rooms of one session, and what they ask of each other. Implements `Parts`."""

    __slots__ = (
        "_gate",
        "_ground",
        "_hooks",
        "_host",
        "_judge",
        "_options",
        "_planning",
        "_remembering",
        "_session",
        "_toolbox",
        "_way_out",
        "_workspace",
        "background",
        "conversation",
        "source",
    )

    def __init__(
        self, options: ClaudeAgentOptions, host: Host, session: LocalSession, *, ground: SessionConfig, beginning: Beginning
    ) -> None:
        self._options, self._host, self._session = options, host, session
        self._ground = ground
        for line in (*options_check.without_effect(options), *notes_on(ground)):
            self.tell(line)
        beginning.journal.on_unwritable = self._tell_unwritable
        if beginning.problem is not None:
            self._tell_unwritable(beginning.problem)
        self.source = beginning.source
        self._workspace = workspace_of(options, ground, beginning)
        offered = offered_tools(options, can_ask=host.can_use_tool is not None and host.converses)
        models = self.resolve(options.model)
        waiting = waiting_tools(ground, models[0], beginning)
        servers = {**host.tool_servers, **self._servers_outside()}
        self._toolbox = Toolbox(
            (*offered.builtins, *offered.given),
            servers,
            patience=first_turn_patience(ground.env),
            waiting=waiting,
            tell=self.tell,
            aliases=tool_aliases(options),
        )
        self._hooks = self._make_hooks(beginning.session_id)
        ledger = UsageTracker(ground.env)
        self._judge = judge_of(ground, session, ledger, session_id=beginning.session_id)
        self._gate = self._make_gate()
        self.background = BackgroundTasks(self._workspace, beginning.session_id, send=session.put_now, wake=session.wake)
        self._hooks.background_tasks = self.background.summaries
        self._remembering = Remembering(
            ground, self._hooks, further=added_folders(options, ground), hidden=self._gate.hidden_paths, tell=self.tell
        )
        instructions = options.extra_args.get(PLAN_FLAG)
        self._planning = PlanNotices(self._gate, can_exit="ExitPlanMode" in self._toolbox.tools, instructions=instructions)
        self._way_out: Egress | None = None
        self.conversation = self._make_conversation(beginning, models, offered, ledger=ledger)

    def _make_hooks(self, session_id: str) -> SessionHooks:
        news = HookReporter(self._session, session_id, self.tell, self._options.include_hook_events)
        background = Background()
        configured: Mapping[str, Sequence[Hook]] = {}
        if self._ground.settings.hooks_in_force:
            from toolwright.hooks.session.settings_hooks import HooksConfig, settings_hooks  # most sessions have none

            around = HooksConfig(self._workspace, self._toolbox, self._ground.env, news, background)
            configured = settings_hooks(self._ground.settings, around)
        runner = HookRunner(self._host.hooks, configured=configured, listener=news, background=background)
        return SessionHooks(runner, self.scene, self._session.emit)

    def _who_is_asked(self) -> CanUseTool | None:
        name = self._options.permission_prompt_tool_name
        if name in (None, "stdio"):
            return self._host.can_use_tool
        from toolwright.runtime.permission_answers import PromptTool  # few sessions ask a tool

        return PromptTool(str(name), self._toolbox).ask

    def _make_gate(self) -> Gate:
        patience = whole_number(self._ground.env, "TOOLWRIGHT_PERMISSION_SECONDS", int(TIMEOUT))
        asking = Approver(self._who_is_asked(), self._hooks, self._session.waiting_for_person, patience)
        bounds = SessionBounds(self._options, self._ground, self._workspace, hooks=self._hooks, tell_mode=self.tell_mode)
        judge = no_judge if self._judge is None else self._judge
        rules = rules_of(self._options, self._ground)
        return Gate(rules, bounds.first_mode, asking=asking, bounds=bounds, judge=judge, tell=self.tell)

    def _make_conversation(
        self, beginning: Beginning, models: list[ResolvedModel], offered: Offered, *, ledger: UsageTracker
    ) -> Conversation:
        options, longest = self._options, output_limit(self._ground.env)
        preapproved = frozenset(tool.name for tool in offered.given) | OF_ITS_OWN
        runner = ToolRunner(self._toolbox, self._gate, self._hooks, self._workspace, beginning.session_id, preapproved)
        runner.longest_served = longest
        runner.standing = Standing(self._gate, todos_changed=self.tell_todos)
        return Conversation(
            beginning.session_id,
            models,
            self._toolbox,
            runner,
            system_prompt(options.system_prompt, cwd=self.cwd, has_files=bool(offered.builtins)),
            self._hooks,
            beginning.journal,
            ledger,
            self._session.emit,
            limits=TurnLimits(options.max_turns, options.max_budget_usd),
            sampling=sampling(options, self._ground.env),
            structured=offered.structured,
            recall=self._remembering.beginning,
            partial_messages=options.include_partial_messages,
            replay_prompts=REPLAY_FLAG in options.extra_args,
            history=beginning.history,
            used_ids=beginning.used_ids,
            deferred=beginning.deferred,
            take_news=self.take_news,
            heard=partial(self._session.heard, pacing.callback_pause(self._ground.env) * pacing.TIMEOUT),
            commands=ServerPrompts(self._toolbox, self._workspace, longest=longest),
        )

    async def open(self) -> None:
        """Start what has to run. By now whatever is wrong with the options has been said."""
        self._workspace.commands.cage_by(self.cage_rules)
        self._way_out = await self._enclose()
        await self._toolbox.connect()
        if waits_for_servers(self._ground.env):
            await self._toolbox.settle()

    async def _enclose(self) -> Egress | None:
        """Put commands into a sandbox if options or settings ask for one; the answer is its way out, if it has one."""
        if self._options.sandbox is None and self._ground.settings.sandbox is None:
            return None
        from toolwright.sandbox.session import sandbox_setup  # only for sessions that say something about it

        config = sandbox_setup.sandbox_config(self._options, self._ground.settings.sandbox)
        if config is None:
            return None
        gate = self._gate
        surroundings = sandbox_setup.SandboxContext(
            self._workspace,
            self._ground.env,
            lambda: gate.rules,
            gate.bounds.place,
            self.tell,
            gate.admits_host if gate.can_ask else None,
        )
        return await sandbox_setup.set_up_sandbox(config, surroundings)

    # the parts of a session that has started

    @property
    def cwd(self) -> str:
        return self._workspace.home

    @property
    def agents(self) -> list[dict[str, Any]]:
        return [{"name": name, "description": agent.description} for name, agent in (self._options.agents or {}).items()]

    def resolve(self, model: Any) -> list[ResolvedModel]:
        return choose_models(model, self._options, self._ground)

    def make_servers(self, given: Any) -> tuple[dict[str, ExternalServer], dict[str, str]]:
        from toolwright.mcp.session.server_selection import servers_asked_for

        return servers_asked_for(given, self._server_ground())

    async def release(self) -> None:
        await self._hooks.close()
        await self._toolbox.close()
        await self._workspace.close()
        if self._way_out is not None:
            await self._way_out.close()
        await self.conversation.release_models()
        if self._judge is not None:
            await self._judge.aclose()
        await self.conversation.forget()

    # what rooms ask of each other

    def take_news(self) -> list[str]:
        """What the model is to hear with the next request; whoever reads the session is told which lists changed."""
        for server, event in self._toolbox.take_events():
            self._session.put_now(notices.list_changed(server, event, self.conversation.session_id))
        return [
            *self.background.take_news(),
            *self._remembering.below(self._workspace.reads.take_folders()),
            *self._planning.take(),
            *self._toolbox.take_news(),
        ]

    def cage_rules(self) -> CageRules:
        """What holds for commands that nobody was asked about."""
        from toolwright.sandbox.session.cage_setup import cage_rules  # only for sessions that run such commands

        gate, env = self._gate, self._ground.env
        return cage_rules(self._workspace, env, str(config_dir(env)), gate.rules, gate.bounds.place())

    def scene(self) -> EventContext:
        """What hooks are told about the present moment."""
        turn = self._session.turn
        return EventContext(
            self.conversation.session_id,
            str(self.conversation.journal.path),
            self._workspace.cwd,
            permission_mode=self._gate.mode,
            prompt_id=turn.prompt.uuid if turn else None,
            effort=self._options.effort or "medium",  # what models do when nothing was chosen
        )

    def _tell_unwritable(self, problem: object) -> None:
        line = f"toolwright: {problem} The session goes on in memory alone: it cannot be resumed."
        if self._options.stderr is None and sys.stderr is not None:  # what is lost must not be lost unsaid
            print(line, file=sys.stderr)
        self.tell(line)

    def tell(self, line: str) -> None:
        """A line of diagnostics; what the caller's function raises is its own business and never ends a session."""
        if self._options.stderr is None:
            return
        try:
            self._options.stderr(line)
        except Exception:  # noqa: BLE001 — host boundary: diagnostics must not break the session
            pass

    def tell_mode(self, mode: PermissionMode) -> None:
        """Whoever changed the mode: clients are told by a frame."""
        self._send("status", status=None, permissionMode=mode)

    def tell_todos(self, todos: list[Todo]) -> None:
        self._send("todo_list_updated", todos=todos)

    def _send(self, subtype: str, **fields: Any) -> None:
        self._session.put_now(frames.system(subtype, self.conversation.session_id, **fields))

    # servers outside this process; most sessions have none

    def _servers_outside(self) -> Mapping[str, ExternalServer]:
        if not self._options.mcp_servers and not self._ground.settings.mcp_servers:
            return {}
        from toolwright.mcp.session.server_selection import external_servers

        return external_servers(self._options, self._server_ground())

    def _server_ground(self) -> ServersConfig:
        """What they get of this session. It has the session's folders as they are now, without a scratch folder of later."""
        from toolwright.mcp.session.server_selection import ServersConfig, answering_of, sampler_of, surroundings

        roots, can_use_tool, waiting = self._workspace.roots, self._host.can_use_tool, self._session.waiting_for_person
        answering = answering_of(can_use_tool, waiting, lambda: roots)
        around = surroundings(self._workspace, self._ground.env, roots, user=self._options.user, answering=answering)
        sampler = sampler_of(can_use_tool, waiting, lambda: self.conversation)
        return ServersConfig(replace(around, sampler=sampler), self._ground.settings, self._audience)

    def _audience(self, server: str) -> Audience:
        from toolwright.mcp.client.server_events import Audience

        return Audience(progress=progress_frames(server, self._session), tell=lambda line: self.tell(f"toolwright: {line}"))


# the workspace


def workspace_of(options: ClaudeAgentOptions, ground: SessionConfig, beginning: Beginning) -> Workspace:
    workspace = open_workspace(options, ground)
    if options.enable_file_checkpointing:
        from toolwright.files.checkpoints import FileHistory  # loaded only for sessions that keep checkpoints

        workspace.history = FileHistory(str(config_dir(ground.env) / "file-history" / beginning.session_id))
    workspace.reads.restore(beginning.files_seen)
    return workspace


def open_workspace(options: ClaudeAgentOptions, ground: SessionConfig) -> Workspace:
    of_settings = (folder for folder in ground.settings_folders().values() if os.path.isdir(folder))
    explicit = {**ground.settings.env, **options.env}
    state_dir = str(config_dir(ground.env))
    try:
        workspace = Workspace(
            ground.cwd,
            add_dirs=(*added_folders(options, ground), *of_settings),
            env=explicit,
            user=options.user,
            state_dir=state_dir,
            limits=command_limits(options, ground),
            readable=ground.readable_places,
            strict=ground.strict,
        )
        if options.user is not None:
            workspace.commands.environment()  # looks the user up
        return workspace
    except BadPath as error:
        raise OptionsError(f"add_dirs: {error}") from None
    except CommandNotStarted as error:
        raise OptionsError(f"user: {error}") from None


def command_limits(options: ClaudeAgentOptions, ground: SessionConfig) -> ChildLimits | None:
    if options.sandbox is None and ground.settings.sandbox is None:
        return None
    from toolwright.sandbox.session import sandbox_setup  # only for sessions that say something about it

    return sandbox_setup.limits_of(sandbox_setup.said_of_sandbox(options, ground.settings.sandbox))


def added_folders(options: ClaudeAgentOptions, ground: SessionConfig) -> tuple[str, ...]:
    return tuple(os.path.join(ground.cwd, os.path.expanduser(os.fspath(folder))) for folder in options.add_dirs)


# tools


def waiting_tools(ground: SessionConfig, model: ResolvedModel, beginning: Beginning) -> WaitingTools:
    """Where tools of servers wait to be searched for, if there are too many for this model's context."""
    limits = prices.limits(model.id)
    waiting = WaitingTools(policy_of(ground.env), (limits.context_window if limits else None) or ASSUMED_WINDOW)
    waiting.recall(beginning.tools_loaded)
    return waiting
