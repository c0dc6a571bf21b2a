"""Options → a session. The only file that knows every room; options stop here, each room gets its own arguments.

Which models, tools and permissions the options mean is in `model_choice`, `tool_choice` and `permission_choice`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolwright.hooks import Background, Hook, HookRunner, Scene
from toolwright.models import prices
from toolwright.protocol import frames
from toolwright.runtime import checks
from toolwright.runtime.asking import PATIENCE, Asking
from toolwright.runtime.background import BackgroundTasks
from toolwright.runtime.context_usage import ASSUMED_WINDOW
from toolwright.runtime.conversation import Conversation
from toolwright.runtime.ground import Ground, Remembering, ground_of, notes_on
from toolwright.runtime.hook_news import HookNews
from toolwright.runtime.host import host_of
from toolwright.runtime.ledger import Ledger
from toolwright.runtime.limits import Limits
from toolwright.runtime.model_choice import model_chooser, sampling, whole_number
from toolwright.runtime.permission_choice import gate_of, judge_of, place_of
from toolwright.runtime.planning import PlanNews
from toolwright.runtime.resume import Beginning, begin
from toolwright.runtime.server_progress import progress_frames
from toolwright.runtime.server_prompts import ServerPrompts
from toolwright.runtime.server_waits import first_turn_patience, output_limit, waits_for_servers
from toolwright.runtime.session import LocalSession, Parts
from toolwright.runtime.session_hooks import SessionHooks
from toolwright.runtime.system_prompt import system_prompt
from toolwright.runtime.tool_calls import ToolRunner
from toolwright.runtime.tool_choice import chosen_builtins, own_functions, structured_output
from toolwright.runtime.tool_search import WaitingTools, policy_of
from toolwright.runtime.toolbox import Toolbox
from toolwright.sessions import config_dir
from toolwright.tools.registry import OF_OWN_SHELLS, OF_THE_SESSION
from toolwright.tools.standing import Standing, Todo
from toolwright.types import ClaudeAgentOptions, OptionsError, PermissionMode
from toolwright.workspace import BadPath, CommandNotStarted, Workspace

if TYPE_CHECKING:
    from toolwright.mcp.audience import Audience
    from toolwright.mcp.external import ExternalServer
    from toolwright.models.registry import ResolvedModel
    from toolwright.runtime.gate import Gate
    from toolwright.runtime.seams import Host
    from toolwright.runtime.tool_servers import ServerGround
    from toolwright.settings.memory import Loaded
    from toolwright.workspace.checkpoints import FileHistory
    from toolwright.workspace.child_limits import ChildLimits
    from toolwright.workspace.egress.session import Egress

REPLAY_FLAG = "replay-user-messages"


def open_session(options: ClaudeAgentOptions, *, host: Host | None = None, tells_state: bool = False) -> LocalSession:
    """A session that has not started. Wrong options raise `OptionsError` here, before anything happens."""
    checks.check(options)
    chosen = host if host is not None else host_of(options)

    async def build(session: LocalSession) -> Parts:
        return await assemble(options, chosen, session)

    return LocalSession(build, tells_state=tells_state)


async def assemble(options: ClaudeAgentOptions, host: Host, session: LocalSession) -> Parts:
    """Put the rooms together."""
    ground = ground_of(options)
    diagnose(options, ground)
    beginning = begin(options, ground.env, ground.cwd)
    workspace = open_workspace(options, ground)
    if options.enable_file_checkpointing:
        workspace.history = file_history(ground, beginning.session_id)
    workspace.reads.restore(beginning.files_seen)
    functions, structured = own_functions(options), structured_output(options)
    builtins, extra = chosen_builtins(options, can_ask=can_converse(host)), (*functions, *([structured] if structured else []))
    access = server_access(options, ground, host, workspace=workspace, session=session)
    servers = {**host.tool_servers, **servers_outside(options, ground, access)}
    choose_models = model_chooser(options, ground)
    models = choose_models(options.model)
    waiting = waiting_tools(ground, models[0], beginning)
    toolbox = Toolbox((*builtins, *extra), servers, patience=first_turn_patience(ground.env), waiting=waiting)
    scene = scene_of(options, beginning, workspace=workspace, session=session)
    of_settings = settings_hooks_of(ground, workspace, toolbox)
    hooks = hooks_of(options, host, session, scene=scene, of_settings=of_settings)
    patience = whole_number(ground.env, "TOOLWRIGHT_PERMISSION_SECONDS", int(PATIENCE))
    ledger, asking = Ledger(ground.env), Asking(host.can_use_tool, hooks, session.waiting_for_person, patience)
    judge = judge_of(ground, session, ledger, session_id=beginning.session_id)
    tell_mode = mode_teller(session, beginning.session_id)
    gate = gate_of(options, ground, workspace=workspace, asking=asking, judge=judge, tell_mode=tell_mode)
    way_out = await sandbox_for(options, ground, workspace=workspace, gate=gate)
    preapproved = frozenset(tool.name for tool in extra) | OF_OWN_SHELLS | OF_THE_SESSION
    background = BackgroundTasks(workspace, beginning.session_id, send=session.put_now, wake=session.wake)
    hooks.background_tasks = background.summaries
    remembering = remembering_of(options, ground, gate, hooks=hooks)
    planning = PlanNews(lambda: gate.mode, can_exit="ExitPlanMode" in toolbox.tools)
    runner = ToolRunner(toolbox, gate, hooks, workspace, beginning.session_id, preapproved)
    runner.longest_served = output_limit(ground.env)
    runner.standing = Standing(gate, todos_changed=todo_teller(session, beginning.session_id))
    conversation = Conversation(
        beginning.session_id,
        models,
        toolbox,
        runner,
        system_prompt(options.system_prompt, cwd=workspace.home, has_files=bool(builtins)),
        hooks,
        beginning.journal,
        ledger,
        session.emit,
        limits=Limits(options.max_turns, options.max_budget_usd),
        sampling=sampling(options, ground.env),
        structured=structured,
        recall=remembering.beginning,
        partial_messages=options.include_partial_messages,
        replay_prompts=REPLAY_FLAG in options.extra_args,
        history=beginning.history,
        used_ids=beginning.used_ids,
        deferred=beginning.deferred,
        take_news=lambda: [
            *background.take_news(),
            *remembering.below(workspace.reads.take_folders()),
            *planning.take(),
            *toolbox.take_news(),
        ],
        commands=ServerPrompts(lambda: toolbox.connections, workspace, longest=runner.longest_served),
    )

    await connect(toolbox, ground)  # last: whatever is wrong with the options has been said before a server starts

    async def release() -> None:
        await hooks.close()
        await toolbox.close()
        await workspace.close()
        if way_out is not None:
            await way_out.close()
        await conversation.release_models()
        if judge is not None:
            await judge.aclose()

    return Parts(
        conversation,
        background,
        cwd=workspace.home,
        agents=tuple({"name": name, "description": agent.description} for name, agent in (options.agents or {}).items()),
        source=beginning.source,
        resolve=choose_models,
        release=release,
        make_servers=lambda given: servers_on_request(given, access),
    )


# the ground


def remembering_of(options: ClaudeAgentOptions, ground: Ground, gate: Gate, *, hooks: SessionHooks) -> Remembering:
    def loaded(file: Loaded, reason: str) -> None:
        hooks.instructions_are_loaded(file.path, file.kind, reason=reason, parent=file.imported_by)

    def say(line: str) -> None:
        tell(options, line)

    further = [os.path.join(ground.cwd, os.path.expanduser(os.fspath(folder))) for folder in options.add_dirs]
    return Remembering(ground, further=further, hidden=gate.hidden_paths, tell=say, loaded=loaded)


def open_workspace(options: ClaudeAgentOptions, ground: Ground) -> Workspace:
    added = [os.path.join(ground.cwd, os.path.expanduser(os.fspath(folder))) for folder in options.add_dirs]
    added += [folder for folder in ground.settings_folders().values() if os.path.isdir(folder)]
    explicit = {**ground.settings.env, **options.env}
    state_dir = str(config_dir(ground.env))
    try:
        workspace = Workspace(
            ground.cwd,
            add_dirs=added,
            env=explicit,
            user=options.user,
            state_dir=state_dir,
            limits=command_limits(options, ground),
        )
        if options.user is not None:
            workspace.child_environment()  # looks the user up
        return workspace
    except BadPath as error:
        raise OptionsError(f"add_dirs: {error}") from None
    except CommandNotStarted as error:
        raise OptionsError(f"user: {error}") from None


def command_limits(options: ClaudeAgentOptions, ground: Ground) -> ChildLimits | None:
    if options.sandbox is None and ground.settings.sandbox is None:
        return None
    from toolwright.runtime import sandboxing  # only for sessions that say something about it

    return sandboxing.limits_of(sandboxing.said_of_sandbox(options, ground.settings.sandbox))


async def sandbox_for(options: ClaudeAgentOptions, ground: Ground, *, workspace: Workspace, gate: Gate) -> Egress | None:
    """Put commands into a sandbox if options or settings ask for one; the answer is its way out, if it has one."""
    if options.sandbox is None and ground.settings.sandbox is None:
        return None
    from toolwright.runtime import sandboxing  # only for sessions that say something about it

    config = sandboxing.sandbox_config(options, ground.settings.sandbox)
    if config is None:
        return None
    surroundings = sandboxing.Surroundings(
        workspace,
        ground.env,
        lambda: gate.rules,
        lambda: place_of(ground, workspace),
        lambda line: tell(options, line),
        gate.admits_host if gate.can_ask else None,
    )
    return await sandboxing.set_up_sandbox(config, surroundings)


def file_history(ground: Ground, session_id: str) -> FileHistory:
    from toolwright.workspace.checkpoints import FileHistory  # loaded only for sessions that keep checkpoints

    return FileHistory(str(config_dir(ground.env) / "file-history" / session_id))


# hooks


OfSettings = Callable[[HookNews, Background], Mapping[str, Sequence[Hook]]]
"""Makes the hooks of the settings."""


def hooks_of(
    options: ClaudeAgentOptions, host: Host, session: LocalSession, *, scene: Callable[[], Scene], of_settings: OfSettings
) -> SessionHooks:
    def hear(texts: Sequence[str]) -> None:
        session.started.conversation.contexts.extend(texts)

    def say(line: str) -> None:
        tell(options, line)

    news = HookNews(session.put_now, lambda: scene().session_id, say, hear, options.include_hook_events)
    background, listeners = Background(), news.listeners()
    configured = of_settings(news, background)
    return SessionHooks(
        HookRunner(host.hooks, configured=configured, listeners=listeners, background=background), scene, session.emit
    )


def settings_hooks_of(ground: Ground, workspace: Workspace, toolbox: Toolbox) -> OfSettings:
    def make(news: HookNews, background: Background) -> Mapping[str, Sequence[Hook]]:
        if not ground.settings.hooks_in_force:
            return {}
        from toolwright.runtime.settings_hooks import HookGround, settings_hooks  # most sessions have none

        around = HookGround(workspace, toolbox, ground.env, news, background)
        return settings_hooks(ground.settings, around)

    return make


def scene_of(
    options: ClaudeAgentOptions, beginning: Beginning, *, workspace: Workspace, session: LocalSession
) -> Callable[[], Scene]:
    """A function that gives what hooks are told about the present moment."""

    def scene() -> Scene:
        return Scene(
            beginning.session_id,
            str(beginning.journal.path),
            workspace.cwd,
            permission_mode=session.started.conversation.runner.gate.mode,
            prompt_id=session.turn.prompt.uuid if session.turn else None,
            effort=options.effort,
        )

    return scene


# tools


def can_converse(host: Host) -> bool:
    return host.can_use_tool is not None and host.converses


def server_access(
    options: ClaudeAgentOptions, ground: Ground, host: Host, *, workspace: Workspace, session: LocalSession
) -> Callable[[], ServerGround]:
    """A function that gives what external tool servers get of this session; most sessions have none.

    It has the session's folders as they are now, without a scratch folder of later.
    """
    roots = workspace.roots

    def make() -> ServerGround:
        from toolwright.runtime.tool_servers import ServerGround, answering_of, sampler_of, surroundings

        answering = answering_of(host.can_use_tool, session.waiting_for_person, lambda: roots)
        sampler = sampler_of(host.can_use_tool, session.waiting_for_person, lambda: session.started.conversation)
        around = surroundings(workspace, ground.env, roots, user=options.user, answering=answering)
        return ServerGround(replace(around, sampler=sampler), ground.settings, audience)

    def audience(name: str) -> Audience:
        from toolwright.mcp.audience import Audience

        return Audience(progress=progress_frames(name, session), tell=lambda line: tell(options, f"toolwright: {line}"))

    return make


def servers_outside(
    options: ClaudeAgentOptions, ground: Ground, access: Callable[[], ServerGround]
) -> Mapping[str, ExternalServer]:
    if not options.mcp_servers and not ground.settings.mcp_servers:
        return {}
    from toolwright.runtime.tool_servers import external_servers

    return external_servers(options, access())


def servers_on_request(given: Any, access: Callable[[], ServerGround]) -> tuple[dict[str, ExternalServer], dict[str, str]]:
    from toolwright.runtime.tool_servers import servers_asked_for

    return servers_asked_for(given, access())


def waiting_tools(ground: Ground, model: ResolvedModel, beginning: Beginning) -> WaitingTools:
    """Where tools of servers wait to be searched for, if there are too many for this model's context."""
    limits = prices.limits(model.id)
    waiting = WaitingTools(policy_of(ground.env), (limits.context_window if limits else None) or ASSUMED_WINDOW)
    waiting.recall(beginning.history)
    return waiting


async def connect(toolbox: Toolbox, ground: Ground) -> None:
    try:
        await toolbox.connect()
        if waits_for_servers(ground.env):
            await toolbox.settle()
    except BaseException:
        await toolbox.close()
        raise


# what clients are told


def mode_teller(session: LocalSession, session_id: str) -> Callable[[PermissionMode], None]:
    """Whoever changed the mode: clients are told by a frame."""
    return lambda mode: session.put_now(frames.system("status", session_id, status=None, permissionMode=mode))


def todo_teller(session: LocalSession, session_id: str) -> Callable[[list[Todo]], None]:
    return lambda todos: session.put_now(frames.system("todo_list_updated", session_id, todos=todos))


# diagnostics


def diagnose(options: ClaudeAgentOptions, ground: Ground) -> None:
    for line in (*checks.without_effect(options), *notes_on(ground)):
        tell(options, line)


def tell(options: ClaudeAgentOptions, line: str) -> None:
    """A line of diagnostics; what the caller's function raises is its own business and never ends a session."""
    if options.stderr is None:
        return
    try:
        options.stderr(line)
    except Exception:  # noqa: BLE001 — host boundary: diagnostics must not break the session
        pass
