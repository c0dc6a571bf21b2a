"""Options → a session. The only file that knows every room; options stop here, each room gets its own arguments."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from toolwright.hooks import Background, Hook, HookRunner, Scene
from toolwright.mcp.audience import Audience
from toolwright.mcp.connections import Surroundings
from toolwright.mcp.server import InProcessServer
from toolwright.models import prices
from toolwright.models.registry import ResolvedModel, resolve
from toolwright.models.retry import RetryPolicy, with_retries
from toolwright.permissions import Place, RuleSet
from toolwright.protocol import frames
from toolwright.runtime import checks
from toolwright.runtime.asking import Asking
from toolwright.runtime.background import BackgroundTasks
from toolwright.runtime.context_usage import ASSUMED_WINDOW
from toolwright.runtime.conversation import Conversation, Sampling
from toolwright.runtime.gate import Changing, Gate, no_judge
from toolwright.runtime.ground import Ground, Remembering, ground_of, keep_update, notes_on, settings_rules
from toolwright.runtime.hook_news import HookNews
from toolwright.runtime.host import host_of
from toolwright.runtime.judging import ModelJudge, small_model
from toolwright.runtime.ledger import Ledger
from toolwright.runtime.limits import Limits
from toolwright.runtime.machine_files import MACHINE_FILES
from toolwright.runtime.planning import PlanNews
from toolwright.runtime.resume import Beginning, begin
from toolwright.runtime.seams import Host
from toolwright.runtime.served_tools import ServedToolAdapter
from toolwright.runtime.server_progress import progress_frames
from toolwright.runtime.session import LocalSession, Parts
from toolwright.runtime.session_hooks import SessionHooks
from toolwright.runtime.structured_output import StructuredOutput
from toolwright.runtime.system_prompt import system_prompt
from toolwright.runtime.tool_calls import ToolRunner
from toolwright.runtime.tool_search import WaitingTools, policy_of
from toolwright.runtime.tool_servers import (
    ServerGround,
    account_of,
    answering_of,
    external_servers,
    first_turn_patience,
    output_limit,
    servers_asked_for,
    timing_of,
    waits_for_servers,
)
from toolwright.runtime.toolbox import Toolbox
from toolwright.runtime.turn import prompt_text
from toolwright.sessions import config_dir
from toolwright.settings import SourcedRule
from toolwright.tools.base import Tool
from toolwright.tools.registry import OF_OWN_SHELLS, OF_THE_SESSION, builtin_tools, canonical_name, tools_with_a_person
from toolwright.tools.standing import Standing, Todo
from toolwright.types import ClaudeAgentOptions, OptionsError, PermissionMode
from toolwright.workspace import BadPath, CommandNotStarted, Workspace

if TYPE_CHECKING:
    from toolwright.workspace.checkpoints import FileHistory
    from toolwright.workspace.child_limits import ChildLimits
    from toolwright.workspace.egress.session import Egress

MOST_RETRIES = 15
REPLAY_FLAG = "replay-user-messages"
BYPASS_FLAG = "allow-dangerously-skip-permissions"


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
    of_servers = server_ground(options, ground, host, workspace=workspace, session=session)
    servers = {**host.tool_servers, **external_servers(options, of_servers)}
    choose_models = model_chooser(options, ground)
    models = choose_models(options.model)
    waiting = waiting_tools(ground, models[0], beginning)
    toolbox = Toolbox((*builtins, *extra), servers, patience=first_turn_patience(ground.env), waiting=waiting)
    scene = scene_of(options, beginning, workspace=workspace, session=session)
    of_settings = settings_hooks_of(ground, workspace, toolbox)
    hooks = hooks_of(options, host, session, scene=scene, of_settings=of_settings)
    ledger, asking = Ledger(ground.env), Asking(host.can_use_tool, hooks, session.waiting_for_person)
    judge = judge_of(ground, session, ledger, session_id=beginning.session_id)
    tell_mode = mode_teller(session, beginning.session_id)
    gate = gate_of(options, ground, workspace=workspace, asking=asking, judge=judge, tell_mode=tell_mode)
    way_out = await sandbox_for(options, ground, workspace=workspace, gate=gate)
    preapproved = frozenset(tool.name for tool in extra) | OF_OWN_SHELLS | OF_THE_SESSION
    background = BackgroundTasks(workspace, beginning.session_id, send=session.put_now, wake=session.wake)
    hooks.background_tasks = background.summaries
    remembering = remembering_of(options, ground, gate)
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
        ],
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
        make_servers=lambda given: servers_asked_for(given, of_servers),
    )


# the ground


def remembering_of(options: ClaudeAgentOptions, ground: Ground, gate: Gate) -> Remembering:
    further = [os.path.join(ground.cwd, os.path.expanduser(os.fspath(folder))) for folder in options.add_dirs]
    return Remembering(ground, further=further, hidden=gate.hidden_paths, tell=lambda line: tell(options, line))


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


def place_of(ground: Ground, workspace: Workspace) -> Place:
    return Place(workspace.home, workspace.roots, ground.env.get("HOME"), MACHINE_FILES, own_folders(ground.where.config))


@lru_cache(maxsize=64)
def own_folders(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Where settings of the user and whom they trust are kept, as written and as it leads through links."""
    return tuple({spelled(folder) for folder in folders for spelled in (os.path.abspath, os.path.realpath)})


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


def chosen_builtins(options: ClaudeAgentOptions, *, can_ask: bool) -> tuple[Tool, ...]:
    """The built-in tools that the model sees: all that can work here, or those that `tools` names."""
    offered = (*builtin_tools(), *(tools_with_a_person() if can_ask else ()))
    if options.tools is None or isinstance(options.tools, Mapping):
        return offered
    names = [name for entry in options.tools if isinstance(entry, str) for name in entry.split(",") if name.strip()]
    if "default" in names:
        return offered
    by_name = {tool.name: tool for tool in (*builtin_tools(), *tools_with_a_person())}
    wanted = [canonical_name(name.strip()) for name in names]
    missing = [name for name in wanted if name not in by_name]
    if missing:
        known = ", ".join(by_name)
        raise OptionsError(f"tools: there is no built-in tool {', '.join(missing)} in this version; there are {known}")
    return tuple(by_name[name] for name in dict.fromkeys(wanted))


def own_functions(options: ClaudeAgentOptions) -> tuple[Tool, ...]:
    """Python functions given in `tools`, each under its own name."""
    if options.tools is None or isinstance(options.tools, Mapping):
        return ()
    given: tuple[Any, ...] = tuple(entry for entry in options.tools if not isinstance(entry, str))
    shareable = all(isinstance(function, Hashable) for function in given)
    try:
        return shared_function_tools(*given) if shareable else function_tools(*given)
    except (TypeError, ValueError) as error:
        raise OptionsError(f"tools: {error}") from None


def function_tools(*given: Any) -> tuple[Tool, ...]:
    server = InProcessServer("functions", tools=given)
    return tuple(ServedToolAdapter(server, served, prefix="") for served in server.tools)


shared_function_tools = lru_cache(maxsize=64)(function_tools)
"""Sessions with the same functions share their tools: reading signatures costs more than starting a session."""


def server_ground(
    options: ClaudeAgentOptions, ground: Ground, host: Host, *, workspace: Workspace, session: LocalSession
) -> ServerGround:
    """What external tool servers get of this session; its folders as they are now, without a scratch folder of later."""
    roots = workspace.roots
    around = Surroundings(
        workspace.home,
        ground.env,
        workspace.child_environment,
        lambda: roots,
        account=account_of(options.user),
        answering=answering_of(host.can_use_tool, session.waiting_for_person, lambda: roots),
        timing=timing_of(ground.env),
        tokens=str(config_dir(ground.env)),
    )

    def audience(name: str) -> Audience:
        return Audience(progress=progress_frames(name, session), tell=lambda line: tell(options, f"toolwright: {line}"))

    return ServerGround(around, ground.settings, audience)


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


def structured_output(options: ClaudeAgentOptions) -> StructuredOutput | None:
    return StructuredOutput(options.output_format["schema"]) if options.output_format else None


# permissions


def gate_of(
    options: ClaudeAgentOptions,
    ground: Ground,
    *,
    workspace: Workspace,
    asking: Asking,
    judge: ModelJudge | None,
    tell_mode: Callable[[PermissionMode], None],
) -> Gate:
    rules = shared_rules(tuple(options.allowed_tools), tuple(options.disallowed_tools), ground.settings.rules)
    changing = Changing(
        place=lambda: place_of(ground, workspace),
        add_directory=workspace.add_directory,
        remove_directory=workspace.remove_directory,
        refuse_mode=lambda new: refuse_mode(new, ground) or refuse_switch(new, mode, options),
        keep=lambda update: keep_update(update, ground),
        mode_changed=tell_mode,
    )
    mode = starting_mode(options, ground)
    return Gate(rules, mode, asking=asking, changing=changing, judge=no_judge if judge is None else judge)


def mode_teller(session: LocalSession, session_id: str) -> Callable[[PermissionMode], None]:
    """Whoever changed the mode: clients are told by a frame."""
    return lambda mode: session.put_now(frames.system("status", session_id, status=None, permissionMode=mode))


def todo_teller(session: LocalSession, session_id: str) -> Callable[[list[Todo]], None]:
    return lambda todos: session.put_now(frames.system("todo_list_updated", session_id, todos=todos))


def judge_of(ground: Ground, session: LocalSession, ledger: Ledger, *, session_id: str) -> ModelJudge | None:
    """Who answers for the person in mode auto: the small model, if one is configured."""
    name = small_model(ground.env)
    if name is None:
        return None

    def request() -> str:
        turn = session.turn
        return prompt_text(turn.prompt) if turn is not None and not turn.prompt.own else ""

    def make() -> ResolvedModel:
        return chosen_model(name, ground.env, retry_policy(0))  # whoever waits longer had better ask the person

    return ModelJudge(make, ledger, request, ground.cwd, session_id)


@lru_cache(maxsize=64)
def shared_rules(allow: tuple[str, ...], deny: tuple[str, ...], of_settings: tuple[SourcedRule, ...]) -> RuleSet:
    return RuleSet.parse(allow=allow, deny=deny, canonical=canonical_name) | settings_rules(of_settings)[0]


def starting_mode(options: ClaudeAgentOptions, ground: Ground) -> PermissionMode:
    mode = options.permission_mode or ground.settings.default_mode or "default"
    refusal = refuse_mode(mode, ground)
    if refusal is not None:
        where = "permission_mode" if options.permission_mode else f"{ground.settings.default_mode_source}: defaultMode"
        raise OptionsError(f"{where}: {refusal}")
    return mode  # type: ignore[return-value]  # options and settings were checked


def refuse_mode(mode: str, ground: Ground) -> str | None:
    if mode == "bypassPermissions" and ground.settings.bypass_disabled:
        return "bypassPermissions is turned off by the settings (permissions.disableBypassPermissionsMode)"
    if mode == "bypassPermissions" and os.geteuid() == 0 and ground.env.get("IS_SANDBOX") != "1":
        return "bypassPermissions is refused for root outside a sandbox (set IS_SANDBOX=1 inside a container that holds)"
    return None


def refuse_switch(mode: str, started: PermissionMode, options: ClaudeAgentOptions) -> str | None:
    """Why a running session may not change to `mode`: to skip all questions has to be foreseen when it is started."""
    if mode != "bypassPermissions" or started == "bypassPermissions" or BYPASS_FLAG in options.extra_args:
        return None
    return (
        "this session was not started with bypassPermissions, so it cannot change to it "
        f"(start it in that mode, or with extra_args={{{BYPASS_FLAG!r}: None}})"
    )


# models


def model_chooser(options: ClaudeAgentOptions, ground: Ground) -> Callable[[Any], list[ResolvedModel]]:
    """A function: a model's name → that model with retries, then those to fall back to."""
    policy = retry_policy(min(MOST_RETRIES, whole_number(ground.env, "CLAUDE_CODE_MAX_RETRIES", 10)))
    fallbacks = [name.strip() for name in (options.fallback_model or "").split(",") if name.strip()]

    def choose(name: Any) -> list[ResolvedModel]:
        return [chosen_model(each, ground.env, policy) for each in (name or ground.settings.model, *fallbacks)]

    return choose


def chosen_model(wanted: Any, env: Mapping[str, str], policy: RetryPolicy) -> ResolvedModel:
    """A model by name, or an object that is one."""
    if hasattr(wanted, "stream"):
        name = str(getattr(wanted, "model", type(wanted).__name__))
        found = ResolvedModel(wanted, name, "custom", display_name=name)
    else:
        found = resolve(wanted, env)
    return replace(found, model=with_retries(found.model, policy))


@lru_cache(maxsize=MOST_RETRIES + 1)
def retry_policy(retries: int) -> RetryPolicy:
    return RetryPolicy(max_retries=retries)


def sampling(options: ClaudeAgentOptions, env: Mapping[str, str]) -> Sampling:
    return Sampling(
        thinking=thinking(options, env),
        effort=options.effort,
        betas=tuple(options.betas),
        max_tokens=whole_number(env, "CLAUDE_CODE_MAX_OUTPUT_TOKENS", 0) or None,
    )


def thinking(options: ClaudeAgentOptions, env: Mapping[str, str]) -> dict[str, Any] | None:
    if options.thinking is not None:
        return dict(options.thinking)
    budget = options.max_thinking_tokens
    if budget is None and "MAX_THINKING_TOKENS" in env:
        budget = whole_number(env, "MAX_THINKING_TOKENS", 0)
    if budget is None:
        return None
    return {"type": "enabled", "budget_tokens": budget} if budget else {"type": "disabled"}


def whole_number(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name, "").strip()
    if not text:
        return default
    if not text.isdecimal():
        raise OptionsError(f"{name} must be a whole number; got {text!r}")
    return int(text)


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
